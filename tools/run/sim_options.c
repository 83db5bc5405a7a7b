/* SPDX-License-Identifier: MIT */
/*
 * sim_options.c -- the command line of `nopal sim`: the network, and the messages of each session.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "run/sim.h"

enum {
	SIM_MAX_FLOWS = 10000,
	SIM_MAX_SEEDS = 10000,
	SIM_BULK_BYTES = 64 << 10, /* messages of reliable configs */
	SIM_DECIMAL = 10,
	SIM_WORDS = 64, /* of a config with its options */
	SIM_TEXT = 256, /* bytes of a deadline */
};
#define SIM_BYTES	INT64_C(10000000)    /* unless said otherwise */
#define SIM_DURATION_NS (300 * NOPAL_SECOND) /* unless said otherwise */
#define SIM_MAX_BYTES	(INT64_C(1) << 40)   /* of a flow */
#define SIM_MAX_MESSAGE (INT64_C(1) << 30)   /* bytes of a message */

/* --bytes, or --messages of --size.  A reliable config is for bulk where it cuts messages; of others
 * each message is a datagram. */
static bool read_amount(const struct tool_call *call, struct sim_load *load)
{
	uint64_t most = nopal_plan_info(load->plan)->message_limit;
	uint64_t limit = most < SIM_MAX_MESSAGE ? most : SIM_MAX_MESSAGE;
	uint64_t natural = nopal_plan_provides(load->plan, "reliability")
				   ? SIM_BULK_BYTES
				   : nopal_plan_info(load->plan)->body_bytes;
	int64_t size = (int64_t)(natural < limit ? natural : limit), bytes, messages;

	if (!tool_quantity(call, "bytes", NOPAL_SIZE, SIM_BYTES, &bytes) ||
	    !tool_quantity(call, "messages", NOPAL_COUNT, 0, &messages))
		return false;
	if (tool_value(call, "bytes") && tool_value(call, "messages"))
		return tool_error("--bytes and --messages are both given\n"
				  "  fix: give one of them; --size goes with both");
	if (!tool_quantity(call, "size", NOPAL_SIZE, size, &size))
		return false;
	if (size < 1 || (uint64_t)size > limit)
		return tool_error("--size: this config takes messages from 1 to %llu bytes\n"
				  "  fix: leave it out, or see the limit in `nopal explain`",
				  (unsigned long long)limit);
	if (tool_value(call, "messages"))
		bytes = messages > SIM_MAX_BYTES / size ? -1 : messages * size;
	if (bytes < 1 || bytes > SIM_MAX_BYTES)
		return tool_error("nothing, or too much, is to be sent\n"
				  "  fix: send from 1 byte to 1 TiB, and from 1 message on");
	load->size = (uint64_t)(size < bytes ? size : bytes);
	load->bytes = (uint64_t)bytes;
	load->messages = ((uint64_t)bytes - 1) / load->size + 1;
	return true;
}

/* --deadline: one time, or several, divided by commas. */
static bool read_deadlines(const char *text, struct sim_load *load)
{
	struct nopal_problems problems = { 0 };
	char one[SIM_TEXT];

	for (; text && *text; text += strcspn(text, ","), text += *text == ',') {
		if (load->deadline_count == SIM_DEADLINES)
			return tool_error("more than %d deadlines\n  fix: give fewer",
					  SIM_DEADLINES);
		snprintf(one, sizeof(one), "%.*s", (int)strcspn(text, ","), text);
		nopal_quantity_parse(one, NOPAL_TIME, "deadline",
				     &load->deadline_ns[load->deadline_count], &problems);
		if (tool_problems(&problems))
			return false;
		if (load->deadline_ns[load->deadline_count] < 0)
			return tool_error("a deadline is negative\n  fix: give times above zero");
		/* 0 stands for none. */
		load->deadline_count += load->deadline_ns[load->deadline_count] > 0;
	}
	return true;
}

bool sim_load_read(const struct tool_call *call, struct sim_load *load)
{
	load->connectionless = !nopal_plan_provides(load->plan, "connection");
	if (!read_amount(call, load) ||
	    !tool_quantity(call, "interval", NOPAL_TIME, 0, &load->interval_ns) ||
	    !read_deadlines(tool_value(call, "deadline"), load) ||
	    !tool_quantity(call, "start", NOPAL_TIME, 0, &load->start_ns))
		return false;
	if (load->interval_ns < 0 || load->start_ns < 0)
		return tool_error("a time is negative\n  fix: give times above zero");
	if (tool_value(call, "streams") && load->size < SIM_HEAD_BYTES)
		return tool_error("messages of streams have room for their number\n"
				  "  fix: give --size 16B or more");
	return properties_read(call, load->plan, 0, &load->kinds.with);
}

/* ------------------------------------------------------------------- the run */

