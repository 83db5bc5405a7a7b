/* SPDX-License-Identifier: MIT */
/*
 * lab_10_congestion_control.c -- the rubric of lab 10: the saw of AIMD, two flows on one link, and a
 * rule of one's own.
 *
 * A reduction is not told by anybody; it shows in the network.  The queue drops a few segments in a
 * row when the window is too large, and then none until the window is as large again.
 */
#include <math.h>

#include "lab/questions.h"
#include "labs/bottleneck.h"
#include "labs/facts.h"
#include "labs/labs.h"

enum {
	POLICY_CYCLES = 6, /* of the saw that a trial sees, at least */
};

/* ----------------------------------------------------------------------- the saw */

/* Seconds between overflows of the queue of host 0, without the first, which slow start made.  Drops
 * within two round trips are of one overflow. */
static double policy_period(const struct lab_trial *trial, const struct bottleneck *path,
			    unsigned *ret_cycles)
{
	int64_t apart_ns = (int64_t)(2 * path->window / path->packets_s * (double)NOPAL_SECOND);
	int64_t first_ns = -1, overflow_ns = -1, last_ns = -1;
	unsigned overflows = 0;

	for (size_t i = 0; i < trial->datagram_count; i++) {
		const struct lab_datagram *datagram = &trial->datagrams[i];

		if (datagram->from != 0 || !datagram->message || datagram->arrived_ns >= 0)
			continue;
		if (last_ns < 0 || datagram->time_ns - last_ns > apart_ns) {
			overflow_ns = datagram->time_ns;
			overflows++;
			if (overflows == 2)
				first_ns = overflow_ns;
		}
		last_ns = datagram->time_ns;
	}
	*ret_cycles = overflows > 2 ? overflows - 2 : 0;
	if (!*ret_cycles)
		return 0;
	return (double)(overflow_ns - first_ns) / (double)NOPAL_SECOND / *ret_cycles;
}

/* 5 M M / (36 C), and the round trip until a loss is known. */
static void policy_saw(struct lab_trial *trial)
{
	struct bottleneck path;
	double theory, period;
	unsigned cycles;

	bottleneck_draw(trial, &path);
	theory = 5 * path.window * path.window / (36 * path.packets_s) +
		 path.window / path.packets_s;
	facts_pair(trial, LAB_STUDENT, LAB_REFERENCE, NULL, path.link);
	bottleneck_fill(trial, 0, 0, &path, (POLICY_CYCLES + 3) * theory);
	lab_run(trial, (int64_t)((POLICY_CYCLES + 2) * theory * (double)NOPAL_SECOND));
	period = policy_period(trial, &path, &cycles);
	if (cycles < POLICY_CYCLES / 2)
		lab_fail(trial, trial->now_ns,
			 "over `%s` the queue overflows %u times in %.1f s, where theory says "
			 "every %.2f s",
			 path.link, cycles + 1, (POLICY_CYCLES + 2) * theory, theory);
	else if (fabs(period / theory - 1) > 0.15)
		lab_fail(trial, trial->now_ns,
			 "over `%s` the period of the saw is %.2f s, where theory says %.2f s",
			 path.link, period, theory);
}

/* --------------------------------------------------------------------- other items */

/* A second of small messages, far below the first window; then all at once: the window is still the
 * first. */
static void policy_unused(struct lab_trial *trial)
{
	enum { SMALL = 100, SEGMENTS = 200, FIRST = 10 };
	uint32_t message = 0;
	size_t burst = 0;

	facts_pair(trial, LAB_STUDENT, LAB_REFERENCE, NULL, "delay 25ms");
	for (int i = 0; i < SMALL; i++)
		lab_send(trial, 0, 0, i * 20 * NOPAL_MILLISECOND, 1000, NULL);
	for (int i = 0; i < SEGMENTS; i++)
		message = lab_send(trial, 0, 0, 3 * NOPAL_SECOND, 1400, NULL);
	lab_run(trial, 3 * NOPAL_SECOND + 40 * NOPAL_MILLISECOND);
	for (uint32_t i = SMALL + 1; i <= message; i++)
		burst += lab_carrier(trial, 0, i, 0) != NULL;
	if (burst < FIRST || burst > FIRST + 2)
		lab_fail(
			trial, trial->now_ns,
			"behind two seconds in which the window of %d segments was not used, %zu leave "
			"in one round trip",
			FIRST, burst);
}

/* Two flows, the second one later: their shares once they had time to meet. */
static void policy_shares(struct lab_trial *trial)
{
	enum { LATER_S = 2, FROM_S = 8, UNTIL_S = 20 };
	struct bottleneck path;
	double one, two, index;

	bottleneck_draw(trial, &path);
	lab_bottleneck(trial, 2, "delay 0ms", path.link);
	for (int host = 0; host < 4; host++)
		lab_host(trial, host % 2 ? LAB_REFERENCE : LAB_STUDENT, NULL);
	lab_open(trial, 0, 1, 0);
	lab_open(trial, 2, 3, LATER_S * NOPAL_SECOND);
	bottleneck_fill(trial, 0, 0, &path, UNTIL_S);
	bottleneck_fill(trial, 2, LATER_S * NOPAL_SECOND, &path, UNTIL_S);
	lab_run(trial, UNTIL_S * NOPAL_SECOND);
	one = (double)lab_delivered_bytes(trial, 0, FROM_S * NOPAL_SECOND, UNTIL_S * NOPAL_SECOND);
	two = (double)lab_delivered_bytes(trial, 2, FROM_S * NOPAL_SECOND, UNTIL_S * NOPAL_SECOND);
	index = bottleneck_fairness(one, two);
	if (index < 0.95)
		lab_fail(trial, trial->now_ns,
			 "over `%s` two flows get %.2f and %.2f Mbit/s: Jain's index is %.3f",
			 path.link, one * 8e-6 / (UNTIL_S - FROM_S),
			 two * 8e-6 / (UNTIL_S - FROM_S), index);
}

