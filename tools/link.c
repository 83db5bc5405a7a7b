/* SPDX-License-Identifier: MIT */
/*
 * link.c -- `nopal link`: the link emulator for any program's datagrams.
 *
 * A UDP relay without root: programs send to LISTEN, it passes on to TARGET as
 * the link's words say, and back.
 */
#include <inttypes.h>
#include <string.h>
#include <jansson.h>

#include "loop.h"
#include "microprotocol.h"
#include "tool.h"

enum { LINK_DEFAULT_SEED = 1 };

/* What a run of the relay needs. */
struct link {
	struct loop *loop;
	struct nopal_relay *relay;
	struct nopal_link forward, reverse;
	struct nopal_address listen, target;
	int64_t seed;
};

static void link_on_interrupt(void *user)
{
	struct link *link = user;

	loop_stop(link->loop);
}

static json_t *link_counters(const struct nopal_link_counters *counters)
{
	return json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
		"entered_datagrams", (json_int_t)counters->entered,
		"delivered_datagrams", (json_int_t)counters->delivered,
		"delivered_bytes", (json_int_t)counters->delivered_bytes,
		"lost_datagrams", (json_int_t)counters->lost,
		"overflowed_datagrams", (json_int_t)counters->overflowed,
		"too_big_datagrams", (json_int_t)counters->too_big,
		"duplicated_datagrams", (json_int_t)counters->duplicated,
		"corrupted_datagrams", (json_int_t)counters->corrupted,
		"reordered_datagrams", (json_int_t)counters->reordered);
}

static void link_print_line(const char *direction,
			    const struct nopal_link_counters *counters)
{
	printf("%s: %" PRIu64 " entered, %" PRIu64 " delivered, %" PRIu64
	       " lost, %" PRIu64 " overflowed, %" PRIu64 " duplicated, %" PRIu64
	       " corrupted, %" PRIu64 " reordered\n",
	       direction, counters->entered, counters->delivered,
	       counters->lost, counters->overflowed, counters->duplicated,
	       counters->corrupted, counters->reordered);
}

static void link_report(const struct link *link, bool json)
{
	struct nopal_link_counters forward, reverse;

	nopal_relay_counters(link->relay, &forward, &reverse);
	if (json) {
		json_t *report = json_pack("{s:s, s:i, s:o, s:o}", "schema",
					   "nopal.link", "version", 1,
					   "forward", link_counters(&forward),
					   "reverse", link_counters(&reverse));

		json_dumpf(report, stdout, JSON_INDENT(2));
		printf("\n");
		json_decref(report);
		return;
	}
	link_print_line("forward", &forward);
	link_print_line("reverse", &reverse);
}

static enum tool_exit link_relay(struct link *link, bool json)
{
	char text[NOPAL_ADDRESS_TEXT];
	struct nopal_problems problems;
	struct nopal_address local;

	nopal_problems_init(&problems);
	link->relay =
		nopal_relay_open(loop_base(link->loop), &link->listen,
				 &link->target, &link->forward, &link->reverse,
				 (uint64_t)link->seed, &problems);
	tool_problems(&problems);
	if (!link->relay)
		return TOOL_ENVIRONMENT;
	nopal_relay_local(link->relay, &local);
	fprintf(stderr, "relay at %s; interrupt to end\n",
		nopal_address_format(&local, text));
	loop_on_interrupt(link->loop, link_on_interrupt, link);
	loop_run(link->loop);
	link_report(link, json);
	nopal_relay_close(link->relay);
	return TOOL_GOOD;
}

/* What is sent to itself goes round for ever. */
static bool link_is_no_circle(const struct link *link,
			      const struct tool_call *call)
{
	if (memcmp(link->listen.ip, link->target.ip, sizeof(link->listen.ip)) !=
		    0 ||
	    link->listen.port != link->target.port)
		return true;
	fprintf(stderr,
		"error: LISTEN and TARGET are both %s\n"
		"  fix: programs send to LISTEN; give it a port of its own\n",
		call->words[2]);
	return false;
}

static bool link_read(struct link *link, const struct tool_call *call)
{
	struct nopal_problems problems;

	nopal_problems_init(&problems);
	nopal_link_parse(call->words[0], &link->forward, &link->reverse,
			 &problems);
	nopal_address_parse(call->words[1], &link->listen, &problems);
	return !tool_problems(&problems) &&
	       tool_destination(call->words[2], &link->target) &&
	       link_is_no_circle(link, call) &&
	       tool_quantity(call, "seed", NOPAL_COUNT, LINK_DEFAULT_SEED,
			     &link->seed);
}

static enum tool_exit link_run(const struct tool_call *call)
{
	struct link link = { 0 };
	enum tool_exit code;

	if (!tool_value(call, "relay")) {
		fprintf(stderr, "error: how to pass datagrams on is not said\n"
				"  fix: say --relay, the only way yet\n");
		return TOOL_BAD_INPUT;
	}
	if (!link_read(&link, call))
		return TOOL_BAD_INPUT;
	link.loop = loop_new(NULL);
	if (!link.loop)
		return TOOL_ENVIRONMENT;
	code = link_relay(&link, tool_value(call, "json") != NULL);
	loop_free(link.loop);
	return code;
}

static const struct tool_option link_options[] = {
	{ "relay", 0, NULL, "relay UDP from LISTEN to TARGET and back" },
	{ "seed", 0, "NUMBER", "of the link's randomness; default 1" },
	TOOL_JSON_OPTION,
	{ 0 },
};

const struct tool tool_link = {
	.name = "link",
	.words = "WORDS LISTEN TARGET",
	.summary = "pass any program's datagrams over an impaired link",
	.help = "WORDS are those of tc-netem; `fwd:` and `rev:` begin words "
		"for\n"
		"one direction.  Prints what the link did when it is "
		"interrupted.\n"
		"\n"
		"  nopal link \"delay 20ms loss 2%\" --relay 127.0.0.1:9001 "
		"127.0.0.1:9000\n",
	.least_words = 3,
	.most_words = 3,
	.options = link_options,
	.run = link_run,
};
