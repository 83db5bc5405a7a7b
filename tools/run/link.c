/* SPDX-License-Identifier: MIT */
/*
 * link.c -- `nopal link`: the link emulator for any program's packets.
 *
 * --relay: UDP without root; programs send to LISTEN, it passes on to TARGET as
 * the link's words say, and back.  --tun: all that the kernel routes into one TUN device comes out
 * of the other, and back.
 */
#include <inttypes.h>
#include <string.h>
#include <jansson.h>

#include <nopal/microprotocol.h>
#include "frame/loop.h"
#include "frame/tool.h"
#include "load/hosts.h"
#include "run/sim.h"

enum {
	LINK_DEFAULT_SEED = 1,
	LINK_SIDES = 2,
	LINK_NAME_BYTES = 256,
	LINK_RELAY_WORDS = 3,
	LINK_BITS_A_BYTE = 8,
	LINK_KILO = 1000,
};

/* The command line. */
struct link {
	struct nopal_link forward, reverse;
	int64_t seed;
	bool relays; /* from `listen` to `target`; else between the sides */
	struct nopal_address listen, target;
	struct nopal_tun_side sides[LINK_SIDES];
	char devices[LINK_SIDES][LINK_NAME_BYTES];
	char spaces[LINK_SIDES][LINK_NAME_BYTES];
};

/* ------------------------------------------------------------------ report */

static int64_t link_mean_late(const struct nopal_link_counters *counters)
{
	return counters->delivered ? counters->late_sum_ns / (int64_t)counters->delivered : 0;
}

static json_t *link_counters(const struct nopal_link *words,
			     const struct nopal_link_counters *counters)
{
	/* what leaves at this rate in that time: at most what the queue holds, so that the product
	 * fits */
	int64_t mean_bytes = sim_report_queue_ns(counters) / NOPAL_MICROSECOND *
			     (int64_t)(words->rate_bps / LINK_KILO) /
			     (LINK_KILO * LINK_BITS_A_BYTE);

	return json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
		"s:I, s:I, s:I, s:I, s:I, s:I}",
		"entered_datagrams", (json_int_t)counters->entered, "delivered_datagrams",
		(json_int_t)counters->delivered, "delivered_bytes",
		(json_int_t)counters->delivered_bytes, "lost_datagrams", (json_int_t)counters->lost,
		"overflowed_datagrams", (json_int_t)counters->overflowed, "too_big_datagrams",
		(json_int_t)counters->too_big, "duplicated_datagrams",
		(json_int_t)counters->duplicated, "corrupted_datagrams",
		(json_int_t)counters->corrupted, "reordered_datagrams",
		(json_int_t)counters->reordered, "marked_datagrams", (json_int_t)counters->marked,
		"queue_peak_datagrams", (json_int_t)counters->queue_peak, "queue_mean_bytes",
		(json_int_t)mean_bytes, "queue_delay_mean_ns",
		(json_int_t)sim_report_queue_ns(counters), "queue_delay_peak_ns",
		(json_int_t)counters->queue_delay_peak_ns, "late_mean_ns",
		(json_int_t)link_mean_late(counters), "late_peak_ns",
		(json_int_t)counters->late_peak_ns, "refused_datagrams",
		(json_int_t)counters->refused, "missed_datagrams", (json_int_t)counters->missed);
}

static void link_print_line(const char *direction, const struct nopal_link_counters *counters)
{
	printf("%s: %" PRIu64 " entered, %" PRIu64 " delivered, %" PRIu64 " lost, %" PRIu64
	       " overflowed, %" PRIu64 " too big, %" PRIu64 " duplicated, %" PRIu64
	       " corrupted, %" PRIu64 " reordered, %" PRIu64 " marked\n",
	       direction, counters->entered, counters->delivered, counters->lost,
	       counters->overflowed, counters->too_big, counters->duplicated, counters->corrupted,
	       counters->reordered, counters->marked);
	printf("         queue: %" PRIu64 " at most, %" PRId64 " us on average; late: %" PRId64
	       " us at most, %" PRId64 " us on average; refused %" PRIu64 ", missed %" PRIu64 "\n",
	       counters->queue_peak, sim_report_queue_ns(counters) / NOPAL_MICROSECOND,
	       counters->late_peak_ns / NOPAL_MICROSECOND,
	       link_mean_late(counters) / NOPAL_MICROSECOND, counters->refused, counters->missed);
}

/* ------------------------------------------------------------------- words */

/* "A,B" as two names. */
static bool link_pair(const char *option, const char *text, char names[LINK_SIDES][LINK_NAME_BYTES])
{
	const char *comma = strchr(text, ',');
	size_t first = comma ? (size_t)(comma - text) : 0;

	if (first == 0 || first >= LINK_NAME_BYTES || !comma[1] || strchr(comma + 1, ',') ||
	    strlen(comma + 1) >= LINK_NAME_BYTES)
		return tool_error("--%s \"%s\" is not two names\n"
				  "  fix: write one for each side, as in a,b",
				  option, text);
	memcpy(names[0], text, first);
	memcpy(names[1], comma + 1, strlen(comma + 1));
	return true;
}

