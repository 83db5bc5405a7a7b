/* SPDX-License-Identifier: MIT */
/*
 * lab_04_corruption.c -- lab 4: two sums behind every datagram.
 *
 * The grader computes the trailer of each datagram that the student's side sends, and sees what
 * follows a datagram that arrived damaged: nothing.
 */
#include "lab/questions.h"
#include "labs/facts.h"
#include "labs/labs.h"
#include "labs/wire.h"

enum {
	SUM32_BYTES = 4,
	SUM32_PRIME = 65521,
	SUM32_EVERY_MS = 40,
	SUM32_ACK = WIRE_OWN,
};

/* Is it sealed?  The runtime's own replies are not. */
static bool sum32_is_sealed(const struct lab_datagram *datagram)
{
	unsigned kind = wire_kind(datagram);

	return kind <= WIRE_DATA_OPENING || (kind >= WIRE_OWN && kind < WIRE_RUNTIME);
}

static uint32_t sum32_of(const uint8_t *bytes, uint32_t length)
{
	uint32_t first = length % SUM32_PRIME, second = 0;

	for (uint32_t i = 0; i < length; i++) {
		first = (first + bytes[i]) % SUM32_PRIME;
		second = (second + first) % SUM32_PRIME;
	}
	return second << 16 | first;
}

static void sum32_trial(struct lab_trial *trial, enum lab_code sender, enum lab_code receiver,
			const char *words)
{
	const unsigned messages = 40;

	facts_pair(trial, sender, receiver, NULL, words);
	for (unsigned i = 0; i < messages; i++)
		lab_send(trial, 0, 0, i * SUM32_EVERY_MS * NOPAL_MILLISECOND,
			 (uint32_t)lab_between(trial, 8, 1400), NULL);
	lab_run(trial, 300 * NOPAL_SECOND);
}

static void sum32_trailers(struct lab_trial *trial)
{
	sum32_trial(trial, LAB_STUDENT, LAB_STUDENT, "delay 10ms");
	for (size_t i = 0; i < trial->datagram_count && !trial->failed; i++) {
		const struct lab_datagram *datagram = &trial->datagrams[i];
		uint32_t length = datagram->length - SUM32_BYTES, right;

		if (!sum32_is_sealed(datagram) || datagram->length < SUM32_BYTES)
			continue;
		right = sum32_of(datagram->bytes, length);
		if (wire_number(datagram->bytes + length, SUM32_BYTES) != right)
			lab_fail(trial, datagram->time_ns,
				 "a datagram of %u bytes and a trailer leaves; the trailer is "
				 "%08llx, and the sums are %08x",
				 length,
				 (unsigned long long)wire_number(datagram->bytes + length,
								 SUM32_BYTES),
				 right);
	}
	lab_check(trial, LAB_ALL | LAB_ONCE | LAB_ORDERED | LAB_INTACT);
}

/* The first transmission of a message, or an ack, that leaves a host at this time; NULL. */
static const struct lab_datagram *sum32_follows(const struct lab_trial *trial, int host,
						int64_t time_ns, bool data)
{
	for (size_t i = 0; i < trial->datagram_count; i++) {
		const struct lab_datagram *datagram = &trial->datagrams[i];

		if (datagram->from == host && datagram->time_ns == time_ns &&
		    (data ? datagram->message && !datagram->again
			  : wire_kind(datagram) == SUM32_ACK))
			return datagram;
	}
	return NULL;
}

/* Damage on the way to `host` has no consequence: no ack of data, no next message of an ack. */
static void sum32_no_consequence(struct lab_trial *trial, int host)
{
	for (size_t i = 0; i < trial->datagram_count && !trial->failed; i++) {
		const struct lab_datagram *datagram = &trial->datagrams[i];
		const struct lab_datagram *answer;

		if (datagram->to != host || !datagram->corrupt || !sum32_is_sealed(datagram))
			continue;
		answer = sum32_follows(trial, host, datagram->arrived_ns, host == 0);
		if (answer)
			lab_fail(trial, datagram->arrived_ns,
				 "a damaged datagram of %u bytes arrives at %.6f s, and is taken "
				 "for good: %s leaves",
				 datagram->length, wire_seconds(datagram->arrived_ns),
				 host == 0 ? "the next message" : "an ack");
	}
	lab_check(trial, LAB_ALL | LAB_ONCE | LAB_ORDERED | LAB_INTACT);
}

