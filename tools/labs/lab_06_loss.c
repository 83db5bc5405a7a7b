/* SPDX-License-Identifier: MIT */
/*
 * lab_06_loss.c -- lab 6: acks that name holes, and a window of segments.
 *
 * Messages are segments, and have their numbers. What the sender has heard says when each message may
 * leave first: then it does. What has arrived says what each ack says.
 */
#include <stdlib.h>

#include "frame/tool.h"
#include "lab/questions.h"
#include "labs/facts.h"
#include "labs/labs.h"
#include "labs/wire.h"

enum {
	ARQ_WINDOW = 8,
	ARQ_ACK = WIRE_OWN,
	ARQ_ACK_BYTES = 8,
	ARQ_HOLES = 4, /* where they are in it */
	ARQ_TRAILER = 4,
	ARQ_REACH = 32,
};

static const uint8_t *arq_ack(const struct lab_datagram *datagram)
{
	return wire_control(datagram, ARQ_ACK, ARQ_ACK_BYTES, ARQ_TRAILER);
}

/* Does this ack say that the number has arrived? */
static bool arq_tells(const uint8_t *ack, uint32_t number)
{
	uint64_t highest = wire_number(ack, 4), holes = wire_number(ack + ARQ_HOLES, 4);

	return number == highest || (number < highest && (highest - number > ARQ_REACH ||
							  !(holes >> (highest - number - 1) & 1)));
}

static void arq_trial(struct lab_trial *trial, enum lab_code sender, enum lab_code receiver,
		      const char *config, const char *words, unsigned messages)
{
	facts_pair(trial, sender, receiver, config, words);
	for (unsigned i = 0; i < messages; i++)
		lab_send(trial, 0, 0, i * 1500 * NOPAL_MICROSECOND,
			 (uint32_t)lab_between(trial, 8, 400), NULL);
	lab_run(trial, 200 * NOPAL_SECOND);
}

/* ---------------------------------------------------------------------- the sender */

/* When the sender heard that each message has arrived; NOPAL_NEVER. */
static int64_t *arq_heard(const struct lab_trial *trial)
{
	int64_t *heard_ns = tool_need(calloc(trial->message_count, sizeof(*heard_ns)));

	for (uint32_t i = 0; i < trial->message_count; i++)
		heard_ns[i] = NOPAL_NEVER;
	for (size_t i = 0; i < trial->datagram_count; i++) {
		const struct lab_datagram *datagram = &trial->datagrams[i];
		const uint8_t *ack = datagram->from == 1 ? arq_ack(datagram) : NULL;

		for (uint32_t j = 0; ack && datagram->arrived_ns >= 0 && j < trial->message_count;
		     j++)
			if (arq_tells(ack, j + 1) && datagram->arrived_ns < heard_ns[j])
				heard_ns[j] = datagram->arrived_ns;
	}
	return heard_ns;
}

/* A message leaves first when it was sent, or when the last but `window` before it, and all before
 * that, had arrived for all that the sender knew. */
static void arq_judge_window(struct lab_trial *trial, const int64_t *heard_ns, uint32_t window)
{
	int64_t room_ns = 0;

	for (uint32_t i = 0; i < trial->message_count && !trial->failed; i++) {
		const struct lab_datagram *left = lab_carrier(trial, 0, i + 1, 0);
		int64_t due_ns = trial->messages[i].sent_ns;

		if (i >= window && heard_ns[i - window] > room_ns)
			room_ns = heard_ns[i - window];
		if (room_ns > due_ns)
			due_ns = room_ns;
		if (due_ns == NOPAL_NEVER)
			break;
		if (left && left->time_ns < due_ns)
			lab_fail(trial, left->time_ns,
				 "message %u leaves at %.6f s; the window of %u has room for it at "
				 "%.6f s",
				 i + 1, wire_seconds(left->time_ns), window, wire_seconds(due_ns));
		else if (!left || left->time_ns > due_ns)
			lab_fail(trial, due_ns,
				 "the window of %u has room for message %u at %.6f s; it does not "
				 "leave then",
				 window, i + 1, wire_seconds(due_ns));
	}
}

static void arq_judge_resends(struct lab_trial *trial, const int64_t *heard_ns)
{
	for (size_t i = 0; i < trial->datagram_count && !trial->failed; i++) {
		const struct lab_datagram *datagram = &trial->datagrams[i];

		if (datagram->again && heard_ns[datagram->message - 1] < datagram->time_ns)
			lab_fail(trial, datagram->time_ns,
				 "message %u leaves again at %.6f s, though an ack told at %.6f s "
				 "that it has arrived",
				 datagram->message, wire_seconds(datagram->time_ns),
				 wire_seconds(heard_ns[datagram->message - 1]));
	}
}

