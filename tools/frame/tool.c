/* SPDX-License-Identifier: MIT */
/*
 * tool.c -- the frame of a subcommand: its command line, its help, its plan.
 *
 *   --name VALUE  --name=VALUE  -n VALUE  -nVALUE  -abc (switches)  -- (words)
 */
#include "frame/tool.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>

enum {
	TOOL_V6_MULTICAST = 0xff, /* RFC 4291, 2.4 */
	TOOL_V4_MULTICAST = 224,  /* RFC 1112; reserved and broadcast above */
};

/* ------------------------------------------------------------------ options */

static int tool_option_index(const struct tool *tool, const char *name, size_t length)
{
	for (int i = 0; tool->options && tool->options[i].name; i++) {
		const char *known = tool->options[i].name;

		if (strlen(known) == length && strncmp(known, name, length) == 0)
			return i;
	}
	return -1;
}

const char *tool_value(const struct tool_call *call, const char *option)
{
	int index = tool_option_index(call->tool, option, strlen(option));

	return index < 0 ? NULL : call->values[index];
}

const char *const *tool_values(const struct tool_call *call, const char *option)
{
	static const char *const none[] = { NULL };
	int index = tool_option_index(call->tool, option, strlen(option));

	return index < 0 ? none : call->repeats[index];
}

/* ------------------------------------------------------------------- memory */

static enum { TOOL_HAS_MEMORY, TOOL_LACKS_MEMORY, TOOL_SAID_SO } tool_memory;

void tool_lacks_memory(void)
{
	if (tool_memory == TOOL_HAS_MEMORY)
		tool_memory = TOOL_LACKS_MEMORY;
}

void *tool_need(void *memory)
{
	if (!memory) {
		fputs("nopal: out of memory\n", stderr);
		exit(TOOL_ENVIRONMENT);
	}
	return memory;
}

char *tool_printed(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	return tool_need(text);
}

enum tool_exit tool_outcome(enum tool_exit result)
{
	if (tool_memory == TOOL_LACKS_MEMORY)
		fputs("nopal: out of memory: its output is not whole\n", stderr);
	if (tool_memory == TOOL_HAS_MEMORY || result == TOOL_FAILED)
		return result;
	return TOOL_ENVIRONMENT;
}

/* ----------------------------------------------------------------- problems */

bool tool_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("error: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	return false;
}

bool tool_problems(struct nopal_problems *problems)
{
	bool bad = problems->errors > 0;

	if (problems->no_memory)
		tool_memory = TOOL_SAID_SO;
	nopal_problems_print(problems, stderr);
	nopal_problems_fini(problems);
	return bad;
}

bool tool_quantity(const struct tool_call *call, const char *option, int unit, int64_t fallback,
		   int64_t *ret_value)
{
	const char *text = tool_value(call, option);
	struct nopal_problems problems = { 0 };
	int64_t value = fallback;

	if (text)
		nopal_quantity_parse(text, unit, option, &value, &problems);
	if (tool_problems(&problems))
		return false;
	*ret_value = value;
	return true;
}

bool tool_address(const char *text, struct nopal_address *ret_address)
{
	struct nopal_problems problems = { 0 };

	nopal_address_parse(text, ret_address, &problems);
	return !tool_problems(&problems);
}

int tool_text_length(const char *text)
{
	size_t length = strlen(text);

	while (length > 0 && text[length - 1] == '\n')
		length--;
	return (int)length;
}

const char *tool_ended_fix(enum nopal_end end)
{
	if (end == NOPAL_UNREACHABLE)
		return "start the listener there first, `nopal recv`, `nopal serve` or `nopal "
		       "stream --listen`, on this port, to which UDP must come through";
	if (end == NOPAL_NOT_AUTHENTIC)
		return "give both sides the same file as aead.psk_file, or none to both";
	if (end == NOPAL_REFUSED)
		return "give both sides the same -c and --set";
	return NULL;
}