static bool read_topology(const char *text, struct sim_options *options)
{
	const char *number = text ? strchr(text, ':') : NULL;
	char *end = NULL;
	long count = 0;

	options->pairs = 1;
	options->topology_given = text != NULL;
	if (!text || strcmp(text, "direct") == 0)
		return true;
	if (strncmp(text, "dumbbell:", strlen("dumbbell:")) == 0)
		options->topology = SIM_DUMBBELL;
	else if (strncmp(text, "star:", strlen("star:")) == 0)
		options->topology = SIM_STAR;
	if (options->topology != SIM_DIRECT)
		count = strtol(number + 1, &end, SIM_DECIMAL);
	if (!end || end == number + 1 || *end || count < 1 || count > SIM_MAX_FLOWS)
		return tool_error("--topology %s: not known\n"
				  "  fix: write direct, dumbbell:N or star:N, N from 1 to 10000",
				  text);
	options->pairs = (int)count;
	return true;
}

/* Several configs: a pair of hosts for each, on one link. */
static bool read_pairs(const struct tool_call *call, struct sim_options *options)
{
	if (options->destinations && (call->word_count > 1 || options->topology_given))
		return tool_error("--destinations goes with one config, and with no --topology\n"
				  "  fix: give one config, and --link for each destination");
	if (options->watch && call->word_count > 1)
		return tool_error("--watch goes with one config\n"
				  "  fix: leave it out, or run the configs one by one");
	if (options->topology == SIM_DIRECT && call->word_count > 1) {
		options->pairs = call->word_count;
		if (!options->topology_given)
			options->topology = SIM_DUMBBELL;
	}
	if (options->pairs < call->word_count)
		return tool_error("%d configs, and %d pairs of hosts\n  fix: give a pair to each",
				  call->word_count, options->pairs);
	options->flows = options->pairs * options->streams;
	return options->flows <= SIM_MAX_FLOWS || tool_error("more than %d sessions\n"
							     "  fix: give fewer",
							     SIM_MAX_FLOWS);
}

static bool read_number(const struct tool_call *call, const char *option, int fallback, int most,
			int *ret_number)
{
	int64_t number;

	if (!tool_quantity(call, option, NOPAL_COUNT, fallback, &number))
		return false;
	*ret_number = (int)number;
	return number == fallback || (number >= 1 && number <= most) ||
	       tool_error("--%s is from 1 to %d\n  fix: give a number in this range", option, most);
}

/* --link, once for all, or once for each destination. */
static bool read_links(const struct tool_call *call, struct sim_options *options)
{
	static const char *const none[] = { SIM_LINK, NULL };
	const char *const *texts = tool_value(call, "link") ? tool_values(call, "link") : none;
	struct nopal_problems problems = { 0 };

	options->link_text = texts[0];
	for (; texts[options->link_count]; options->link_count++) {
		unsigned i = options->link_count;

		if (i == SIM_LINKS)
			return tool_error("more than %d links\n  fix: give fewer", SIM_LINKS);
		nopal_link_parse(texts[i], &options->forward[i], &options->reverse[i], &problems);
		if (tool_problems(&problems))
			return false;
	}
	nopal_problems_fini(&problems);
	if (!options->destinations) {
		/* As of every option that is given once more, the last one counts. */
		options->link_text = texts[options->link_count - 1];
		options->forward[0] = options->forward[options->link_count - 1];
		options->reverse[0] = options->reverse[options->link_count - 1];
		options->link_count = 1;
	}
	return options->link_count <= (unsigned)options->destinations || !options->destinations ||
	       tool_error("%u links to %d destinations\n  fix: give one for each at most",
			  options->link_count, options->destinations);
}

bool sim_layers_fit(const struct sim_options *options, const struct nopal_plan *plan)
{
	const struct nopal_plan_info *info = nopal_plan_info(plan);

	if (options->streams > 1 && !strstr(info->canonical, " per_stream\n") &&
	    !strstr(info->canonical, " shared\n"))
		return tool_error("--streams: config %s has one session on a flow\n"
				  "  fix: take one with a layer per_stream or shared, as `streams`",
				  info->name);
	return !options->destinations || nopal_property(plan, "destination") ||
	       tool_error("--destinations: config %s has one destination\n"
			  "  fix: take one to many, as `one_to_many_all`",
			  info->name);
}

/* --seed, or --seeds A..B. */
static bool read_seeds(const struct tool_call *call, struct sim_options *options)
{
	const char *text = tool_value(call, "seeds");
	char *end = NULL;
	int64_t seed;

	if (!tool_quantity(call, "seed", NOPAL_COUNT, 1, &seed))
		return false;
	options->seed = options->last_seed = (uint64_t)seed;
	if (!text)
		return true;
	if (*text >= '0' && *text <= '9')
		options->seed = strtoull(text, &end, SIM_DECIMAL);
	if (!end || strncmp(end, "..", strlen("..")) != 0 || end[2] < '0' || end[2] > '9')
		return tool_error("--seeds %s: not two numbers\n  fix: write --seeds 1..20", text);
	options->last_seed = strtoull(end + strlen(".."), &end, SIM_DECIMAL);
	if (*end || options->last_seed < options->seed ||
	    options->last_seed - options->seed >= SIM_MAX_SEEDS)
		return tool_error("--seeds %s: not from 1 to %d seeds\n"
				  "  fix: write --seeds 1..20, the smaller one first",
				  text, SIM_MAX_SEEDS);
	if (tool_value(call, "seed"))
		return tool_error("--seed and --seeds are both given\n  fix: give one of them");
	return (!tool_value(call, "trace") && !tool_value(call, "jsonl")) ||
	       tool_error("--seeds goes with no --trace, and with no --jsonl\n"
			  "  fix: give --seed to look at one of the runs");
}

