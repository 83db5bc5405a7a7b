/* SPDX-License-Identifier: MIT */
/*
 * lab_03_delay.c -- lab 3: the timeout follows the round trip, to the nanosecond.
 *
 * One segment is away at a time. So the times of datagrams at the sender are all that a right
 * estimator ever sees, and the grader computes from them when each segment is to leave again.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lab/questions.h"
#include "labs/facts.h"
#include "labs/labs.h"
#include "labs/wire.h"

#define DELAY_FIRST_NS (500 * NOPAL_MILLISECOND)
#define DELAY_LIMIT_NS (2 * NOPAL_SECOND)

enum {
	DELAY_ACK = WIRE_OWN,
	DELAY_ACK_BYTES = 10,	  /* largest packet number 4, cumulative ack 4, delay 2 */
	DELAY_ACK_CUMULATIVE = 4, /* where it is */
};

struct delay_model {
	bool sampled;
	int64_t estimate_ns, deviation_ns, timeout_ns;
};

static void delay_sample(struct delay_model *model, int64_t sample_ns)
{
	if (!model->sampled) {
		model->sampled = true;
		model->estimate_ns = sample_ns;
		model->deviation_ns = sample_ns / 2;
	} else {
		model->estimate_ns += (sample_ns - model->estimate_ns) / 8;
		model->deviation_ns +=
			(llabs(sample_ns - model->estimate_ns) - model->deviation_ns) / 4;
	}
	model->timeout_ns = model->estimate_ns + 4 * model->deviation_ns;
	if (model->timeout_ns > DELAY_LIMIT_NS)
		model->timeout_ns = DELAY_LIMIT_NS;
}

/* When the sender heard first that this message has arrived; NOPAL_NEVER. */
static int64_t delay_acked(const struct lab_trial *trial, uint32_t message)
{
	int64_t first_ns = NOPAL_NEVER;

	for (size_t i = 0; i < trial->datagram_count; i++) {
		const struct lab_datagram *datagram = &trial->datagrams[i];
		const uint8_t *body = wire_control(datagram, DELAY_ACK, DELAY_ACK_BYTES, 0);

		if (datagram->from == 1 && body && datagram->arrived_ns >= 0 &&
		    wire_number(body + DELAY_ACK_CUMULATIVE, 4) > message &&
		    datagram->arrived_ns < first_ns)
			first_ns = datagram->arrived_ns;
	}
	return first_ns;
}

/* All transmissions of one message. */
static void delay_judge(struct lab_trial *trial, struct delay_model *model, uint32_t message)
{
	const struct lab_datagram *left = lab_carrier(trial, 0, message, 0), *again;
	int64_t acked_ns = delay_acked(trial, message), due_ns;

	for (unsigned n = 1; left && !trial->failed; n++, left = again) {
		due_ns = left->time_ns + model->timeout_ns;
		again = lab_carrier(trial, 0, message, n);
		if (again && !wire_on_time(again->time_ns, due_ns))
			lab_fail(trial, again->time_ns,
				 "message %u leaves at %.9f s, and again at %.9f s; the timeout is "
				 "%.9f s: it is due again at %.9f s",
				 message, wire_seconds(left->time_ns), wire_seconds(again->time_ns),
				 wire_seconds(model->timeout_ns), wire_seconds(due_ns));
		else if (!again && acked_ns > due_ns + WIRE_TICK_NS && trial->now_ns > due_ns)
			lab_fail(trial, due_ns,
				 "message %u leaves at %.9f s and is not acknowledged by %.9f s, a "
				 "timeout later; it does not leave again",
				 message, wire_seconds(left->time_ns), wire_seconds(due_ns));
		else if (again)
			model->timeout_ns = 2 * model->timeout_ns < DELAY_LIMIT_NS
						    ? 2 * model->timeout_ns
						    : DELAY_LIMIT_NS;
		else if (n == 1 && acked_ns != NOPAL_NEVER)
			delay_sample(model, acked_ns - left->time_ns);
	}
}

/* By the rules of the hand-out, from the times of this trial. */
static void delay_judge_all(struct lab_trial *trial)
{
	struct delay_model model = { .timeout_ns = DELAY_FIRST_NS };

	for (uint32_t message = 1; message <= trial->message_count && !trial->failed; message++)
		delay_judge(trial, &model, message);
	lab_check(trial, LAB_ALL | LAB_ONCE | LAB_ORDERED | LAB_INTACT);
}

/* With a pause behind half of the messages. */
static void delay_trial(struct lab_trial *trial, const char *words, unsigned messages,
			int64_t every_ns, int64_t pause_ns)
{
	facts_pair(trial, LAB_STUDENT, LAB_REFERENCE, NULL, words);
	for (unsigned i = 0; i < messages; i++)
		lab_send(trial, 0, 0, i * every_ns + (2 * i >= messages ? pause_ns : 0),
			 (uint32_t)lab_between(trial, 8, 1000), NULL);
	lab_run(trial, messages * every_ns + pause_ns + 60 * NOPAL_SECOND);
	delay_judge_all(trial);
}

/* Words of a link whose round trips differ, and which loses the datagrams of the mask. */
static const char *delay_words(struct lab_trial *trial, char text[128], const char *mask)
{
	int delay_ms = (int)lab_between(trial, 10, 150);

	snprintf(text, 128, "delay %dms %dms%s%s", delay_ms,
		 (int)lab_between(trial, 1, delay_ms / 4), *mask ? " fwd: loss mask " : "", mask);
	return text;
}