static void arq_judge_sender(struct lab_trial *trial, uint32_t window)
{
	int64_t *heard_ns = arq_heard(trial);

	arq_judge_window(trial, heard_ns, window);
	arq_judge_resends(trial, heard_ns);
	free(heard_ns);
	lab_check(trial, LAB_ALL | LAB_ONCE | LAB_ORDERED | LAB_INTACT);
}

static void arq_stop_and_wait(struct lab_trial *trial)
{
	arq_trial(trial, LAB_STUDENT, LAB_REFERENCE, "stop_and_wait.conf",
		  "delay 15ms 4ms loss 10%", 20);
	arq_judge_sender(trial, 1);
}

static void arq_window(struct lab_trial *trial)
{
	arq_trial(trial, LAB_STUDENT, LAB_REFERENCE, NULL, "delay 15ms 4ms loss 10%", 60);
	arq_judge_sender(trial, ARQ_WINDOW);
}

/* -------------------------------------------------------------------- the receiver */

/* Arrivals of numbers from 1 on. */
struct arq_seen {
	bool *has;
	uint32_t highest;
};

static uint32_t arq_holes(const struct arq_seen *seen)
{
	uint32_t holes = 0;

	for (uint32_t i = 0; i < ARQ_REACH && i + 1 < seen->highest; i++)
		if (!seen->has[seen->highest - 1 - i])
			holes |= UINT32_C(1) << i;
	return holes;
}

/* The last ack that leaves at this time. */
static const uint8_t *arq_ack_at(const struct lab_trial *trial, int64_t time_ns)
{
	const uint8_t *ack = NULL, *one;

	for (size_t i = 0; i < trial->datagram_count; i++)
		if (trial->datagrams[i].from == 1 && trial->datagrams[i].time_ns == time_ns &&
		    (one = arq_ack(&trial->datagrams[i])))
			ack = one;
	return ack;
}

static void arq_judge_ack(struct lab_trial *trial, const struct lab_datagram *datagram,
			  const struct arq_seen *seen)
{
	const uint8_t *ack = arq_ack_at(trial, datagram->arrived_ns);
	uint32_t holes = arq_holes(seen);

	if (!ack)
		lab_fail(trial, datagram->arrived_ns,
			 "message %u arrives at %.6f s, and no ack leaves", datagram->message,
			 wire_seconds(datagram->arrived_ns));
	else if (wire_number(ack, 4) != seen->highest || wire_number(ack + ARQ_HOLES, 4) != holes)
		lab_fail(trial, datagram->arrived_ns,
			 "message %u arrives at %.6f s, and an ack says: highest %llu, holes "
			 "%08llx; what has arrived is: highest %u, holes %08x",
			 datagram->message, wire_seconds(datagram->arrived_ns),
			 (unsigned long long)wire_number(ack, 4),
			 (unsigned long long)wire_number(ack + ARQ_HOLES, 4), seen->highest, holes);
}

static void arq_acks(struct lab_trial *trial)
{
	size_t count, *arrivals;
	struct arq_seen seen = { 0 };

	arq_trial(trial, LAB_REFERENCE, LAB_STUDENT, NULL, "delay 15ms 6ms loss 15%", 60);
	arrivals = wire_arrivals(trial, 0, &count);
	seen.has = tool_need(calloc(trial->message_count + 1, sizeof(*seen.has)));
	for (size_t i = 0; i < count && !trial->failed; i++) {
		const struct lab_datagram *datagram = &trial->datagrams[arrivals[i]];

		if (!datagram->message)
			continue;
		seen.has[datagram->message] = true;
		if (datagram->message > seen.highest)
			seen.highest = datagram->message;
		/* of those that arrive at one instant the last one counts */
		if (i + 1 == count ||
		    trial->datagrams[arrivals[i + 1]].arrived_ns != datagram->arrived_ns)
			arq_judge_ack(trial, datagram, &seen);
	}
	free(seen.has);
	free(arrivals);
	lab_check(trial, LAB_ALL | LAB_ONCE | LAB_ORDERED | LAB_INTACT);
}

static void arq_both(struct lab_trial *trial)
{
	arq_trial(trial, LAB_STUDENT, LAB_STUDENT, NULL,
		  "delay 20ms 8ms loss 10% duplicate 5% corrupt 5% reorder 3%", 80);
	lab_check(trial, LAB_ALL | LAB_ONCE | LAB_ORDERED | LAB_INTACT);
}

