/* SPDX-License-Identifier: MIT */
/*
 * lab_01_hold_bits.c -- lab 1: events that are counted, segments that are held.
 *
 * When segments leave is seen in the network; what was counted is asked of the host, for it is about
 * the inside of a composition.
 */
#include <stdlib.h>

#include "lab/questions.h"
#include "labs/facts.h"
#include "labs/labs.h"
#include "labs/wire.h"

#define TAP_DELAY_NS (30 * NOPAL_MILLISECOND)

static void tap_trial(struct lab_trial *trial, const char *words, unsigned messages,
		      int64_t most_ns)
{
	int64_t at_ns = 0;

	facts_pair(trial, LAB_STUDENT, LAB_REFERENCE, NULL, words);
	for (unsigned i = 0; i < messages; i++) {
		lab_send(trial, 0, 0, at_ns, (uint32_t)lab_between(trial, 8, 1000), NULL);
		at_ns += lab_between(trial, 0, most_ns);
	}
	lab_run(trial, 50 * NOPAL_SECOND);
}

static void tap_count_is(struct lab_trial *trial, const char *name, int64_t right, const char *what)
{
	int64_t counted = 0;

	if (!trial->failed && !lab_shared(trial, 0, 0, name, &counted))
		lab_fail(trial, trial->now_ns, "the sender has no variable %s", name);
	else if (counted != right)
		lab_fail(trial, trial->now_ns, "%s is %lld; %lld %s", name, (long long)counted,
			 (long long)right, what);
}

static void tap_counts(struct lab_trial *trial)
{
	int64_t left = 0;

	tap_trial(trial, "delay 20ms fwd: loss 20%", 40, 20 * NOPAL_MILLISECOND);
	for (size_t i = 0; i < trial->datagram_count; i++)
		left += trial->datagrams[i].from == 0 && trial->datagrams[i].message;
	tap_count_is(trial, "tap_messages", (int64_t)trial->message_count, "messages were sent");
	tap_count_is(trial, "tap_transmissions", left, "times a data segment left");
}

/* Each message leaves first when its delay has passed. */
static void tap_judge_first(struct lab_trial *trial)
{
	for (uint32_t i = 0; i < trial->message_count && !trial->failed; i++) {
		const struct lab_datagram *left = lab_carrier(trial, 0, i + 1, 0);
		int64_t due_ns = trial->messages[i].sent_ns + TAP_DELAY_NS;

		if (!left)
			lab_fail(trial, due_ns, "message %u, sent at %.6f s, does not leave", i + 1,
				 wire_seconds(trial->messages[i].sent_ns));
		else if (!wire_on_time(left->time_ns, due_ns))
			lab_fail(trial, left->time_ns,
				 "message %u is sent at %.6f s and leaves at %.6f s; it is due at "
				 "%.6f s",
				 i + 1, wire_seconds(trial->messages[i].sent_ns),
				 wire_seconds(left->time_ns), wire_seconds(due_ns));
	}
}

static void tap_holds(struct lab_trial *trial)
{
	tap_trial(trial, "delay 20ms", 60, 20 * NOPAL_MILLISECOND);
	tap_judge_first(trial);
	lab_check(trial, LAB_ALL | LAB_ONCE | LAB_ORDERED | LAB_INTACT);
}

static void tap_resends(struct lab_trial *trial)
{
	tap_trial(trial, "delay 20ms loss 15%", 30, 100 * NOPAL_MILLISECOND);
	tap_judge_first(trial);
	lab_check(trial, LAB_ALL | LAB_ONCE | LAB_INTACT);
}

/* Nothing is resent, and links delay: what is behind a later one when it arrives may be dropped. All
 * else that arrives is delivered, however much is missing. */
static void tap_repaired(struct lab_trial *trial)
{
	size_t count, *arrivals;
	uint32_t last = 0;

	facts_pair(trial, LAB_STUDENT, LAB_STUDENT, "stuck.conf", "delay 20ms 6ms fwd: loss 10%");
	facts_stream(trial, 0, 100, 5 * NOPAL_MILLISECOND, 100);
	lab_run(trial, 50 * NOPAL_SECOND);
	arrivals = wire_arrivals(trial, 0, &count);
	for (size_t i = 0; i < count && !trial->failed; i++) {
		const struct lab_datagram *datagram = &trial->datagrams[arrivals[i]];

		if (datagram->message <= last)
			continue;
		last = datagram->message;
		if (!trial->messages[last - 1].deliveries)
			lab_fail(trial, datagram->arrived_ns,
				 "with stuck.conf message %u arrives at %.6f s, and is not "
				 "delivered",
				 last, wire_seconds(datagram->arrived_ns));
	}
	free(arrivals);
	lab_check(trial, LAB_ONCE | LAB_ORDERED | LAB_INTACT);
}

static const char *const tap_files[] = { "tap.c", "lab.conf", "stuck.conf", "cases.txt", NULL };

static const struct lab_item tap_items[] = {
	{ .name = "the cases of cases.txt hold",
	  .points = 25,
	  .seeds = 2,
	  .section = "Holds",
	  .hint = "`nopal why` tells who holds a segment that does not leave",
	  .file = "cases.txt" },
	{ .name = "messages and transmissions are counted",
	  .points = 25,
	  .hidden = true,
	  .seeds = 10,
	  .section = "Events",
	  .hint = "which event is raised once a segment, and which each time that it leaves?",
	  .run = tap_counts },
	{ .name = "each segment leaves first when its delay has passed",
	  .points = 25,
	  .hidden = true,
	  .seeds = 20,
	  .section = "Holds",
	  .hint = "one timer serves all that wait: when it is due, who comes next?",
	  .run = tap_holds },
	{ .name = "a resend does not wait",
	  .points = 15,
	  .hidden = true,
	  .seeds = 10,
	  .section = "Holds",
	  .hint = "a resend arms all send bits anew, but for some",
	  .run = tap_resends },
	{ .name = "the composition that stood still goes on",
	  .points = 10,
	  .seeds = 5,
	  .section = "A composition that stands still",
	  .hint = "`nopal sim` says for which part messages wait: which other part orders, and does "
		  "not wait?",
	  .run = tap_repaired },
	{ 0 },
};

static const struct lab_question tap_questions[] = {
	{ .ask = LAB_ASK_LEFT },
	{ .ask = LAB_ASK_TOOK },
	{ .ask = LAB_ASK_AGAIN },
	{ .ask = LAB_ASK_LOST },
	{ 0 },
};

const struct lab lab_01_hold_bits = {
	.number = 1,
	.name = "hold-bits",
	.title = "events and hold bits",
	.part = "tap",
	.own = "stuck.conf",
	.files = tap_files,
	.items = tap_items,
	.questions = tap_questions,
	.question_case = "case \"your own trial\"\n"
			 "	link      delay 20ms 2ms fwd: loss 20%\n"
			 "	sender    reference\n"
			 "	receiver  reference\n"
			 "	messages  10 every 25ms size 100\n"
			 "	within    20s\n"
			 "	expect    all once ordered intact\n",
};
