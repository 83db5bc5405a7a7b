/* SPDX-License-Identifier: MIT */
#include "registry/registry.h"
#include "support/witness.h"
#include "support/test.h"

struct witness witness;

enum { WITNESS_UNDECIDED = -1 };
#define WITNESS_NO_MESSAGE UINT32_MAX
enum { WITNESS_MESSAGE, WITNESS_DESTINATION }; /* attributes */

void witness_begin(struct many *many, uint32_t acks)
{
	uint32_t used = witness.many ? witness.used : MANY_MESSAGES;

	for (uint32_t i = 0; i < used; i++)
		witness.message[i] = (struct witness_message){ .verdict = WITNESS_UNDECIDED };
	witness.used = 0;
	witness.many = many;
	witness.acks = acks;
	witness.members = 0;
	witness.violations = 0;
	witness.members_known = witness.may_wait = false;
}

void witness_wants(bool kept, const char *rule, uint32_t message)
{
	if (kept)
		return;
	if (!witness.violations++)
		snprintf(witness.violation, sizeof(witness.violation), "%s: message %u", rule,
			 message);
}

/* ------------------------------------------------------------------- the rule */

static uint32_t witness_count(uint64_t destinations)
{
	return (uint32_t)__builtin_popcountll(destinations);
}

uint32_t witness_needed(const struct witness_message *of)
{
	if (of->named)
		return 1;
	if (witness.acks)
		return witness.acks;
	return of->given - witness_count(of->removed);
}

/* The report that is due now, if any. */
static int witness_judges(const struct witness_message *of)
{
	uint32_t arrived = witness_count(of->arrived);
	uint32_t maybe = arrived + witness_count(of->unknown | of->removed);
	uint32_t open = of->given - maybe - witness_count(of->missing);
	uint32_t needed = witness_needed(of);

	if (!witness.acks && !of->named)
		maybe -= witness_count(of->removed);
	if (needed && arrived >= needed)
		return NOPAL_OUTCOME_DELIVERED;
	if (!open && of->given && !needed)
		return NOPAL_OUTCOME_UNKNOWN; /* all were removed */
	if (!open && needed && maybe >= needed)
		return NOPAL_OUTCOME_UNKNOWN;
	if (!open || maybe + open < needed)
		return NOPAL_OUTCOME_LOST;
	return WITNESS_UNDECIDED;
}

static void witness_decide(struct witness_message *of)
{
	if (of->verdict == WITNESS_UNDECIDED)
		of->verdict = witness_judges(of);
}

void witness_check(uint32_t number)
{
	struct witness_message *of = &witness.message[number];
	const struct many *many = witness.many;

	if (!of->left)
		return;
	witness_decide(of);
	witness_wants(many->outcome_count[number] == (of->verdict != WITNESS_UNDECIDED),
		      of->verdict == WITNESS_UNDECIDED ? "told before it was decided, or twice"
						       : "decided and not told, or told twice",
		      number);
	if (many->outcome_count[number])
		witness_wants(many->outcome[number] == of->verdict, "not the outcome by the rule",
			      number);
}

/* -------------------------------------------------------------- what it sees */

static enum nopal_verdict witness_on_leave(struct nopal_at at, struct nopal_segment *segment)
{
	const struct nopal_message *message = segment->message;
	uint32_t number = message ? (uint32_t)message->cookie : 0;
	struct witness_message *of = &witness.message[number];
	uint32_t settled;

	if (!message)
		return NOPAL_CONTINUE; /* parity: nobody waits for its outcome */
	nopal_set(at, segment, WITNESS_MESSAGE, number + 1);
	of->named = nopal_get(at, segment, WITNESS_DESTINATION) != 0;
	settled = witness_count(of->arrived | of->unknown | of->missing | of->removed);
	witness.copies += segment->copies + settled - of->given;
	of->given = segment->copies + settled;
	of->left = true;
	if (number >= witness.used)
		witness.used = number + 1;
	if (witness.members_known && !of->named)
		witness_wants(segment->copies == witness_count(witness.members),
			      "not for those that are members", number);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict witness_on_left(struct nopal_at at, struct nopal_segment *segment)
{
	if (!nopal_get(at, segment, WITNESS_MESSAGE))
		return NOPAL_CONTINUE;
	witness_decide(&witness.message[nopal_get(at, segment, WITNESS_MESSAGE) - 1]);
	return NOPAL_CONTINUE;
}

static void witness_files(struct witness_message *of, const struct nopal_copy *copy,
			  const struct many_end *end)
{
	uint64_t bit = UINT64_C(1) << copy->destination->id;

	if (copy->outcome == NOPAL_OUTCOME_DELIVERED)
		of->arrived |= bit;
	else if (copy->destination->removed)
		of->removed |= bit;
	else if (copy->outcome == NOPAL_OUTCOME_UNKNOWN && end && end->opened)
		of->unknown |= bit;
	else
		of->missing |= bit;
}

static enum nopal_verdict witness_on_copy(struct nopal_at at, struct nopal_copy *copy)
{
	uint32_t number = (uint32_t)nopal_get(at, copy->segment, WITNESS_MESSAGE) - 1;
	struct witness_message *of = &witness.message[number == WITNESS_NO_MESSAGE ? 0 : number];
	const struct many_end *end = many_of(witness.many, copy->destination->id);
	uint64_t told = of->arrived | of->unknown | of->missing | of->removed;

	if (number == WITNESS_NO_MESSAGE)
		return NOPAL_CONTINUE;
	witness_wants(!(told >> copy->destination->id & 1), "a copy's second outcome", number);
	if (copy->outcome == NOPAL_OUTCOME_DELIVERED && !witness.may_wait)
		witness_wants(end && end->seen[number] == 1, "it is said to have what it has not",
			      number);
	witness_files(of, copy, end);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict witness_on_counted(struct nopal_at at, struct nopal_copy *copy)
{
	uint32_t number = (uint32_t)nopal_get(at, copy->segment, WITNESS_MESSAGE) - 1;

	if (number != WITNESS_NO_MESSAGE)
		witness_check(number);
	return NOPAL_CONTINUE;
}

static const struct nopal_binding witness_bindings[] = {
	NOPAL_ON(COPIES_LEAVE, witness_on_leave, .before = "fan_out"),
	NOPAL_ON(COPIES_LEAVE, witness_on_left, .after = "fan_out"),
	NOPAL_ON(COPY_DONE, witness_on_copy, .before = "fan_out"),
	NOPAL_ON(COPY_DONE, witness_on_counted, .after = "fan_out"),
	{ 0 },
};

static const struct nopal_microprotocol a_witness = {
	.abi = NOPAL_ABI,
	.name = "a_witness",
	.family = "check",
	.many = true,
	.summary = "sees the outcome of every copy for a test",
	.bindings = witness_bindings,
	.attributes =
		(const struct nopal_attribute[]){
			[WITNESS_MESSAGE] = { .name = "witness_message",
					      .access = NOPAL_WRITE,
					      .doc = "its cookie, and 1" },
			[WITNESS_DESTINATION] = { .name = "destination", .access = NOPAL_PROPERTY },
			{ 0 } },
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
};

void witness_enter(void)
{
	struct nopal_problems problems = { 0 };

	assert_true(nopal__registry_add(&a_witness, "test", &problems));
	nopal_problems_fini(&problems);
}
