/* SPDX-License-Identifier: MIT */
/*
 * One to many, exhaustively for up to five destinations: every number that must have a message,
 * with every destination in every state.  The outcome of each message is told once, with the copy
 * that decides it, and is true; who lives has all messages, whole, in order, once; the group ends
 * well where all have arrived.  The same where what is for all leaves through a channel, for up to
 * three.  Prints sessions, messages and violations.
 */
#include "plan/plan.h"
#include "support/witness.h"
#include "support/test.h"

enum {
	K_MAX = 5,
	K_MAX_OF_CHANNEL = 3,
	MESSAGE_BYTES = 2500,
	MULTICAST_BYTES = 900 /* a segment, of which the witness sees the outcome */
};

/* Outcomes of a destination. */
enum state {
	LIVES,
	LIVES_ACKS_LOST, /* those of the first transmissions are */
	DEAD,		 /* from the start */
	DIES,		 /* in the middle, without the message */
	DIES_HAVING_IT,	 /* and nobody hears of it: in groups of four at most */
	STATES,
};

static struct many many;

static struct tally {
	uint64_t sessions, messages, outcomes[3];
	unsigned violations;
} tally;

static struct run {
	struct nopal_plan *plan;
	uint32_t k, acks;
	enum state state[K_MAX];
	bool channel; /* what is for all leaves through one */
} run;

static bool lives(uint32_t i)
{
	return run.state[i] == LIVES || run.state[i] == LIVES_ACKS_LOST;
}

static void send_one(void)
{
	if (!many.group)
		return;
	assert_int_equal(many_send_bytes(&many, run.channel ? MULTICAST_BYTES : MESSAGE_BYTES, 0),
			 0);
	witness_check(many.sent - 1);
}

/* ------------------------------------------------------------------- one run */

static void begin(void)
{
	many_prepare_plan(&many, nopal_plan_ref(run.plan), run.k, "delay 10ms", 1);
	witness_begin(&many, run.acks);
	for (uint32_t i = 0; i < run.k; i++) {
		if (run.state[i] == DEAD)
			many_cut(&many, i);
		many_add(&many, i);
	}
}

static void strike(void)
{
	for (uint32_t i = 0; i < run.k; i++)
		if (run.state[i] == DIES)
			many_cut(&many, i);
		else if (run.state[i] == DIES_HAVING_IT || run.state[i] == LIVES_ACKS_LOST)
			many_link(&many, i, "fwd: delay 10ms rev: loss 100%");
}

static void heal(void)
{
	for (uint32_t i = 0; i < run.k; i++)
		if (run.state[i] == LIVES_ACKS_LOST)
			many_link(&many, i, "delay 10ms");
}

/* Before anybody is open; when all are; as they are struck, twice; and when all that are dead are
 * known to be. */
static void talk(void)
{
	send_one();
	many_run(&many, NOPAL_SECOND);
	send_one();
	many_run(&many, NOPAL_SECOND);
	strike();
	send_one();
	many_run(&many, 5 * NOPAL_MILLISECOND);
	send_one();
	many_run(&many, 60 * NOPAL_MILLISECOND);
	heal();
	many_run(&many, 200 * NOPAL_SECOND);
	send_one();
	many_run(&many, NOPAL_SECOND);
}

/* -------------------------------------------------------------------- the law */

static uint32_t living(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < run.k; i++)
		count += lives(i);
	return count;
}

static void check_message(uint32_t number)
{
	const struct witness_message *of = &witness.message[number];
	uint32_t have = 0, needed = witness_needed(of);

	for (uint32_t i = 0; i < run.k; i++)
		have += many.end[i].seen[number];
	witness_wants(many.outcome_count[number] == 1, "one outcome", number);
	witness_wants(of->left || !many.opened, "it never left", number);
	if (many.outcome[number] == NOPAL_OUTCOME_DELIVERED)
		witness_wants(have >= needed, "too few have it", number);
	if (many.outcome[number] == NOPAL_OUTCOME_LOST)
		witness_wants(have < needed, "enough have it", number);
	witness_wants(living() < needed || needed == 0 ||
			      many.outcome[number] == NOPAL_OUTCOME_DELIVERED,
		      "enough live, and it has not arrived", number);
	tally.outcomes[many.outcome[number]]++;
}