/* False: a problem was printed. */
static bool link_read(struct link *link, const struct tool_call *call)
{
	const char *spaces = tool_value(call, "netns");

	if (link->relays == (tool_value(call, "tun") != NULL))
		return tool_error("how packets come to the link is %s\n  fix: say --relay or --tun",
				  link->relays ? "said twice" : "not said");
	if (!bench_link(call->words[0], &link->forward, &link->reverse))
		return false;
	if (call->word_count != (link->relays ? LINK_RELAY_WORDS : 1)) {
		fputs(link->relays ? "error: --relay needs LISTEN and TARGET\n"
				     "  fix: nopal link WORDS --relay LISTEN TARGET\n"
				   : "error: --tun needs no words but the link's\n"
				     "  fix: nopal link WORDS --tun A,B\n",
		      stderr);
		return false;
	}
	if (link->relays) {
		if (!tool_address(call->words[1], &link->listen) ||
		    !tool_destination(call->words[2], &link->target))
			return false;
		/* A datagram sent to LISTEN itself goes round for ever. */
		if (nopal_address_equal(&link->listen, &link->target))
			return tool_error(
				"LISTEN and TARGET are both %s\n"
				"  fix: programs send to LISTEN; give it a port of its own",
				call->words[2]);
	} else if (!link_pair("tun", tool_value(call, "tun"), link->devices) ||
		   (spaces && !link_pair("netns", spaces, link->spaces))) {
		return false;
	}
	for (int i = 0; i < LINK_SIDES; i++) {
		link->sides[i].device = link->devices[i];
		link->sides[i].netns = spaces ? link->spaces[i] : NULL;
	}
	return tool_quantity(call, "seed", NOPAL_COUNT, LINK_DEFAULT_SEED, &link->seed);
}

/* --------------------------------------------------------------------- run */

static enum tool_exit link_run(const struct tool_call *call)
{
	struct link link = { .relays = tool_value(call, "relay") != NULL };
	struct nopal_problems problems = { 0 };
	struct nopal_link_counters forward, reverse;
	struct nopal_relay *relay = NULL;
	struct nopal_tun *tun = NULL;
	struct nopal_address local;
	char text[NOPAL_ADDRESS_TEXT];
	struct loop *loop;

	if (!link_read(&link, call))
		return TOOL_BAD_INPUT;
	loop = loop_new(NULL);
	if (!loop)
		return TOOL_ENVIRONMENT;
	/* before it says that it is there: who waits for that may interrupt */
	loop_on_interrupt(loop, NULL, NULL);
	if (link.relays)
		relay = nopal_relay_open(loop_base(loop), &link.listen, &link.target, &link.forward,
					 &link.reverse, (uint64_t)link.seed, &problems);
	else
		tun = nopal_tun_open(loop_base(loop), link.sides, &link.forward, &link.reverse,
				     (uint64_t)link.seed, &problems);
	tool_problems(&problems);
	if (relay) {
		nopal_relay_local(relay, &local);
		fprintf(stderr, "relay at %s; interrupt to end\n",
			nopal_address_format(&local, text));
		loop_run(loop);
		nopal_relay_counters(relay, &forward, &reverse);
		nopal_relay_close(relay);
	} else if (tun) {
		hosts_hurry();
		fprintf(stderr, "link between %s and %s; interrupt to end\n", link.devices[0],
			link.devices[1]);
		loop_run(loop);
		nopal_tun_counters(tun, &forward, &reverse);
		nopal_tun_close(tun);
	}
	loop_free(loop);
	if (!relay && !tun)
		return TOOL_ENVIRONMENT;
	if (tool_value(call, "json")) {
		json_t *report =
			json_pack("{s:s, s:i, s:o, s:o}", "schema", "nopal.link", "version", 1,
				  "forward", link_counters(&link.forward, &forward), "reverse",
				  link_counters(&link.reverse, &reverse));

		json_dumpf(report, stdout, JSON_INDENT(2));
		printf("\n");
		json_decref(report);
	} else {
		link_print_line("forward", &forward);
		link_print_line("reverse", &reverse);
	}
	return TOOL_GOOD;
}

static const struct tool_option link_options[] = {
	{ "relay", 0, NULL, "relay UDP from LISTEN to TARGET and back" },
	{ "tun", 0, "A,B", "make two TUN devices with the link between them; needs root" },
	{ "netns", 0, "A,B", "make them in these network namespaces" },
	{ "seed", 0, "NUMBER", "of the link's randomness; default 1" },
	TOOL_JSON_OPTION,
	{ 0 },
};

const struct tool tool_link = {
	.name = "link",
	.words = "WORDS [LISTEN TARGET]",
	.summary = "pass any program's packets over an impaired link",
	.help = "WORDS are those of tc-netem; `fwd:` and `rev:` begin words for\n"
		"one direction.  Prints what the link did when it is interrupted.\n"
		"\n"
		"  nopal link \"delay 20ms loss 2%\" --relay 127.0.0.1:9001 127.0.0.1:9000\n"
		"\n"
		"--tun carries all that the kernel routes into device A to device B,\n"
		"and back: TCP, UDP, ping.  A namespace on each side keeps them apart:\n"
		"\n"
		"  ip netns add a; ip netns add b\n"
		"  nopal link \"rate 100mbit delay 25ms loss 1%\" --tun ta,tb --netns a,b &\n"
		"  ip -n a address add 10.9.0.1/24 dev ta\n"
		"  ip -n b address add 10.9.0.2/24 dev tb\n"
		"  ip netns exec a ping 10.9.0.2\n"
		"\n"
		"tools/two-hosts does this in one command.  The devices are up, have an MTU\n"
		"of 1500 or the link's where that is more, and go with the program.\n"
		"`late` says how long after its time a packet came out, `missed` what\n"
		"the kernel dropped before the link: if these are large, the machine was\n"
		"too busy for this link, and figures speak of the machine.\n",
	.min_words = 1,
	.max_words = LINK_RELAY_WORDS,
	.options = link_options,
	.run = link_run,
};
