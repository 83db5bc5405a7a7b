/* SPDX-License-Identifier: MIT */
/*
 * lab_05_duplication.c -- lab 5: each number once, by a memory of 32.
 *
 * Messages are segments, and have their numbers. The first copy of each says by the rules of the
 * hand-out whether the message is delivered, and then at that instant: a second copy of what came
 * too late is later still.
 */
#include <stdlib.h>

#include "lab/questions.h"
#include "labs/facts.h"
#include "labs/labs.h"
#include "labs/wire.h"

enum { FILTER_WINDOW = 32, FILTER_TRAILER = 4 };

static void filter_trial(struct lab_trial *trial, enum lab_code sender, enum lab_code receiver,
			 const char *words, unsigned messages)
{
	facts_pair(trial, sender, receiver, NULL, words);
	for (unsigned i = 0; i < messages; i++)
		lab_send(trial, 0, 0, i * NOPAL_MILLISECOND, (uint32_t)lab_between(trial, 8, 200),
			 NULL);
	lab_run(trial, 10 * NOPAL_SECOND);
}

/* The message is delivered when its first copy arrives, or never. */
static void filter_judge_one(struct lab_trial *trial, const struct lab_datagram *datagram,
			     uint32_t highest)
{
	const struct lab_message *message = &trial->messages[datagram->message - 1];
	bool old = datagram->message + FILTER_WINDOW <= highest;

	if (old && message->deliveries)
		lab_fail(trial, message->delivered_ns,
			 "number %u is delivered, though the highest number is %u: it is too old",
			 datagram->message, highest);
	else if (!old && !message->deliveries)
		lab_fail(trial, datagram->arrived_ns,
			 "number %u arrives for the first time, when the highest number is %u, and "
			 "is not delivered",
			 datagram->message, highest);
	else if (!old && message->delivered_ns != datagram->arrived_ns)
		lab_fail(trial, message->delivered_ns,
			 "number %u arrives at %.6f s and is delivered at %.6f s",
			 datagram->message, wire_seconds(datagram->arrived_ns),
			 wire_seconds(message->delivered_ns));
}

static void filter_judge(struct lab_trial *trial)
{
	size_t count, *arrivals = wire_arrivals(trial, 0, &count);
	uint32_t highest = 0;

	for (size_t i = 0; i < count && !trial->failed; i++) {
		const struct lab_datagram *datagram = &trial->datagrams[arrivals[i]];

		if (!datagram->message)
			continue;
		if (datagram->message > highest)
			highest = datagram->message;
		filter_judge_one(trial, datagram, highest);
	}
	free(arrivals);
	lab_check(trial, LAB_ONCE | LAB_INTACT);
}

static void filter_numbers(struct lab_trial *trial)
{
	filter_trial(trial, LAB_STUDENT, LAB_REFERENCE, "delay 10ms", 600);
	for (size_t i = 0; i < trial->datagram_count && !trial->failed; i++) {
		const struct lab_datagram *datagram = &trial->datagrams[i];
		uint32_t behind;

		if (!datagram->message)
			continue;
		behind = trial->messages[datagram->message - 1].length + FILTER_TRAILER + 1;
		if (datagram->bytes[datagram->length - behind] != (uint8_t)datagram->message)
			lab_fail(trial, datagram->time_ns,
				 "segment %u leaves with the byte %02x; its number ends with %02x",
				 datagram->message, datagram->bytes[datagram->length - behind],
				 (uint8_t)datagram->message);
	}
	lab_check(trial, LAB_ALL | LAB_ONCE | LAB_ORDERED | LAB_INTACT);
}

static void filter_repeated(struct lab_trial *trial)
{
	filter_trial(trial, LAB_REFERENCE, LAB_STUDENT, "delay 10ms fwd: duplicate 50%", 100);
	lab_check(trial, LAB_ALL | LAB_ONCE | LAB_ORDERED | LAB_INTACT);
}

static void filter_window(struct lab_trial *trial)
{
	filter_trial(trial, LAB_REFERENCE, LAB_STUDENT,
		     "delay 30ms 25ms fwd: duplicate 30% loss 5%", 200);
	filter_judge(trial);
}

static void filter_jumps(struct lab_trial *trial)
{
	filter_trial(trial, LAB_REFERENCE, LAB_STUDENT,
		     "delay 80ms 3ms fwd: duplicate 20% reorder 2%", 240);
	filter_judge(trial);
}