static void sum32_data(struct lab_trial *trial)
{
	sum32_trial(trial, LAB_STUDENT, LAB_STUDENT, "delay 20003us fwd: corrupt 40%");
	sum32_no_consequence(trial, 1);
}

static void sum32_acks(struct lab_trial *trial)
{
	sum32_trial(trial, LAB_STUDENT, LAB_STUDENT, "delay 20003us rev: corrupt 40%");
	sum32_no_consequence(trial, 0);
}

static const char sum32_earlier[] =
	"case \"lab 3: a lost message is sent again after 200 ms\"\n"
	"	link      delay 20ms fwd: loss mask 1\n"
	"	sender    student\n"
	"	receiver  student\n"
	"	messages  1 every 0ms size 100\n"
	"	within    5s\n"
	"	expect    all once ordered intact\n"
	"	expect    resend at 200ms 2us\n"
	"case \"lab 3: messages arrive in order over a link that loses a fifth of them\"\n"
	"	link      delay 20ms 5ms loss 20%\n"
	"	sender    student\n"
	"	receiver  student\n"
	"	messages  20 every 50ms size 10..1000\n"
	"	within    120s\n"
	"	expect    all once ordered intact\n";

static const char *const sum32_files[] = { "sum32.c", "lab.conf", "cases.txt", NULL };

static const struct lab_item sum32_items[] = {
	{ .name = "the cases of cases.txt hold",
	  .points = 20,
	  .seeds = 3,
	  .section = "Rules",
	  .hint = "let one side be the reference: then you know which of your functions is wrong",
	  .file = "cases.txt" },
	{ .name = "every datagram ends with its two sums",
	  .points = 25,
	  .hidden = true,
	  .seeds = 10,
	  .section = "Rules",
	  .hint = "compute the sums of the bytes 01 02 03 by hand",
	  .run = sum32_trailers },
	{ .name = "damaged data are dropped",
	  .points = 20,
	  .hidden = true,
	  .seeds = 30,
	  .section = "A seal is no handler",
	  .hint = "the sums are about header and body, and `open` has the last word",
	  .run = sum32_data },
	{ .name = "damaged acks are dropped",
	  .points = 15,
	  .hidden = true,
	  .seeds = 30,
	  .section = "A seal is no handler",
	  .hint = "an ack has a header and a body, as data have",
	  .run = sum32_acks },
	{ .name = "the cases of lab 3 that apply here hold",
	  .points = 10,
	  .hidden = true,
	  .seeds = 10,
	  .section = "A seal is no handler",
	  .hint = "a good datagram is never dropped",
	  .cases = sum32_earlier },
#define SUM32_MUTANT(name_, what)                                                                       \
	{                                                                                               \
		.name = "the own cases tell a part " what " from a right one", .points = 2,             \
		.hidden = true, .seeds = 1, .section = "To do",                                         \
		.hint = "the reference drops what a wrong part seals, and a wrong part lets pass what " \
			"the link damaged",                                                             \
		.mutant = name_                                                                         \
	}
	SUM32_MUTANT("wrong_1_header", "that sums the header alone"),
	SUM32_MUTANT("wrong_2_one", "that begins with 1"),
	SUM32_MUTANT("wrong_3_last", "that leaves the last byte out"),
	SUM32_MUTANT("wrong_4_modulo", "that computes modulo 65536"),
	SUM32_MUTANT("wrong_5_trust", "that compares nothing"),
#undef SUM32_MUTANT
	{ 0 },
};

static const struct lab_question sum32_questions[] = {
	{ .ask = LAB_ASK_DAMAGED }, { .ask = LAB_ASK_AGAIN },	{ .ask = LAB_ASK_CARRIED },
	{ .ask = LAB_ASK_TOOK },    { .ask = LAB_ASK_SLOWEST }, { 0 },
};

const struct lab lab_04_corruption = {
	.number = 4,
	.name = "corruption",
	.title = "corruption: a checksum",
	.part = "sum32",
	.files = sum32_files,
	.items = sum32_items,
	.questions = sum32_questions,
	.question_case = "case \"your own trial\"\n"
			 "	link      delay 20ms 2ms fwd: corrupt 25%\n"
			 "	sender    reference\n"
			 "	receiver  reference\n"
			 "	messages  10 every 50ms size 100..900\n"
			 "	within    20s\n"
			 "	expect    all once ordered intact\n",
};