static const char arq_earlier[] = "case \"lab 3: a lost message is sent again after 200 ms\"\n"
				  "	link      delay 20ms fwd: loss mask 1\n"
				  "	sender    student\n"
				  "	receiver  reference\n"
				  "	messages  1 every 0ms size 100\n"
				  "	within    5s\n"
				  "	expect    all once ordered intact\n"
				  "	expect    resend at 200ms 2us\n"
				  "case \"lab 4: what is damaged is sent again\"\n"
				  "	link      delay 10ms corrupt 15%\n"
				  "	sender    student\n"
				  "	receiver  student\n"
				  "	messages  40 every 5ms size 100..1000\n"
				  "	within    60s\n"
				  "	expect    all once ordered intact\n"
				  "case \"lab 5: what is repeated is delivered once\"\n"
				  "	link      delay 10ms 3ms duplicate 40%\n"
				  "	sender    student\n"
				  "	receiver  student\n"
				  "	messages  40 every 5ms size 100..1000\n"
				  "	within    60s\n"
				  "	expect    all once ordered intact\n";

static const char *const arq_files[] = { "arq.c", "lab.conf", "stop_and_wait.conf", "cases.txt",
					 NULL };

static const struct lab_item arq_items[] = {
	{ .name = "the cases of cases.txt hold",
	  .points = 15,
	  .seeds = 3,
	  .section = "To do",
	  .hint = "let one side be the reference: then you know which half of your code is wrong",
	  .file = "cases.txt" },
	{ .name = "stop and wait: one segment is away, until its ack comes",
	  .points = 15,
	  .hidden = true,
	  .seeds = 30,
	  .section = "The window",
	  .hint = "which segments may leave when the base is 7 and the window 1?",
	  .run = arq_stop_and_wait },
	{ .name = "each arrival is acknowledged, and each hole is named",
	  .points = 20,
	  .hidden = true,
	  .seeds = 60,
	  .section = "The ack",
	  .hint = "write down highest and holes for the arrivals 1, 2, 5, 4, 4, 8",
	  .run = arq_acks },
	{ .name = "the window is full, and no fuller",
	  .points = 20,
	  .hidden = true,
	  .seeds = 60,
	  .section = "The window",
	  .hint = "the base is the lowest number without an ack, however many above it have one",
	  .run = arq_window },
	{ .name = "all arrive over a link that loses, damages, repeats and reorders",
	  .points = 10,
	  .hidden = true,
	  .seeds = 60,
	  .section = "The ack",
	  .hint = "acks overtake each other, too: an older one must not undo a newer one",
	  .run = arq_both },
	{ .name = "the cases of labs 3 to 5 that apply here hold",
	  .points = 5,
	  .hidden = true,
	  .seeds = 10,
	  .section = "The window",
	  .hint = "which of the bits of a segment are released, and when?",
	  .cases = arq_earlier },
#define ARQ_MUTANT(name_, what)                                                                    \
	{                                                                                          \
		.name = "the own cases tell a part " what " from a right one", .points = 3,        \
		.hidden = true, .seeds = 1, .section = "To do",                                    \
		.hint = "loss masks, `expect datagrams` and `within` see the differences",         \
		.mutant = name_                                                                    \
	}
	ARQ_MUTANT("wrong_1_cumulative", "that acknowledges holes"),
	ARQ_MUTANT("wrong_2_window", "with one segment too many"),
	ARQ_MUTANT("wrong_3_news", "that acknowledges no duplicate"),
	ARQ_MUTANT("wrong_4_bit", "that names the wrong hole"),
	ARQ_MUTANT("wrong_6_one", "that sends one segment for each ack"),
#undef ARQ_MUTANT
	{ 0 },
};

static const struct lab_question arq_questions[] = {
	{ .ask = LAB_ASK_AGAIN },
	{ .ask = LAB_ASK_CARRIED },
	{ .ask = LAB_ASK_LOST },
	{ .ask = LAB_ASK_TOOK },
	{ .ask = LAB_ASK_SLOWEST },
	{ .ask = LAB_ASK_HOLDER },
	{ 0 },
};

const struct lab lab_06_loss = {
	.number = 6,
	.name = "loss",
	.title = "loss: acks, resends and a window",
	.part = "arq",
	.files = arq_files,
	.items = arq_items,
	.questions = arq_questions,
	.question_case = "case \"your own trial\"\n"
			 "	link      delay 20ms 2ms fwd: loss 25%\n"
			 "	sender    reference\n"
			 "	receiver  reference\n"
			 "	messages  16 every 10ms size 100..900\n"
			 "	within    10s\n"
			 "	expect    all once ordered intact\n",
};
