/* SPDX-License-Identifier: MIT */
/*
 * lab_07_sliding_window.c -- the rubric of lab 7: go-back-N, selective repeat, and how much of a path
 * a window uses.
 *
 * Acks are read as the hand-out says, so that the reference knows them from either end: kind and id,
 * then next, end and holes, and the checksum.
 */
#include <stdio.h>

#include "lab/questions.h"
#include "labs/facts.h"
#include "labs/labs.h"

enum {
	WINDOW = 16,
	WINDOW_MESSAGE = 1000, /* bytes */
	WINDOW_HEAD = 5,       /* of an ack: kind, and the id of the session */
	WINDOW_ACK = 5 + 12 + 4,
	WINDOW_DATA = WINDOW_MESSAGE + 13 + 28, /* the headers of Nopal, UDP and IP */
	WINDOW_TIMEOUT_MS = 200,
};

/* ------------------------------------------------------------------ the oracle */

/* What the receiver has by now; numbers from 1. */
struct window_receiver {
	bool selective;
	uint32_t next, end;
	size_t seen; /* datagrams of the trial */
	bool there[4096];
};

struct window_ack {
	uint32_t next, end, holes;
};

static void window_take(struct window_receiver *receiver, uint32_t number)
{
	uint32_t room = receiver->selective ? WINDOW : 1;

	if (number < receiver->next || number >= receiver->next + room)
		return;
	receiver->there[number] = true;
	if (receiver->end <= number)
		receiver->end = number + 1;
	while (receiver->there[receiver->next])
		receiver->next++;
}

static struct window_ack window_expected(const struct window_receiver *receiver)
{
	struct window_ack ack = { receiver->next, receiver->end, 0 };

	for (uint32_t number = ack.next; number < ack.end; number++)
		if (!receiver->there[number])
			ack.holes |= UINT32_C(1) << (number - ack.next);
	return ack;
}