/* The rule of one's own has a link for itself: its share, and its queue beside AIMD's, by the
 * formula: AIMD's window is evenly spread in its square, so that its 95th percentile is nearly M. */
static void policy_own(struct lab_trial *trial)
{
	enum { SECONDS = 15 };
	struct bottleneck path;
	double share, queue_ms, full_ms;

	bottleneck_draw(trial, &path);
	full_ms = (double)path.limit / path.packets_s * 1000;
	facts_pair(trial, LAB_STUDENT, LAB_REFERENCE, "own.conf", path.link);
	bottleneck_fill(trial, 0, 0, &path, SECONDS + 1);
	lab_run(trial, SECONDS * NOPAL_SECOND);
	share = (double)lab_delivered_bytes(trial, 0, NOPAL_SECOND, SECONDS * NOPAL_SECOND) * 8 /
		(SECONDS - 1) / ((double)path.rate_kbit * 1000);
	queue_ms = bottleneck_queue(trial, 0, &path, 2 * NOPAL_SECOND);
	if (share < 0.8)
		lab_fail(trial, trial->now_ns, "over `%s` your own rule uses %.0f %% of the rate",
			 path.link, 100 * share);
	else if (queue_ms > full_ms / 2)
		lab_fail(
			trial, trial->now_ns,
			"over `%s` your own rule has 5 %% of its segments wait longer than %.1f ms, "
			"and the full queue is %.1f ms",
			path.link, queue_ms, full_ms);
}

static const char *const policy_files[] = { "window_policy.c", "lab.conf", "own.conf", "cases.txt",
					    NULL };

#define POLICY_MUTANT(file_, text, help)                                                           \
	{                                                                                          \
		.name = "your cases find: " text, .points = 3, .hidden = true, .seeds = 1,         \
		.mutant = (file_), .section = "Do", .hint = (help)                                 \
	}

static const struct lab_item policy_items[] = {
	{ .name = "the first window, its doubling, and a queue that overflows",
	  .points = 30,
	  .seeds = 1,
	  .file = "cases.txt",
	  .section = "Read",
	  .hint = "rules 1 to 3 say how much leaves, and how much is lost in vain" },
	{ .name = "the saw has the period of theory",
	  .points = 20,
	  .hidden = true,
	  .seeds = 4,
	  .run = policy_saw,
	  .section = "Read",
	  .hint = "rules 2 and 3: two segments a round trip, two thirds at a loss, once a round trip" },
	{ .name = "a window that is not used does not grow",
	  .points = 10,
	  .hidden = true,
	  .seeds = 1,
	  .run = policy_unused,
	  .section = "Read",
	  .hint = "rule 4" },
	{ .name = "two flows share a link evenly",
	  .points = 10,
	  .hidden = true,
	  .seeds = 2,
	  .run = policy_shares,
	  .section = "Read",
	  .hint = "growth has to be additive, and the decrease multiplicative" },
	{ .name = "a rule of your own: most of the link, and half of the queue",
	  .points = 15,
	  .hidden = true,
	  .seeds = 3,
	  .run = policy_own,
	  .section = "Do",
	  .hint = "the round trip beyond the shortest one is time in a queue" },
	POLICY_MUTANT("mutant_1_never_reduces", "a loss that changes nothing",
		      "count the datagrams of a transfer through a short queue"),
	POLICY_MUTANT("mutant_2_never_grows", "a window that stays",
		      "say by when a transfer of several windows is over"),
	POLICY_MUTANT("mutant_3_begins_too_large", "a first window that is too large",
		      "say how much is delivered of the first window alone"),
	POLICY_MUTANT("mutant_4_doubles_for_ever", "a window that doubles for ever",
		      "count the datagrams of a transfer with several overflows"),
	POLICY_MUTANT("mutant_5_begins_anew", "a loss that leaves nothing",
		      "say by when a transfer with a loss is over, on a path that holds much"),
	{ 0 },
};

static const struct lab_question policy_questions[] = {
	{ .ask = LAB_ASK_AGAIN }, { .ask = LAB_ASK_LOST }, { .ask = LAB_ASK_TOOK },
	{ .ask = LAB_ASK_LEFT },  { .ask = LAB_ASK_SENT }, { 0 },
};

const struct lab lab_10_congestion_control = {
	.number = 10,
	.name = "congestion-control",
	.title = "congestion control: AIMD, and a rule of your own",
	.part = "window_policy",
	.files = policy_files,
	.items = policy_items,
	.questions = policy_questions,
	.question_case = "case \"your own trial\"\n"
			 "	link      rate 4mbit delay 20ms limit 12\n"
			 "	sender    reference\n"
			 "	receiver  reference\n"
			 "	messages  120 every 0ms size 1400\n"
			 "	within    10s\n"
			 "	expect    all once ordered intact\n",
};
