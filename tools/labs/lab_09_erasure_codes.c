/* SPDX-License-Identifier: MIT */
/*
 * lab_09_erasure_codes.c -- the rubric of lab 9: the bytes of parity, every pattern of losses that has
 * to be repaired, and what remains on a link that loses at random.
 *
 * Without a handshake the datagrams of a block leave in a row, k of data and n - k of parity, so that
 * a mask of losses is a pattern.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/questions.h"
#include "labs/facts.h"
#include "labs/labs.h"

enum {
	CODE_MASK = 64,	    /* datagrams that a mask is about */
	CODE_EVERY_MS = 2,  /* between messages */
	CODE_SETTLED_S = 5, /* behind the last */
	CODE_SIZE_MIN = 8,
	CODE_SIZE_MAX = 1400,
};

/* A config of the hand-out. */
struct code_shape {
	const char *config;
	unsigned n, k;
};
static const struct code_shape code_xor = { NULL, 5, 4 };
static const struct code_shape code_two = { "k_of_n.conf", 6, 4 };
static const struct code_shape code_four = { "four_of_eight.conf", 8, 4 };

/* ----------------------------------------------------------------------- patterns */

/* The next number with as many bits; beyond `n` bits: there is none. */
static uint32_t code_next_pattern(uint32_t pattern)
{
	uint32_t low = pattern & -pattern, high = pattern + low;

	return high | ((pattern ^ high) / low >> 2);
}

/* As many whole blocks as a mask covers, each with the next pattern of n - k losses; returns the
 * pattern behind the last. */
static uint32_t code_mask(const struct code_shape *shape, uint32_t pattern, char *ret_mask,
			  unsigned *ret_blocks)
{
	unsigned blocks = 0, used = 0;

	for (; pattern < UINT32_C(1) << shape->n && (blocks + 1) * shape->n <= CODE_MASK;
	     blocks++) {
		for (unsigned i = 0; i < shape->n; i++)
			ret_mask[used++] = pattern >> i & 1 ? '1' : '0';
		pattern = code_next_pattern(pattern);
	}
	ret_mask[used] = '\0';
	*ret_blocks = blocks;
	return pattern;
}

/* Every pattern: pairs of hosts, as many as it takes, each with a mask of its own. */
static void code_every_pattern(struct lab_trial *trial, const struct code_shape *shape,
			       enum lab_code sender, enum lab_code receiver)
{
	uint32_t pattern = (UINT32_C(1) << (shape->n - shape->k)) - 1;

	for (unsigned pair = 0; pattern < UINT32_C(1) << shape->n; pair++) {
		int from = lab_host(trial, sender, shape->config);
		int to = lab_host(trial, receiver, shape->config);
		char mask[CODE_MASK + 1], link[CODE_MASK + 64];
		unsigned blocks;

		pattern = code_mask(shape, pattern, mask, &blocks);
		snprintf(link, sizeof(link), "delay 5ms fwd: loss mask %s", mask);
		lab_link(trial, from, to, link);
		lab_open(trial, from, to, 0);
		for (unsigned i = 0; i < blocks * shape->k; i++)
			lab_send(trial, from, 0, (int64_t)i * CODE_EVERY_MS * NOPAL_MILLISECOND,
				 (uint32_t)lab_between(trial, CODE_SIZE_MIN, CODE_SIZE_MAX), NULL);
	}
	lab_run(trial, CODE_SETTLED_S * NOPAL_SECOND);
	lab_check(trial, LAB_INTACT | LAB_ONCE | LAB_ALL);
}

static void code_xor_patterns(struct lab_trial *trial)
{
	code_every_pattern(trial, &code_xor, LAB_STUDENT, LAB_STUDENT);
}

static void code_two_patterns(struct lab_trial *trial)
{
	code_every_pattern(trial, &code_two, LAB_STUDENT, LAB_STUDENT);
}

static void code_four_patterns(struct lab_trial *trial)
{
	code_every_pattern(trial, &code_four, LAB_STUDENT, LAB_STUDENT);
}

static void code_encodes(struct lab_trial *trial)
{
	code_every_pattern(trial, &code_four, LAB_STUDENT, LAB_REFERENCE);
}

static void code_decodes(struct lab_trial *trial)
{
	code_every_pattern(trial, &code_four, LAB_REFERENCE, LAB_STUDENT);
}

/* ---------------------------------------------------------------------- what remains */

static double code_choose(unsigned n, unsigned k)
{
	double ways = 1;

	for (unsigned i = 0; i < k; i++)
		ways = ways * (n - i) / (i + 1);
	return ways;
}

/* A message is lost where its segment is, with probability p, and n - k or more of the n - 1 others
 * of its block. */