static void filter_wraps(struct lab_trial *trial)
{
	filter_trial(trial, LAB_STUDENT, LAB_STUDENT, "delay 10ms 4ms fwd: duplicate 20% loss 5%",
		     900);
	filter_judge(trial);
}

static const char filter_earlier[] =
	"case \"lab 4: damaged messages are dropped\"\n"
	"	link      delay 10ms fwd: corrupt 20% duplicate 20%\n"
	"	sender    student\n"
	"	receiver  student\n"
	"	messages  100 every 5ms size 100..1000\n"
	"	within    2s\n"
	"	expect    once intact\n"
	"	expect    delivered >= 60\n"
	"case \"lab 2: three hundred messages arrive over a good link\"\n"
	"	link      delay 10ms\n"
	"	sender    student\n"
	"	receiver  student\n"
	"	messages  300 every 1ms size 8..200\n"
	"	within    2s\n"
	"	expect    all once ordered intact\n"
	"	expect    datagrams = 300\n";

static const char *const filter_files[] = { "filter.c", "lab.conf", "cases.txt", NULL };

static const struct lab_item filter_items[] = {
	{ .name = "the cases of cases.txt hold",
	  .points = 15,
	  .seeds = 3,
	  .section = "The window",
	  .hint = "write down highest and bits for the arrivals 1, 2, 2, 4, 3, 3",
	  .file = "cases.txt" },
	{ .name = "segments have the numbers 1, 2, 3, ...",
	  .points = 10,
	  .hidden = true,
	  .seeds = 2,
	  .section = "A byte of a number",
	  .hint = "nothing is to be done when the byte wraps",
	  .run = filter_numbers },
	{ .name = "a repeated segment is let in once",
	  .points = 15,
	  .hidden = true,
	  .seeds = 20,
	  .section = "The window",
	  .hint = "a number that was let in has its bit",
	  .run = filter_repeated },
	{ .name = "the window has 32 numbers",
	  .points = 20,
	  .hidden = true,
	  .seeds = 40,
	  .section = "The window",
	  .hint = "which is the lowest number of the window when the highest is 40?",
	  .run = filter_window },
	{ .name = "a jump moves the window at once",
	  .points = 15,
	  .hidden = true,
	  .seeds = 40,
	  .section = "The window",
	  .hint = "what do the bits say after a jump by 31, and by 100?",
	  .run = filter_jumps },
	{ .name = "numbers go on behind 255",
	  .points = 10,
	  .hidden = true,
	  .seeds = 5,
	  .section = "A byte of a number",
	  .hint = "the runtime completes a byte to the number nearest to the last one it was told",
	  .run = filter_wraps },
	{ .name = "the cases of labs 2 and 4 that apply here hold",
	  .points = 5,
	  .hidden = true,
	  .seeds = 5,
	  .section = "The window",
	  .hint = "what comes in order and once is let in",
	  .cases = filter_earlier },
#define FILTER_MUTANT(name_, what)                                                                        \
	{                                                                                                 \
		.name = "the own cases tell a part " what " from a right one", .points = 2,               \
		.hidden = true, .seeds = 1, .section = "To do",                                           \
		.hint = "`reorder 100% gap N` makes every N-th datagram overtake all that are under way", \
		.mutant = name_                                                                           \
	}
	FILTER_MUTANT("wrong_1_shift", "that shifts too far"),
	FILTER_MUTANT("wrong_2_window", "with 31 numbers"),
	FILTER_MUTANT("wrong_3_old", "that lets old numbers in"),
	FILTER_MUTANT("wrong_4_late", "that forgets late numbers"),
	FILTER_MUTANT("wrong_6_serial", "that does not tell the runtime"),
#undef FILTER_MUTANT
	{ 0 },
};

static const struct lab_question filter_questions[] = {
	{ .ask = LAB_ASK_DOUBLED }, { .ask = LAB_ASK_LEFT }, { .ask = LAB_ASK_DELIVERED },
	{ .ask = LAB_ASK_TOOK },    { .ask = LAB_ASK_SENT }, { 0 },
};

const struct lab lab_05_duplication = {
	.number = 5,
	.name = "duplication",
	.title = "duplication: a filter with a window",
	.part = "filter",
	.files = filter_files,
	.items = filter_items,
	.questions = filter_questions,
	.question_case = "case \"your own trial\"\n"
			 "	link      delay 20ms 5ms fwd: duplicate 35%\n"
			 "	sender    reference\n"
			 "	receiver  reference\n"
			 "	messages  12 every 10ms size 100\n"
			 "	within    20s\n"
			 "	expect    intact\n",
};