static uint32_t window_number(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

/* Data that have come out by the time of an ack, which a receiver sends at the instant at which it
 * takes them; nothing overtakes on the way. */
static void window_take_until(const struct lab_trial *trial, struct window_receiver *receiver,
			      int64_t time_ns)
{
	for (; receiver->seen < trial->datagram_count; receiver->seen++) {
		const struct lab_datagram *data = &trial->datagrams[receiver->seen];

		if (data->arrived_ns > time_ns)
			return;
		if (data->from == 0 && data->message && data->arrived_ns >= 0)
			window_take(receiver, data->message);
	}
}

static void window_check_ack(struct lab_trial *trial, const struct window_receiver *receiver,
			     const struct lab_datagram *datagram)
{
	const uint8_t *body = datagram->bytes + WINDOW_HEAD;
	struct window_ack ack = { window_number(body), window_number(body + 4),
				  window_number(body + 8) };
	struct window_ack right = window_expected(receiver);

	if (ack.next != right.next || ack.end != right.end || ack.holes != right.holes)
		lab_fail(trial, datagram->time_ns,
			 "an ack says next %u, end %u, holes %#x, where what has arrived makes "
			 "next %u, end %u, holes %#x",
			 ack.next, ack.end, ack.holes, right.next, right.end, right.holes);
}

/* Each ack of host 1 says what has come out there. */
static void window_check_acks(struct lab_trial *trial, bool selective)
{
	struct window_receiver receiver = { .selective = selective, .next = 1, .end = 1 };
	size_t acks = 0;

	for (size_t i = 0; i < trial->datagram_count && !trial->failed; i++) {
		const struct lab_datagram *datagram = &trial->datagrams[i];

		if (datagram->from != 1 || datagram->length != WINDOW_ACK)
			continue;
		acks++;
		window_take_until(trial, &receiver, datagram->time_ns);
		window_check_ack(trial, &receiver, datagram);
	}
	if (!acks)
		lab_fail(trial, trial->now_ns, "no ack of %d bytes leaves: 12 of them are its body",
			 WINDOW_ACK);
}

/* ------------------------------------------------------------------------ items */

static void window_all(struct lab_trial *trial)
{
	lab_check(trial, LAB_ALL | LAB_ONCE | LAB_ORDERED | LAB_INTACT);
	facts_outcomes(trial);
}

/* Message `message` leaves for the second time so long after the first. */
static void window_check_again(struct lab_trial *trial, uint32_t message, int64_t at_ms)
{
	const struct lab_datagram *again = lab_carrier(trial, 0, message, 1);
	int64_t off_ns = again ? again->time_ns - at_ms * NOPAL_MILLISECOND : 0;

	if (!again)
		lab_fail(trial, trial->now_ns, "message %u does not leave again, at %lld ms",
			 message, (long long)at_ms);
	else if (off_ns > NOPAL_MILLISECOND || off_ns < -NOPAL_MILLISECOND)
		lab_fail(trial, again->time_ns,
			 "message %u leaves again at %.3f ms, not at %lld ms", message,
			 (double)again->time_ns / (double)NOPAL_MILLISECOND, (long long)at_ms);
}

/* The second of ten segments is lost: when it times out, it leaves with all behind it. */
static void window_goes_back(struct lab_trial *trial)
{
	enum { MESSAGES = 10, EVERY_MS = 5 };

	facts_pair(trial, LAB_STUDENT, LAB_REFERENCE, "go_back_n.conf",
		   "delay 20ms fwd: loss mask 01");
	facts_stream(trial, 0, MESSAGES, EVERY_MS * NOPAL_MILLISECOND, WINDOW_MESSAGE);
	lab_run(trial, 2 * NOPAL_SECOND);
	for (uint32_t message = 2; message <= MESSAGES; message++)
		window_check_again(trial, message, EVERY_MS + WINDOW_TIMEOUT_MS);
	window_all(trial);
}

/* The receiver of go-back-N, and that of selective repeat, behind a reference that sends. */
static void window_receives(struct lab_trial *trial, const char *config, bool selective)
{
	enum { MESSAGES = 60 };

	facts_pair(trial, LAB_REFERENCE, LAB_STUDENT, config,
		   "rate 8mbit delay 20ms fwd: loss 10%");
	facts_stream(trial, 0, MESSAGES, 3 * NOPAL_MILLISECOND, WINDOW_MESSAGE);
	lab_run(trial, 60 * NOPAL_SECOND);
	window_check_acks(trial, selective);
	window_all(trial);
}

static void window_receives_next(struct lab_trial *trial)
{
	window_receives(trial, "go_back_n.conf", false);
}

static void window_receives_early(struct lab_trial *trial)
{
	window_receives(trial, NULL, true);
}

/* The 1st, 17th, 33rd ... message come a window apart: the first of each leaves when the first ack
 * of the window before is there, or as the link lets it. */
static void window_uses_path(struct lab_trial *trial)
{
	enum { WINDOWS = 20, ACK_BITS = (WINDOW_ACK + 28) * 8, DATA_BITS = WINDOW_DATA * 8 };
	int64_t rate_mbit = lab_between(trial, 2, 12), delay_ms = lab_between(trial, 2, 40);
	double data_ms = DATA_BITS / (double)rate_mbit / 1000;
	double trip_ms = 2 * (double)delay_ms + data_ms + ACK_BITS / (double)rate_mbit / 1000;
	double window_ms = WINDOW * data_ms > trip_ms ? WINDOW * data_ms : trip_ms, took_ms;
	char link[64];

	snprintf(link, sizeof(link), "rate %lldmbit delay %lldms", (long long)rate_mbit,
		 (long long)delay_ms);
	facts_pair(trial, LAB_STUDENT, LAB_STUDENT, NULL, link);
	facts_stream(trial, 0, WINDOW * WINDOWS + 1, 0, WINDOW_MESSAGE);
	lab_run(trial, 60 * NOPAL_SECOND);
	window_all(trial);
	took_ms = (double)(facts_delivery(trial, WINDOW * WINDOWS + 1) - facts_delivery(trial, 1)) /
		  (double)NOPAL_MILLISECOND / WINDOWS;
	if (took_ms > window_ms / 0.95 || took_ms < window_ms * 0.95)
		lab_fail(
			trial, trial->now_ns,
			"over `%s` the window uses %.1f %% of the path, where min(1, W/B) is %.1f %%",
			link, 100 * WINDOW * data_ms / took_ms, 100 * WINDOW * data_ms / window_ms);
}

/* Loss, duplicates and an uneven delay; either end may be the reference. */
static void window_endures(struct lab_trial *trial)
{
	int64_t duplicate, loss, jitter_ms, delay_ms;
	bool sends = lab_random(trial) % 3, receives = !sends || lab_random(trial) % 2;
	char link[128];

	/* one after the other: arguments of one call are evaluated in any order */
	duplicate = lab_between(trial, 0, 10);
	loss = lab_between(trial, 0, 20);
	jitter_ms = lab_between(trial, 0, 5);
	delay_ms = lab_between(trial, 5, 30);
	snprintf(link, sizeof(link), "delay %lldms %lldms loss %lld%% duplicate %lld%% corrupt 1%%",
		 (long long)delay_ms, (long long)jitter_ms, (long long)loss, (long long)duplicate);
	facts_pair(trial, sends ? LAB_STUDENT : LAB_REFERENCE,
		   receives ? LAB_STUDENT : LAB_REFERENCE, NULL, link);
	for (unsigned i = 0; i < 60; i++)
		lab_send(trial, 0, 0, i * 2 * NOPAL_MILLISECOND,
			 (uint32_t)lab_between(trial, 8, 1400), NULL);
	lab_run(trial, 100 * NOPAL_SECOND);
	window_all(trial);
}

/* The same losses for both: selective repeat sends again what was lost, and go-back-N more. */
static void window_sends_less_again(struct lab_trial *trial)
{
	char link[160];
	int used = snprintf(link, sizeof(link), "delay 20ms fwd: loss mask 0");
	size_t lost, selective, back;

	for (int i = 0; i < 60; i++)
		link[used++] = (char)('0' + (lab_random(trial) % 5 == 0));
	link[used] = '\0';
	facts_pair(trial, LAB_STUDENT, LAB_STUDENT, NULL, link);
	facts_stream(trial, 0, 200, NOPAL_MILLISECOND, WINDOW_MESSAGE);
	lab_host(trial, LAB_STUDENT, "go_back_n.conf");
	lab_host(trial, LAB_STUDENT, "go_back_n.conf");
	lab_link(trial, 2, 3, link);
	lab_open(trial, 2, 3, 0);
	facts_stream(trial, 2, 200, NOPAL_MILLISECOND, WINDOW_MESSAGE);
	lab_run(trial, 60 * NOPAL_SECOND);
	window_all(trial);
	lost = facts_lost(trial, 0);
	selective = facts_resent(trial, 0);
	back = facts_resent(trial, 2);
	if (selective != lost)
		lab_fail(trial, trial->now_ns,
			 "selective repeat sends %zu segments again, and %zu were lost", selective,
			 lost);
	else if (lost && back <= selective)
		lab_fail(trial, trial->now_ns,
			 "go-back-N sends %zu segments again, selective repeat %zu", back,
			 selective);
}

static const char *const window_files[] = { "sliding_window.c", "lab.conf", "go_back_n.conf",
					    "cases.txt", NULL };

static const struct lab_item window_items[] = {
	{ .name = "a window of segments leaves, slides and is sent again",
	  .points = 20,
	  .seeds = 1,
	  .file = "cases.txt",
	  .section = "Read",
	  .hint = "rules 1 to 3 say when a segment leaves, and when it leaves again" },
	{ .name = "go-back-N: a timeout goes back",
	  .points = 10,
	  .seeds = 1,
	  .run = window_goes_back,
	  .section = "Read",
	  .hint = "rule 3: with the segment that timed out leaves all that left after it" },
	{ .name = "go-back-N: only the next segment is taken, and each ack says so",
	  .points = 10,
	  .seeds = 5,
	  .run = window_receives_next,
	  .section = "Read",
	  .hint = "rules 2 and 4: a segment that is not taken has not arrived" },
	{ .name = "selective repeat: what is early is kept, and acks name the holes",
	  .points = 10,
	  .hidden = true,
	  .seeds = 10,
	  .run = window_receives_early,
	  .section = "Read",
	  .hint = "rule 2: bit 0 of the holes is `next`, and none is at or above `end`" },
	{ .name = "selective repeat: what was lost is sent again, and nothing else",
	  .points = 10,
	  .hidden = true,
	  .seeds = 10,
	  .run = window_sends_less_again,
	  .section = "Read",
	  .hint = "rules 3 and 5: once for its hole, then by its own timeout" },
	{ .name = "the window uses min(1, W/B) of the path",
	  .points = 10,
	  .hidden = true,
	  .seeds = 10,
	  .run = window_uses_path,
	  .section = "Read",
	  .hint = "rule 1: W segments, no more and no fewer, and the next with each ack" },
	{ .name = "all arrives in order through loss, duplicates and reordering",
	  .points = 15,
	  .hidden = true,
	  .seeds = 100,
	  .run = window_endures,
	  .section = "Read",
	  .hint = "an ack may be old, and a segment may come twice: both are answered, or passed over" },
	{ .name = "your cases find: a timer that is not started again",
	  .points = 3,
	  .hidden = true,
	  .seeds = 1,
	  .mutant = "mutant_1_timer_dies",
	  .section = "Do",
	  .hint = "lose a segment, and then what was sent in its place" },
	{ .name = "your cases find: an ack that passes over a hole",
	  .points = 3,
	  .hidden = true,
	  .seeds = 1,
	  .mutant = "mutant_2_acks_over_holes",
	  .section = "Do",
	  .hint = "lose one segment of several" },
	{ .name = "your cases find: a window that nobody keeps",
	  .points = 3,
	  .hidden = true,
	  .seeds = 1,
	  .mutant = "mutant_3_no_window",
	  .section = "Do",
	  .hint = "count the datagrams that leave before the first ack can be there" },
	{ .name = "your cases find: a hole that waits for the timer",
	  .points = 3,
	  .hidden = true,
	  .seeds = 1,
	  .mutant = "mutant_4_never_fast",
	  .section = "Do",
	  .hint = "say when a lost segment leaves again" },
	{ .name = "your cases find: a timeout that sends too much again",
	  .points = 3,
	  .hidden = true,
	  .seeds = 1,
	  .mutant = "mutant_5_all_again",
	  .section = "Do",
	  .hint = "count the datagrams of a transfer in which a segment times out" },
	{ 0 },
};

static const struct lab_question window_questions[] = {
	{ .ask = LAB_ASK_AGAIN },
	{ .ask = LAB_ASK_CARRIED },
	{ .ask = LAB_ASK_LOST },
	{ .ask = LAB_ASK_TOOK },
	{ .ask = LAB_ASK_SLOWEST },
	{ .ask = LAB_ASK_HOLDER },
	{ 0 },
};

const struct lab lab_07_sliding_window = {
	.number = 7,
	.name = "sliding-window",
	.title = "a sliding window: go-back-N, then selective repeat",
	.part = "sliding_window",
	.files = window_files,
	.items = window_items,
	.questions = window_questions,
	.question_case = "case \"your own trial\"\n"
			 "	link      delay 20ms fwd: loss 20%\n"
			 "	sender    reference\n"
			 "	receiver  reference\n"
			 "	messages  16 every 5ms size 100..900\n"
			 "	within    10s\n"
			 "	expect    all once ordered intact\n",
};