static void check_end(uint32_t i)
{
	const struct many_end *end = &many.end[i];

	witness_wants(end->wrong == 0, "other bytes at a destination", i);
	witness_wants(end->late == 0, "out of order at a destination", i);
	for (uint32_t m = 0; m < many.sent; m++)
		witness_wants(end->seen[m] <= 1, "twice at a destination", m);
	if (lives(i))
		witness_wants(end->delivered == many.sent, "not all at one that lives", i);
	else
		witness_wants(end->ended == 1, "it died unnoticed", i);
	if (run.state[i] == DIES_HAVING_IT)
		witness_wants(end->seen[2] == 1, "it had it", i);
}

static bool all_arrived(void)
{
	for (uint32_t m = 0; m < many.sent; m++)
		if (many.outcome[m] != NOPAL_OUTCOME_DELIVERED)
			return false;
	return true;
}

static void close_group(void)
{
	bool good = living() > 0 && all_arrived();

	witness_wants((many.group != NULL) == (living() > 0),
		      "the group lives as long as one of them", 0);
	if (many.group)
		nopal_session_close(many.group);
	many_run(&many, 5 * NOPAL_SECOND);
	witness_wants(many.ended == 1, "one end", 0);
	witness_wants((many.end_code == NOPAL_ENDED_WELL) == good, "a good end", 0);
	witness_wants((many.end_code == NOPAL_UNDELIVERED) == (living() > 0 && !good),
		      "an end that tells what is missing", 0);
}

static void tell(void)
{
	printf("K %u, acks %u%s, states", run.k, run.acks, run.channel ? ", by a channel" : "");
	for (uint32_t i = 0; i < run.k; i++)
		printf(" %d", (int)run.state[i]);
	printf(": %s\n", witness.violation);
}

static void run_one(void)
{
	begin();
	talk();
	for (uint32_t m = 0; m < many.sent; m++)
		check_message(m);
	for (uint32_t i = 0; i < run.k; i++)
		check_end(i);
	close_group();
	many_close(&many);
	tally.sessions++;
	tally.messages += many.sent;
	if (witness.violations) {
		tally.violations += witness.violations;
		tell();
	}
}

/* The next of all states of all; false: that was the last. */
static bool next_states(void)
{
	const enum state states = run.k < K_MAX ? STATES : DIES_HAVING_IT;

	for (uint32_t i = 0; i < run.k; i++) {
		if (++run.state[i] < states)
			return true;
		run.state[i] = LIVES;
	}
	return false;
}

static void run_all(uint32_t k, uint32_t acks, bool channel)
{
	char group[64], config[1024];

	snprintf(group, sizeof(group), "fan_out { acks = %u } a_witness {}", acks);
	snprintf(config, sizeof(config),
		 channel ? MANY_CHANNEL("", "patience = 10min", "%s") : MANY_RELIABLE("%s"), group);
	run = (struct run){ many_plan(config), k, acks, { LIVES }, channel };
	do
		run_one();
	while (next_states() && tally.violations < 20);
	nopal_plan_unref(run.plan);
}

static void run_up_to(uint32_t max, bool channel)
{
	memset(&tally, 0, sizeof(tally));
	witness.copies = 0;
	for (uint32_t k = 1; k <= max; k++)
		for (uint32_t acks = 0; acks <= k; acks++)
			run_all(k, acks, channel);
	printf("%llu sessions, %llu messages, %llu copies: %llu arrived, "
	       "%llu missing, %llu unknown; %u violations\n",
	       (unsigned long long)tally.sessions, (unsigned long long)tally.messages,
	       (unsigned long long)witness.copies,
	       (unsigned long long)tally.outcomes[NOPAL_OUTCOME_DELIVERED],
	       (unsigned long long)tally.outcomes[NOPAL_OUTCOME_LOST],
	       (unsigned long long)tally.outcomes[NOPAL_OUTCOME_UNKNOWN], tally.violations);
	assert_int_equal(tally.violations, 0);
}

TEST(test_outcomes_keep_the_rule)
{
	run_up_to(K_MAX, false);
}

TEST(test_outcomes_keep_the_rule_by_a_channel)
{
	run_up_to(K_MAX_OF_CHANNEL, true);
}

int main(void)
{
	witness_enter();
	return tests_run();
}