static double code_residual(const struct code_shape *shape, double p)
{
	double others = 0;

	for (unsigned lost = shape->n - shape->k; lost < shape->n; lost++)
		others += code_choose(shape->n - 1, lost) * pow(p, lost) *
			  pow(1 - p, shape->n - 1 - lost);
	return p * others;
}

/* Messages of a block are lost together: the variance is at most k times that of single ones. */
static void code_remains(struct lab_trial *trial)
{
	enum { MESSAGES = 2000, SIZE = 40, DEVIATIONS = 4 };
	const struct code_shape *shape = lab_random(trial) % 2 ? &code_two : &code_xor;
	int64_t percent = lab_between(trial, 5, 20);
	double residual = code_residual(shape, (double)percent / 100), lost = 0, spread;
	char link[64];

	snprintf(link, sizeof(link), "delay 5ms fwd: loss %lld%%", (long long)percent);
	facts_pair(trial, LAB_STUDENT, LAB_STUDENT, shape->config, link);
	facts_stream(trial, 0, MESSAGES, NOPAL_MILLISECOND, SIZE);
	lab_run(trial, CODE_SETTLED_S * NOPAL_SECOND);
	lab_check(trial, LAB_INTACT | LAB_ONCE);
	for (unsigned i = 0; i < MESSAGES; i++)
		lost += !trial->messages[i].deliveries;
	spread = DEVIATIONS * sqrt(residual * (1 - residual) * shape->k / MESSAGES);
	if (fabs(lost / MESSAGES - residual) > spread)
		lab_fail(
			trial, trial->now_ns,
			"of messages in blocks of %u and %u, over a link that loses %lld %%, %.2f %% "
			"are missing; by the formula %.2f %%, give or take %.2f %%",
			shape->k, shape->n - shape->k, (long long)percent, 100 * lost / MESSAGES,
			100 * residual, 100 * spread);
}

/* --------------------------------------------------------------------------- rubric */

static const char *const code_files[] = { "erasure_code.c",	"lab.conf",  "k_of_n.conf",
					  "four_of_eight.conf", "cases.txt", NULL };

static const struct lab_item code_items[] = {
	{ .name = "the cases of cases.txt hold",
	  .points = 15,
	  .seeds = 1,
	  .file = "cases.txt",
	  .section = "The code",
	  .hint = "one parity segment is the xor of the four symbols, with their lengths" },
	{ .name = "xor: every loss of one is repaired",
	  .points = 15,
	  .seeds = 1,
	  .run = code_xor_patterns,
	  .section = "The code",
	  .hint = "also where the segment that is missing is the first, the last or the longest" },
	{ .name = "4 of 6: every loss of two is repaired",
	  .points = 15,
	  .hidden = true,
	  .seeds = 3,
	  .run = code_two_patterns,
	  .section = "The code",
	  .hint = "symbols come in any order: index says which row of the matrix each one has" },
	{ .name = "4 of 8: every loss of four is repaired",
	  .points = 15,
	  .hidden = true,
	  .seeds = 3,
	  .run = code_four_patterns,
	  .section = "The code",
	  .hint = "a pivot may be zero: another row has one that is not" },
	{ .name = "the reference understands your parity",
	  .points = 15,
	  .hidden = true,
	  .seeds = 3,
	  .run = code_encodes,
	  .section = "The code",
	  .hint = "compare field and coefficients with the table of the hand-out" },
	{ .name = "you understand the parity of the reference",
	  .points = 15,
	  .hidden = true,
	  .seeds = 3,
	  .run = code_decodes,
	  .section = "The code",
	  .hint = "compare field and coefficients with the table of the hand-out" },
	{ .name = "what remains is what the binomial formula says",
	  .points = 10,
	  .hidden = true,
	  .seeds = 5,
	  .run = code_remains,
	  .section = "To do",
	  .hint = "a block with too many losses loses what it has lost, and no more" },
	{ 0 },
};

static const struct lab_question code_questions[] = {
	{ .ask = LAB_ASK_LOST }, { .ask = LAB_ASK_LEFT }, { .ask = LAB_ASK_DELIVERED },
	{ .ask = LAB_ASK_TOOK }, { .ask = LAB_ASK_SENT }, { 0 },
};

const struct lab lab_09_erasure_codes = {
	.number = 9,
	.name = "erasure-codes",
	.title = "erasure codes: xor, then any k of n",
	.part = "erasure_code",
	.files = code_files,
	.items = code_items,
	.questions = code_questions,
	.question_case = "case \"your own trial\"\n"
			 "	link      delay 10ms fwd: loss 12%\n"
			 "	sender    reference\n"
			 "	receiver  reference\n"
			 "	messages  16 every 5ms size 100..900\n"
			 "	within    3s\n"
			 "	expect    once intact\n",
};
