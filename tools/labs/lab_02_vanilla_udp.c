/* SPDX-License-Identifier: MIT */
/*
 * lab_02_vanilla_udp.c -- lab 2: numbers of one byte, and gaps that are told.
 *
 * Every datagram with a message shows its number, right in front of the message. By the order in
 * which they arrive the rules of the hand-out say which gap segments leave, and when.
 */
#include <stdlib.h>

#include "lab/questions.h"
#include "labs/facts.h"
#include "labs/labs.h"
#include "labs/wire.h"

enum {
	VANILLA_NUMBERS = 255,
	VANILLA_LATE = 128,
	VANILLA_GAP = WIRE_OWN,
	VANILLA_GAP_BYTES = 2,
};

static uint8_t vanilla_number(const struct lab_trial *trial, const struct lab_datagram *datagram)
{
	return datagram
		->bytes[datagram->length - trial->messages[datagram->message - 1].length - 1];
}

static void vanilla_trial(struct lab_trial *trial, enum lab_code sender, enum lab_code receiver,
			  const char *words, unsigned messages)
{
	facts_pair(trial, sender, receiver, NULL, words);
	for (unsigned i = 0; i < messages; i++)
		lab_send(trial, 0, 0, i * 4 * NOPAL_MILLISECOND,
			 (uint32_t)lab_between(trial, 8, 200), NULL);
	lab_run(trial, 10 * NOPAL_SECOND);
}

static void vanilla_numbers(struct lab_trial *trial)
{
	vanilla_trial(trial, LAB_STUDENT, LAB_REFERENCE, "delay 10ms", 600);
	for (size_t i = 0; i < trial->datagram_count && !trial->failed; i++) {
		const struct lab_datagram *datagram = &trial->datagrams[i];
		unsigned due = (datagram->message - 1) % VANILLA_NUMBERS + 1;

		if (datagram->message && vanilla_number(trial, datagram) != due)
			lab_fail(trial, datagram->time_ns,
				 "message %u leaves with the number %u; its number is %u",
				 datagram->message, vanilla_number(trial, datagram), due);
	}
	lab_check(trial, LAB_ALL | LAB_ONCE | LAB_ORDERED | LAB_INTACT);
}

/* The first gap segment from `*next` on, and `*next` behind it. */
static const struct lab_datagram *vanilla_next_gap(const struct lab_trial *trial, int from,
						   size_t *next)
{
	while (*next < trial->datagram_count) {
		const struct lab_datagram *datagram = &trial->datagrams[(*next)++];

		if (datagram->from == from &&
		    wire_control(datagram, VANILLA_GAP, VANILLA_GAP_BYTES, 0))
			return datagram;
	}
	return NULL;
}

/* A gap segment is to leave now, or none that has left by now is left over. */
static void vanilla_gap_is(struct lab_trial *trial, const struct lab_datagram *gap, int64_t now_ns,
			   unsigned first, unsigned count)
{
	const uint8_t *body = gap ? gap->bytes + WIRE_HEAD : NULL;

	if (!gap || gap->time_ns > now_ns)
		lab_fail(
			trial, now_ns,
			"no gap segment leaves at %.6f s, when it shows that messages are missing: "
			"%u, from number %u on",
			wire_seconds(now_ns), count, first);
	else if (body[0] != first || body[1] != count)
		lab_fail(trial, gap->time_ns,
			 "a gap segment says %02x %02x, when messages are missing: %u, from number "
			 "%u on",
			 body[0], body[1], count, first);
}

/* By the rules of the hand-out, for the arrivals of this trial. */
static void vanilla_gaps(struct lab_trial *trial)
{
	size_t count, *arrivals, next = 0;
	unsigned expected = 1;
	const struct lab_datagram *gap;

	vanilla_trial(trial, LAB_REFERENCE, LAB_STUDENT,
		      "delay 20ms 6ms rev: delay 5ms fwd: loss 20%", 400);
	arrivals = wire_arrivals(trial, 0, &count);
	gap = vanilla_next_gap(trial, 1, &next);
	for (size_t i = 0; i < count && !trial->failed; i++) {
		const struct lab_datagram *datagram = &trial->datagrams[arrivals[i]];
		unsigned number, ahead;

		if (!datagram->message)
			continue;
		number = vanilla_number(trial, datagram);
		ahead = (number + VANILLA_NUMBERS - expected) % VANILLA_NUMBERS;
		if (gap && gap->time_ns < datagram->arrived_ns)
			lab_fail(trial, gap->time_ns,
				 "a gap segment leaves at %.6f s, and nothing new is missing",
				 wire_seconds(gap->time_ns));
		if (ahead >= VANILLA_LATE)
			continue;
		if (ahead) {
			vanilla_gap_is(trial, gap, datagram->arrived_ns, expected, ahead);
			gap = vanilla_next_gap(trial, 1, &next);
		}
		expected = number % VANILLA_NUMBERS + 1;
	}
	if (gap)
		lab_fail(trial, gap->time_ns,
			 "a gap segment leaves at %.6f s, and nothing new is missing",
			 wire_seconds(gap->time_ns));
	free(arrivals);
}