bool sim_options_read(const struct tool_call *call, struct sim_options *options)
{
	const char *detail = tool_value(call, "trace-detail");

	options->trace = tool_value(call, "trace");
	options->json = tool_value(call, "json") != NULL;
	options->jsonl = tool_value(call, "jsonl") != NULL;
	options->holds = tool_value(call, "holds") != NULL;
	options->watch = tool_value(call, "watch") != NULL;
	if (!read_topology(tool_value(call, "topology"), options))
		return false;
	if (!read_number(call, "destinations", 0, SIM_DESTINATIONS, &options->destinations) ||
	    !read_number(call, "streams", 1, SIM_STREAMS, &options->streams) ||
	    !read_pairs(call, options) || !read_links(call, options))
		return false;
	if (detail && strcmp(detail, "packets") != 0 && strcmp(detail, "events") != 0)
		return tool_error("--trace-detail %s: not known\n  fix: write packets or events",
				  detail);
	options->detail =
		detail && strcmp(detail, "events") == 0 ? NOPAL_TRACE_EVENTS : NOPAL_TRACE_PACKETS;
	if (!tool_quantity(call, "duration", NOPAL_TIME, SIM_DURATION_NS, &options->duration_ns) ||
	    !tool_quantity(call, "every", NOPAL_TIME, NOPAL_SECOND, &options->every_ns) ||
	    !read_seeds(call, options))
		return false;
	options->duration_given = tool_value(call, "duration") != NULL;
	if (options->every_ns <= 0 || options->duration_ns < 0)
		return tool_error("a time is negative, or --every is zero\n"
				  "  fix: give times above zero");
	return true;
}

/* -------------------------------------------------------- a config and its options */

/* The options of one config, in its word. */
static const struct tool_option own_options[] = {
	{ "bytes", 'b', "SIZE", "" },
	{ "messages", 'n', "N", "" },
	{ "size", 's', "SIZE", "" },
	{ "interval", 0, "TIME", "" },
	{ "deadline", 0, "TIME", "" },
	{ "start", 0, "TIME", "" },
	TOOL_WITH_OPTION,
	TOOL_SET_OPTION,
	{ 0 },
};
static const struct tool own_tool = {
	.name = "sim", .words = "CONF", .min_words = 1, .max_words = 1, .options = own_options
};

/* Cuts the text into words at its blanks, in place; single quotes keep what is between them. */
static int words_cut(char *text, char **words)
{
	int count = 0;
	char *to = text;

	while (*text && count < SIM_WORDS) {
		bool quoted = false;

		text += strspn(text, " ");
		if (!*text)
			break;
		words[count++] = to;
		for (; *text && (quoted || *text != ' '); text++) {
			if (*text == '\'')
				quoted = !quoted;
			else
				*to++ = *text;
		}
		text += *text == ' ';
		*to++ = '\0';
	}
	return count;
}

/* An option of the word takes the place of the one outside; more keys are set. */
static void own_add(struct tool_call *call, const struct tool_call *own, int option)
{
	const char *name = own_options[option].name;
	const char *const *values = tool_values(own, name);
	size_t count = 0;
	int at = 0;

	while (strcmp(call->tool->options[at].name, name) != 0)
		at++;
	if (strcmp(name, "set") == 0)
		while (call->repeats[at][count])
			count++;
	for (; *values && count < TOOL_MAX_REPEATS; values++)
		call->repeats[at][count++] = *values;
	call->repeats[at][count] = NULL;
	call->values[at] = tool_value(own, name);
}

static void forget(struct tool_call *call, const char *name)
{
	for (int i = 0; call->tool->options[i].name; i++)
		if (strcmp(call->tool->options[i].name, name) == 0)
			call->values[i] = NULL;
}

bool sim_word_read(const struct tool_call *call, const char *word, struct tool_call *ret_call,
		   const char **ret_config, char **ret_text)
{
	char *words[SIM_WORDS + 1] = { "sim" };
	struct tool_call *own;
	bool read;

	*ret_call = *call;
	*ret_config = word;
	*ret_text = NULL;
	if (!strchr(word, ' ') || access(word, F_OK) == 0)
		return true;
	*ret_text = tool_need(strdup(word));
	own = tool_need(calloc(1, sizeof(*own)));
	read = tool_parse(&own_tool, 1 + words_cut(*ret_text, words + 1), words, own) ==
	       TOOL_PARSED;
	if (read) {
		*ret_config = own->words[0];
		if (tool_value(own, "bytes") || tool_value(own, "messages")) {
			forget(ret_call, "bytes");
			forget(ret_call, "messages");
		}
		for (int i = 0; own_options[i].name; i++)
			if (tool_value(own, own_options[i].name))
				own_add(ret_call, own, i);
	}
	free(own);
	return read;
}