bool tool_destination(const char *text, struct nopal_address *ret_address)
{
	static const uint8_t zero[sizeof(ret_address->ip)];
	const uint8_t *v4 = ret_address->ip + NOPAL_V4_AT;
	const char *wrong = NULL;
	bool is_v4;

	if (!tool_address(text, ret_address))
		return false;
	is_v4 = nopal_address_is_v4(ret_address);
	if (ret_address->port == 0)
		wrong = "port 0 is none";
	else if (memcmp(ret_address->ip, zero, sizeof(zero)) == 0 || (is_v4 && v4[0] == 0))
		wrong = "it stands for every address of a listener, and is none to send to";
	else if (ret_address->ip[0] == TOOL_V6_MULTICAST)
		wrong = "it is a multicast address, and a session has one peer";
	else if (is_v4 && v4[0] >= TOOL_V4_MULTICAST)
		wrong = "it is a multicast, broadcast or reserved address, and "
			"a session has one peer";
	return !wrong || tool_error("\"%s\" is no destination: %s\n"
				    "  fix: write the HOST:PORT where the other side listens",
				    text, wrong);
}

bool tool_destinations(const struct tool_call *call, int first, struct nopal_address *ret_addresses)
{
	for (int i = first; i < call->word_count; i++)
		if (!tool_destination(call->words[i], &ret_addresses[i - first]))
			return false;
	return true;
}

bool tool_destinations_differ(const struct tool_call *call, int first,
			      const struct nopal_address *addresses, const char *or_else)
{
	for (int i = first; i < call->word_count; i++)
		for (int j = first; j < i; j++) {
			if (nopal_address_equal(&addresses[i - first], &addresses[j - first]))
				return tool_error("the address %s is given twice\n"
						  "  fix: give each address once%s",
						  call->words[i], or_else);
		}
	return true;
}

struct nopal_plan *tool_chosen_plan(const struct tool_call *call, const char *fallback)
{
	const char *config = tool_value(call, "config");

	return tool_plan(call, config ? config : fallback);
}

struct nopal_plan *tool_plan(const struct tool_call *call, const char *name)
{
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;

	plan = nopal_plan_load(name, tool_values(call, "set"), &problems);
	tool_problems(&problems);
	return plan;
}

const struct tool *tool_find(const struct tool *const *table, const char *name)
{
	for (; *table; table++) {
		if (strcmp((*table)->name, name) == 0)
			return *table;
	}
	return NULL;
}

enum { TOOL_MAX_TOOLS = 32 };

const char *tool_nearest(const struct tool *const *table, const char *name)
{
	const char *names[TOOL_MAX_TOOLS + 1] = { 0 };

	for (size_t i = 0; table[i] && i < TOOL_MAX_TOOLS; i++)
		names[i] = table[i]->name;
	return nopal_nearest(name, names);
}

/* -------------------------------------------------------------- command line */

/* The state of parsing. */
struct tool_line {
	const struct tool *tool;
	struct tool_call *call;
	int argc, at;
	char **argv;
	bool words_only; /* after -- */
};

static bool tool_say(const struct tool_line *line, const char *cause, const char *word)
{
	fprintf(stderr, "nopal %s: %s %s\n  fix: see `nopal help %s`\n", line->tool->name, cause,
		word, line->tool->name);
	return false;
}

static bool tool_set(const struct tool_line *line, int index, const char *value)
{
	const char **repeats = line->call->repeats[index];
	size_t count = 0;

	while (repeats[count])
		count++;
	if (count == TOOL_MAX_REPEATS)
		return tool_say(line, "too many times:", line->tool->options[index].name);
	repeats[count] = value;
	line->call->values[index] = value;
	return true;
}

/* `value` is in the same word as the option, or NULL. */
static bool tool_take(struct tool_line *line, int index, const char *value)
{
	const struct tool_option *option = &line->tool->options[index];

	if (!option->argument) {
		if (value)
			return tool_say(line, "no value goes with", option->name);
		return tool_set(line, index, "");
	}
	if (!value && line->at + 1 < line->argc)
		value = line->argv[++line->at];
	if (!value)
		return tool_say(line, "a value is missing after", option->name);
	return tool_set(line, index, value);
}

