/* SPDX-License-Identifier: MIT */
/*
 * lab_11_one_to_many.c -- the rubric of lab 11: every P of five, with every subset of dead members.
 *
 * Member i of a group is i times 10 ms away, so that its ack is back after i times 20 ms: between two
 * of these times it is known who has a message.  Each group sends five messages, which P = 1 to 5
 * members must have.
 */
#include <stdio.h>

#include "labs/facts.h"
#include "labs/labs.h"
#include "labs/wire.h"

enum {
	MEMBERS = 5,
	GROUP_HOSTS = 1 + MEMBERS, /* the sender is the first */
	GROUPS_MAX = 10,	   /* of a trial */
	APART_MS = 10,		   /* member i is so many times i away */
	SENT_MS = 1000,
	NOTICED_S = 20, /* by then the dead are missed */
};

/* Who dies, and when: bit i - 1 is member i. */
struct many {
	unsigned groups;
	unsigned dead[GROUPS_MAX];
	int64_t dies_ns;
};

static unsigned many_bits(unsigned set)
{
	unsigned count = 0;

	for (; set; set &= set - 1)
		count++;
	return count;
}

/* Adds the subsets of the five with as many members. */
static void many_add(struct many *many, unsigned dead)
{
	for (unsigned set = 0; set < 1u << MEMBERS; set++)
		if (many_bits(set) == dead && many->groups < GROUPS_MAX)
			many->dead[many->groups++] = set;
}

/* Does member i get messages, and does its ack get away? */
static bool many_has(const struct many *many, unsigned group, unsigned member)
{
	int64_t there_ns = ((int64_t)SENT_MS + member * APART_MS) * NOPAL_MILLISECOND;

	return !(many->dead[group] >> (member - 1) & 1) || there_ns < many->dies_ns;
}

static void many_group(struct lab_trial *trial, const struct many *many, unsigned group)
{
	int sender = lab_host(trial, LAB_STUDENT, NULL);

	for (unsigned member = 1; member <= MEMBERS; member++) {
		int host = lab_host(trial, LAB_REFERENCE, NULL);
		char link[32];

		snprintf(link, sizeof(link), "delay %ums", member * APART_MS);
		lab_link(trial, sender, host, link);
		if (member == 1)
			lab_open(trial, sender, host, 0);
		else
			lab_destination(trial, sender, 0, host, 0);
		if (many->dead[group] >> (member - 1) & 1)
			lab_kill(trial, host, many->dies_ns);
	}
	for (unsigned p = 1; p <= MEMBERS; p++) {
		char required[32];

		snprintf(required, sizeof(required), "required=%u", p);
		lab_send(trial, sender, 0, SENT_MS * NOPAL_MILLISECOND, 100, required);
	}
}

/* After the acks of members 1 to `acks` were there. */
static void many_judge(struct lab_trial *trial, const struct many *many, unsigned group,
		       unsigned acks)
{
	unsigned have = 0;

	for (unsigned member = 1; member <= acks; member++)
		have += many_has(many, group, member);
	for (unsigned p = 1; p <= MEMBERS && !trial->failed; p++) {
		const struct lab_message *message = &trial->messages[group * MEMBERS + p - 1];
		bool open = false;

		for (unsigned member = acks + 1; member <= MEMBERS; member++)
			open |= many_has(many, group, member);
		if (have >= p &&
		    (!message->has_outcome || message->outcome != NOPAL_OUTCOME_DELIVERED))
			lab_fail(trial, trial->now_ns,
				 "%u members of five have a message that %u must have, and at "
				 "%.3f s it is not said to be delivered",
				 have, p, wire_seconds(trial->now_ns));
		else if (have < p && open && message->has_outcome)
			lab_fail(trial, trial->now_ns,
				 "%u members of five have a message that %u must have, others will "
				 "yet, and at %.3f s it has an outcome",
				 have, p, wire_seconds(trial->now_ns));
	}
}

/* Long after the dead are missed. */
static void many_judge_end(struct lab_trial *trial, const struct many *many, unsigned group)
{
	unsigned have = 0;
	const struct lab_message *message = &trial->messages[group * MEMBERS];

	for (unsigned member = 1; member <= MEMBERS; member++)
		have += many_has(many, group, member);
	for (unsigned p = 1; p <= MEMBERS && !trial->failed; p++, message++) {
		enum nopal_outcome right = have ? NOPAL_OUTCOME_DELIVERED : NOPAL_OUTCOME_LOST;

		if (!message->has_outcome)
			lab_fail(
				trial, trial->now_ns,
				"a message that %u must have has no outcome, %u have it, and the others "
				"are dead",
				p, have);
		else if (message->outcome != right)
			lab_fail(
				trial, trial->now_ns,
				"a message that %u must have is %s; %u have it, and the others are dead",
				p, have ? "not said to be delivered" : "not said to be lost", have);
		else if (message->deliveries < have)
			lab_fail(trial, trial->now_ns,
				 "a message that %u must have came to %u, and %u live", p,
				 message->deliveries, have);
	}
}

