/* SPDX-License-Identifier: MIT */
/*
 * sim_options.c -- the command line of `nopal sim`: the network, and the messages of each session.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "run/sim.h"

enum {
	SIM_MAX_FLOWS = 10000,
	SIM_BULK_BYTES = 64 << 10, /* messages of reliable configs */
	SIM_DECIMAL = 10,
	SIM_TEXT = 256, /* bytes of what is said about a mistake */
};
#define SIM_BYTES	INT64_C(10000000)    /* unless said otherwise */
#define SIM_DURATION_NS (300 * NOPAL_SECOND) /* unless said otherwise */
#define SIM_MAX_BYTES	(INT64_C(1) << 40)   /* of a flow */
#define SIM_MAX_MESSAGE (INT64_C(1) << 30)   /* bytes of a message */

bool sim_refuse(const char *fix, const char *cause, ...)
{
	struct nopal_problems problems = { 0 };
	char text[SIM_TEXT];
	va_list arguments;

	va_start(arguments, cause);
	vsnprintf(text, sizeof(text), cause, arguments);
	va_end(arguments);
	nopal_problems_add(&problems, NULL, 0, fix, "%s", text);
	tool_problems(&problems);
	nopal_problems_fini(&problems);
	return false;
}

/* Bytes of a message: a reliable config is for bulk where it cuts messages; of others each message
 * is a datagram. */
static bool read_size(const struct tool_call *call, struct sim_load *load, int64_t *ret_size)
{
	uint64_t most = nopal_plan_info(load->plan)->message_limit;
	uint64_t limit = most < SIM_MAX_MESSAGE ? most : SIM_MAX_MESSAGE;
	uint64_t natural = nopal_plan_provides(load->plan, "reliability")
				   ? SIM_BULK_BYTES
				   : nopal_plan_info(load->plan)->body_bytes;
	int64_t size = (int64_t)(natural < limit ? natural : limit);

	if (!tool_quantity(call, "size", NOPAL_SIZE, size, &size))
		return false;
	if (size < 1 || (uint64_t)size > limit)
		return sim_refuse("leave it out, or see the limit in `nopal explain`",
				  "--size: this config takes messages from 1 to %llu bytes",
				  (unsigned long long)limit);
	*ret_size = size;
	return true;
}

/* --bytes, or --messages of --size. */
static bool read_amount(const struct tool_call *call, struct sim_load *load)
{
	int64_t size = 0, bytes, messages;

	if (!tool_quantity(call, "bytes", NOPAL_SIZE, SIM_BYTES, &bytes) ||
	    !tool_quantity(call, "messages", NOPAL_COUNT, 0, &messages))
		return false;
	if (tool_value(call, "bytes") && tool_value(call, "messages"))
		return sim_refuse("give one of them; --size goes with both",
				  "--bytes and --messages are both given");
	if (!read_size(call, load, &size))
		return false;
	if (tool_value(call, "messages"))
		bytes = messages > SIM_MAX_BYTES / size ? -1 : messages * size;
	if (bytes < 1 || bytes > SIM_MAX_BYTES)
		return sim_refuse("send from 1 byte to 1 TiB, and from 1 message on",
				  "nothing, or too much, is to be sent");
	load->size = (uint64_t)(size < bytes ? size : bytes);
	load->bytes = (uint64_t)bytes;
	load->messages = ((uint64_t)bytes - 1) / load->size + 1;
	return true;
}

bool sim_load_read(const struct tool_call *call, uint64_t seed, struct sim_load *load)
{
	load->connectionless = !nopal_plan_provides(load->plan, "connection");
	if (!read_amount(call, load) ||
	    !tool_quantity(call, "interval", NOPAL_TIME, 0, &load->interval_ns) ||
	    !tool_quantity(call, "deadline", NOPAL_TIME, 0, &load->deadline_ns))
		return false;
	if (load->interval_ns < 0 || load->deadline_ns < 0)
		return sim_refuse("give times above zero", "a time is negative");
	return sim_kinds_read(call, load->plan, seed, load->messages, &load->kinds);
}

/* ------------------------------------------------------------------- the run */

static bool read_topology(const char *text, struct sim_options *options)
{
	const char *number = text ? strchr(text, ':') : NULL;
	char *end = NULL;
	long count = 0;

	options->flows = 1;
	if (!text || strcmp(text, "direct") == 0)
		return true;
	if (strncmp(text, "dumbbell:", strlen("dumbbell:")) == 0)
		options->topology = SIM_DUMBBELL;
	else if (strncmp(text, "star:", strlen("star:")) == 0)
		options->topology = SIM_STAR;
	if (options->topology != SIM_DIRECT)
		count = strtol(number + 1, &end, SIM_DECIMAL);
	if (!end || end == number + 1 || *end || count < 1 || count > SIM_MAX_FLOWS)
		return sim_refuse("write direct, dumbbell:N or star:N, N from 1 to 10000",
				  "--topology %s: not known", text);
	options->flows = (int)count;
	return true;
}

static bool read_detail(const char *text, struct sim_options *options)
{
	options->detail = NOPAL_TRACE_PACKETS;
	if (!text || strcmp(text, "packets") == 0)
		return true;
	if (strcmp(text, "events") != 0)
		return sim_refuse("write packets or events", "--trace-detail %s: not known", text);
	options->detail = NOPAL_TRACE_EVENTS;
	return true;
}

bool sim_options_read(const struct tool_call *call, struct sim_options *options)
{
	struct nopal_problems problems = { 0 };
	int64_t seed;

	options->trace = tool_value(call, "trace");
	options->json = tool_value(call, "json") != NULL;
	options->jsonl = tool_value(call, "jsonl") != NULL;
	options->holds = tool_value(call, "holds") != NULL;
	options->watch = tool_value(call, "watch") != NULL;
	if (!read_topology(tool_value(call, "topology"), options))
		return false;
	options->link_text = tool_value(call, "link");
	if (!options->link_text)
		options->link_text = SIM_LINK;
	nopal_link_parse(options->link_text, &options->forward, &options->reverse, &problems);
	if (tool_problems(&problems) || !read_detail(tool_value(call, "trace-detail"), options) ||
	    !tool_quantity(call, "duration", NOPAL_TIME, SIM_DURATION_NS, &options->duration_ns) ||
	    !tool_quantity(call, "every", NOPAL_TIME, NOPAL_SECOND, &options->every_ns) ||
	    !tool_quantity(call, "seed", NOPAL_COUNT, 1, &seed))
		return false;
	options->seed = (uint64_t)seed;
	options->duration_given = tool_value(call, "duration") != NULL;
	if (options->every_ns <= 0 || options->duration_ns < 0)
		return sim_refuse("give times above zero",
				  "a time is negative, or --every is zero");
	return true;
}