/* Four samples, and then a loss: no round trip differs by more than the deviation that is left. */
static void delay_follows(struct lab_trial *trial)
{
	char words[128];

	delay_trial(trial, delay_words(trial, words, "00001"), 5, 600 * NOPAL_MILLISECOND, 0);
}

/* The first message leaves twice; the second is lost, too. */
static void delay_resent(struct lab_trial *trial)
{
	char words[128];

	delay_trial(trial, delay_words(trial, words, "101"), 2, 3 * NOPAL_SECOND, 0);
}

/* An outage of up to 20 seconds. */
static void delay_doubles(struct lab_trial *trial)
{
	char words[128];

	snprintf(words, sizeof(words), "delay 20ms down 0s %dms",
		 (int)lab_between(trial, 4000, 20000));
	delay_trial(trial, words, 1, NOPAL_SECOND, 0);
}

/* A pause between an ack and a loss. */
static void delay_pauses(struct lab_trial *trial)
{
	char words[128];

	delay_trial(trial, delay_words(trial, words, "001"), 3, 4 * NOPAL_SECOND, 0);
}

static void delay_lossy(struct lab_trial *trial)
{
	char words[128];

	snprintf(words, sizeof(words), "delay %dms 8ms loss 15%%", (int)lab_between(trial, 10, 60));
	delay_trial(trial, words, 40, 50 * NOPAL_MILLISECOND, 30 * NOPAL_SECOND);
}

static const char delay_earlier[] =
	"case \"lab 2: three hundred messages arrive over a good link\"\n"
	"	link      delay 1ms\n"
	"	sender    student\n"
	"	receiver  student\n"
	"	messages  300 every 4ms size 8..200\n"
	"	within    5s\n"
	"	expect    all once ordered intact\n"
	"	expect    datagrams = 300\n";

static const char *const delay_files[] = { "estimator.c", "lab.conf", "cases.txt", NULL };

static const struct lab_item delay_items[] = {
	{ .name = "the cases of cases.txt hold",
	  .points = 20,
	  .seeds = 2,
	  .section = "The timer",
	  .hint = "compute by hand when the segment is due again, and compare with the ladder",
	  .file = "cases.txt" },
	{ .name = "the timeout follows the samples, to the nanosecond",
	  .points = 20,
	  .hidden = true,
	  .seeds = 20,
	  .section = "The estimate",
	  .hint = "compute E and D by hand for the samples 100, 180, 100 ms: which E is in |R - E|?",
	  .run = delay_follows },
	{ .name = "a segment that left twice gives no sample",
	  .points = 10,
	  .hidden = true,
	  .seeds = 10,
	  .section = "The estimate",
	  .hint = "which transmission does an ack of a segment that left twice belong to?",
	  .run = delay_resent },
	{ .name = "each timeout doubles the next one, to 2 s",
	  .points = 15,
	  .hidden = true,
	  .seeds = 10,
	  .section = "Doubling",
	  .hint = "write down when a segment leaves during an outage of ten seconds: 0 s, 0.5 s, ...",
	  .run = delay_doubles },
	{ .name = "an ack stops the timer",
	  .points = 10,
	  .hidden = true,
	  .seeds = 10,
	  .section = "The timer",
	  .hint = "after an ack nothing is away: for whom would the timer run?",
	  .run = delay_pauses },
	{ .name = "all rules hold together on a link that loses",
	  .points = 10,
	  .hidden = true,
	  .seeds = 40,
	  .section = "Doubling",
	  .hint = "after a resend is acknowledged the timeout stays doubled until the next sample",
	  .run = delay_lossy },
	{ .name = "the cases of lab 2 that apply here hold",
	  .points = 5,
	  .hidden = true,
	  .seeds = 1,
	  .section = "The timer",
	  .hint = "no segment leaves again while its ack is on its way",
	  .cases = delay_earlier },
#define DELAY_MUTANT(name_, what)                                                                  \
	{                                                                                          \
		.name = "the own cases tell a part " what " from a right one", .points = 2,        \
		.hidden = true, .seeds = 1, .section = "To do",                                    \
		.hint = "`expect resend at TIME` and `expect datagrams` see a wrong timeout",      \
		.mutant = name_                                                                    \
	}
	DELAY_MUTANT("wrong_1_order", "that takes the deviation from the old estimate"),
	DELAY_MUTANT("wrong_2_karn", "that takes samples of resends"),
	DELAY_MUTANT("wrong_3_backoff", "that does not double"),
	DELAY_MUTANT("wrong_4_limit", "without a limit"),
	DELAY_MUTANT("wrong_5_stop", "that lets the timer run on"),
#undef DELAY_MUTANT
	{ 0 },
};

static const struct lab_question delay_questions[] = {
	{ .ask = LAB_ASK_AGAIN },   { .ask = LAB_ASK_CARRIED }, { .ask = LAB_ASK_TOOK },
	{ .ask = LAB_ASK_SLOWEST }, { .ask = LAB_ASK_LOST },	{ 0 },
};

const struct lab lab_03_delay = {
	.number = 3,
	.name = "delay",
	.title = "delay: the round trip and the timeout",
	.part = "estimator",
	.files = delay_files,
	.items = delay_items,
	.questions = delay_questions,
	.question_case = "case \"your own trial\"\n"
			 "	link      delay 20ms 5ms loss 15%\n"
			 "	sender    reference\n"
			 "	receiver  reference\n"
			 "	messages  10 every 100ms size 100\n"
			 "	within    20s\n"
			 "	expect    all once ordered intact\n",
};