static void many_run(struct lab_trial *trial, const struct many *many)
{
	for (unsigned group = 0; group < many->groups; group++)
		many_group(trial, many, group);
	for (unsigned acks = 0; acks <= MEMBERS; acks++) {
		lab_run(trial,
			((int64_t)SENT_MS + acks * 2 * APART_MS + APART_MS) * NOPAL_MILLISECOND);
		for (unsigned group = 0; group < many->groups; group++)
			many_judge(trial, many, group, acks);
	}
	lab_run(trial, NOTICED_S * NOPAL_SECOND);
	for (unsigned group = 0; group < many->groups; group++)
		many_judge_end(trial, many, group);
	lab_check(trial, LAB_ONCE | LAB_INTACT);
}

static void many_dead(struct lab_trial *trial, unsigned from, unsigned until, int64_t dies_ms)
{
	struct many many = { .dies_ns = dies_ms * NOPAL_MILLISECOND };

	for (unsigned dead = from; dead <= until; dead++)
		many_add(&many, dead);
	many_run(trial, &many);
}

static void many_none(struct lab_trial *trial)
{
	many_dead(trial, 0, 0, 0);
}

static void many_one(struct lab_trial *trial)
{
	many_dead(trial, 1, 1, SENT_MS - 200);
}

static void many_two(struct lab_trial *trial)
{
	many_dead(trial, 2, 2, SENT_MS - 200);
}

static void many_three(struct lab_trial *trial)
{
	many_dead(trial, 3, 3, SENT_MS - 200);
}

static void many_four_and_five(struct lab_trial *trial)
{
	many_dead(trial, 4, 5, SENT_MS - 200);
}

/* Members 1 to 3 have the messages by then, and their acks are away. */
static void many_meanwhile(struct lab_trial *trial)
{
	many_dead(trial, 2, 2, SENT_MS + 35);
}

static const char *const many_files[] = { "quorum.c", "lab.conf", "cases.txt", NULL };

static const struct lab_item many_items[] = {
	{ .name = "the cases of cases.txt hold",
	  .points = 10,
	  .seeds = 1,
	  .file = "cases.txt",
	  .section = "The rules",
	  .hint = "a group of one has P = 1, as no more than one can have it" },
	{ .name = "all five live: a message is done with its P-th ack",
	  .points = 20,
	  .seeds = 1,
	  .run = many_none,
	  .section = "The rules",
	  .hint = "P is the message's own, and one ack is enough for P = 1" },
	{ .name = "every P, every one of five dead",
	  .points = 15,
	  .hidden = true,
	  .seeds = 1,
	  .run = many_one,
	  .section = "The rules",
	  .hint = "rule 3: who has ended is not waited for, and does not have it" },
	{ .name = "every P, every two of five dead",
	  .points = 15,
	  .hidden = true,
	  .seeds = 1,
	  .run = many_two,
	  .section = "The rules",
	  .hint = "rule 3: who has ended is not waited for, and does not have it" },
	{ .name = "every P, every three of five dead",
	  .points = 15,
	  .hidden = true,
	  .seeds = 1,
	  .run = many_three,
	  .section = "The rules",
	  .hint = "rule 3: who has ended is not waited for, and does not have it" },
	{ .name = "every P, four or all five dead",
	  .points = 10,
	  .hidden = true,
	  .seeds = 1,
	  .run = many_four_and_five,
	  .section = "The rules",
	  .hint = "rule 4: lost is what nobody has" },
	{ .name = "two die in the middle: who had it, has it",
	  .points = 15,
	  .hidden = true,
	  .seeds = 1,
	  .run = many_meanwhile,
	  .section = "The rules",
	  .hint = "an ack counts, whatever became of its sender" },
	{ 0 },
};

const struct lab lab_11_one_to_many = {
	.number = 11,
	.name = "one-to-many",
	.title = "one to many: P of K, with members that die",
	.part = "quorum",
	.files = many_files,
	.items = many_items,
};