static bool tool_take_long(struct tool_line *line, const char *word)
{
	const char *equals = strchr(word, '=');
	size_t length = equals ? (size_t)(equals - word) : strlen(word);
	int index = tool_option_index(line->tool, word, length);

	if (index < 0) {
		const char *names[TOOL_MAX_OPTIONS + 1] = { 0 };
		char name[64];
		const char *near;

		for (int i = 0; line->tool->options && line->tool->options[i].name; i++)
			names[i] = line->tool->options[i].name;
		snprintf(name, sizeof(name), "%.*s", (int)length, word);
		near = nopal_nearest(name, names);
		fprintf(stderr, "nopal %s: there is no option --%s\n", line->tool->name, name);
		if (near)
			fprintf(stderr, "  fix: did you mean --%s?\n", near);
		else
			fprintf(stderr, "  fix: see `nopal help %s`\n", line->tool->name);
		return false;
	}
	return tool_take(line, index, equals ? equals + 1 : NULL);
}

static bool tool_take_letters(struct tool_line *line, const char *letters)
{
	for (; *letters; letters++) {
		const struct tool_option *options = line->tool->options;
		int index = 0;

		while (options && options[index].name && options[index].letter != *letters)
			index++;
		if (!options || !options[index].name) {
			fprintf(stderr,
				"nopal %s: there is no option -%c, of %s\n"
				"  fix: see `nopal help %s`; a word that begins with - comes after "
				"--\n",
				line->tool->name, *letters, line->argv[line->at], line->tool->name);
			return false;
		}
		if (options[index].argument)
			return tool_take(line, index, letters[1] ? letters + 1 : NULL);
		if (!tool_take(line, index, NULL))
			return false;
	}
	return true;
}

enum tool_parsed tool_parse(const struct tool *tool, int argc, char **argv,
			    struct tool_call *ret_call)
{
	struct tool_line line = { .tool = tool, .call = ret_call, .argc = argc, .argv = argv };

	memset(ret_call, 0, sizeof(*ret_call));
	ret_call->tool = tool;
	ret_call->words = argv; /* words move to its beginning */
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return TOOL_PARSED_HELP;
	}
	for (line.at = 1; line.at < argc; line.at++) {
		char *word = argv[line.at];
		bool lonely = strcmp(word, "-") == 0; /* stands for stdin or stdout */

		if (line.words_only || *word != '-' || lonely) {
			line.call->words[line.call->word_count++] = word;
		} else if (strcmp(word, "--") == 0) {
			line.words_only = true;
		} else if (word[1] == '-') {
			if (!tool_take_long(&line, word + strlen("--")))
				return TOOL_PARSED_BADLY;
		} else if (!tool_take_letters(&line, word + 1)) {
			return TOOL_PARSED_BADLY;
		}
	}
	if (ret_call->word_count < tool->min_words) {
		tool_say(&line, "a word is missing: nopal", tool->words);
		return TOOL_PARSED_BADLY;
	}
	if (tool->max_words >= 0 && ret_call->word_count > tool->max_words) {
		tool_say(&line, "one word too many:", ret_call->words[ret_call->word_count - 1]);
		return TOOL_PARSED_BADLY;
	}
	return TOOL_PARSED;
}

/* ----------------------------------------------------------------------- help */

enum { TOOL_HELP_COLUMN = 30 };

void tool_help(const struct tool *tool, FILE *out)
{
	fprintf(out, "nopal %s %s\n\n%s.\n", tool->name, tool->words, tool->summary);
	if (tool->help)
		fprintf(out, "\n%s\n", tool->help);
	if (tool->options && tool->options->name)
		fprintf(out, "\n");
	for (const struct tool_option *option = tool->options; option && option->name; option++) {
		char left[128];
		int length;

		length = snprintf(left, sizeof(left), "  %c%c%s --%s%s%s",
				  option->letter ? '-' : ' ', option->letter ? option->letter : ' ',
				  option->letter ? "," : " ", option->name,
				  option->argument ? " " : "",
				  option->argument ? option->argument : "");
		if (length >= TOOL_HELP_COLUMN)
			fprintf(out, "%s\n%*s%s\n", left, TOOL_HELP_COLUMN, "", option->doc);
		else
			fprintf(out, "%-*s%s\n", TOOL_HELP_COLUMN, left, option->doc);
	}
}