static void vanilla_late(struct lab_trial *trial)
{
	vanilla_trial(trial, LAB_REFERENCE, LAB_STUDENT, "delay 30ms 20ms", 300);
	lab_check(trial, LAB_ALL | LAB_ONCE | LAB_INTACT);
}

static void vanilla_counts(struct lab_trial *trial)
{
	int64_t told = 0, counted = 0;

	vanilla_trial(trial, LAB_STUDENT, LAB_REFERENCE, "delay 20ms fwd: loss 10% rev: loss 10%",
		      200);
	for (size_t i = 0; i < trial->datagram_count && !trial->failed; i++) {
		const struct lab_datagram *datagram = &trial->datagrams[i];
		const uint8_t *body = wire_control(datagram, VANILLA_GAP, VANILLA_GAP_BYTES, 0);

		if (datagram->from == 1 && body && datagram->arrived_ns >= 0)
			told += body[1];
	}
	if (!told)
		lab_fail(trial, trial->now_ns,
			 "no gap segment reaches the sender, though messages are lost: are they "
			 "numbered?");
	if (!trial->failed && !lab_shared(trial, 0, 0, "vanilla_missing", &counted))
		lab_fail(trial, trial->now_ns, "the sender has no variable vanilla_missing");
	else if (counted != told)
		lab_fail(trial, trial->now_ns,
			 "gap segments told the sender of %lld missing messages; it counts %lld",
			 (long long)told, (long long)counted);
}

static const char *const vanilla_files[] = { "vanilla.c", "lab.conf", "cases.txt", NULL };

static const struct lab_item vanilla_items[] = {
	{ .name = "the cases of cases.txt hold",
	  .points = 20,
	  .seeds = 3,
	  .section = "Rules",
	  .hint = "each case has a rule of the hand-out behind it: find it before you change code",
	  .file = "cases.txt" },
	{ .name = "messages have the numbers 1 to 255, and 1 again",
	  .points = 20,
	  .hidden = true,
	  .seeds = 3,
	  .section = "A number travels",
	  .hint = "what follows 255 is no power of two",
	  .run = vanilla_numbers },
	{ .name = "each gap is told at once, with its first number and its length",
	  .points = 25,
	  .hidden = true,
	  .seeds = 20,
	  .section = "Rules",
	  .hint = "do rules 2 to 4 on paper for the numbers 1, 4, 2, 6",
	  .run = vanilla_gaps },
	{ .name = "a message that was overtaken is delivered",
	  .points = 10,
	  .hidden = true,
	  .seeds = 20,
	  .section = "Rules",
	  .hint = "a late message changes nothing, and is a message all the same",
	  .run = vanilla_late },
	{ .name = "the sender counts what its peer misses",
	  .points = 10,
	  .hidden = true,
	  .seeds = 10,
	  .section = "Rules",
	  .hint = "a gap segment has two numbers: which of them is counted?",
	  .run = vanilla_counts },
#define VANILLA_MUTANT(name_, what)                                                                  \
	{                                                                                            \
		.name = "the own cases tell a part " what " from a right one", .points = 3,          \
		.hidden = true, .seeds = 1, .section = "To do",                                      \
		.hint = "write a case that only a right part passes, and let the other side be the " \
			"reference",                                                                 \
		.mutant = name_                                                                      \
	}
	VANILLA_MUTANT("wrong_1_zero", "that uses the number 0"),
	VANILLA_MUTANT("wrong_2_late", "that takes a late message for a gap"),
	VANILLA_MUTANT("wrong_4_again", "that tells of a gap again and again"),
	VANILLA_MUTANT("wrong_5_drop", "that drops late messages"),
	VANILLA_MUTANT("wrong_6_silent", "that tells of no gap of one message"),
#undef VANILLA_MUTANT
	{ 0 },
};

static const struct lab_question vanilla_questions[] = {
	{ .ask = LAB_ASK_LEFT }, { .ask = LAB_ASK_DELIVERED }, { .ask = LAB_ASK_TOOK },
	{ .ask = LAB_ASK_LOST }, { .ask = LAB_ASK_SLOWEST },   { 0 },
};

const struct lab lab_02_vanilla_udp = {
	.number = 2,
	.name = "vanilla-udp",
	.title = "vanilla UDP: numbers and gaps",
	.part = "vanilla",
	.files = vanilla_files,
	.items = vanilla_items,
	.questions = vanilla_questions,
	.question_case = "case \"your own trial\"\n"
			 "	link      delay 20ms 5ms fwd: loss 25%\n"
			 "	sender    reference\n"
			 "	receiver  reference\n"
			 "	messages  12 every 15ms size 100\n"
			 "	within    20s\n"
			 "	expect    intact\n",
};
