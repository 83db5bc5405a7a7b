/* SPDX-License-Identifier: MIT */
/*
 * Three hosts with two streams each, exhaustively: every number that must have a message, with every
 * host in every state, and with every loss among the first datagrams to each host.  The outcome of
 * each message is told once and is true; a host that lives has all messages, once, or twice at most
 * where a stream broke; the group ends well where all have arrived.
 */
#include <stdio.h>

#include "support/many.h"

enum {
	HOSTS = 3,
	STREAMS = 2,
	MESSAGE_BYTES = 2500, /* two segments */
	LOSSES = 16,	      /* patterns of four datagrams to a host */
};

/* In the middle of a message. */
enum state {
	LIVES,
	ONE_LEAVES, /* the first stream, in good order */
	ONE_LEAVES_AT_ONCE,
	ONE_BREAKS, /* the second, by its receiver */
	LEAVES,	    /* both streams */
	RETURNS,    /* the same, and then there is a new stream */
	DIES,
	STATES,
};

static struct many many;
static enum state fate[HOSTS];
static uint32_t acks, losses[HOSTS], runs, violations;
static uint32_t added; /* from this one on, who returned gets all */

static void wants(bool kept, const char *rule, uint32_t number)
{
	if (kept || violations++ > 4)
		return;
	print_message("acks %u, states %d %d %d, losses %x %x %x: %s (%u)\n", acks, fate[0],
		      fate[1], fate[2], losses[0], losses[1], losses[2], rule, number);
}

static bool stays(uint32_t host)
{
	return fate[host] < LEAVES;
}

static void begin(struct nopal_plan *plan)
{
	many_prepare_plan(&many, nopal_plan_ref(plan), HOSTS, "delay 10ms", 1);
	for (uint32_t i = 0; i < HOSTS * STREAMS; i++)
		many_add(&many, i / STREAMS);
	runs++;
}

static void say(void)
{
	many_send_bytes(&many, MESSAGE_BYTES, 0);
}

static void strike(uint32_t host)
{
	const struct nopal_address *address = &many.end[host].address;
	uint32_t first = host * STREAMS + 1;

	if (fate[host] == ONE_LEAVES || fate[host] == ONE_LEAVES_AT_ONCE)
		nopal_destination_remove(many.group, first, fate[host] == ONE_LEAVES_AT_ONCE);
	else if (fate[host] == ONE_BREAKS && many.end[host].session)
		nopal_session_abort(many.end[host].session, "enough");
	else if (fate[host] == LEAVES || fate[host] == RETURNS)
		nopal_destination_remove_host(many.group, address, true);
	else if (fate[host] == DIES)
		many_cut(&many, host);
}

static uint32_t count_that_have(uint32_t number)
{
	uint32_t have = 0;

	for (uint32_t i = 0; i < HOSTS; i++)
		have += many.end[i].seen[number] != 0;
	return have;
}

static uint32_t count_that_stay(uint32_t number)
{
	uint32_t stay = 0;

	for (uint32_t i = 0; i < HOSTS; i++)
		stay += stays(i) || (fate[i] == RETURNS && number >= added);
	return stay;
}

static bool nobody_stays(uint32_t number)
{
	bool dead = false;

	for (uint32_t i = 0; i < HOSTS; i++)
		dead |= fate[i] == DIES;
	return !dead && count_that_stay(number) == 0;
}

static void check_message(uint32_t number)
{
	uint32_t have = count_that_have(number), stay = count_that_stay(number);
	bool dead = false;

	for (uint32_t i = 0; i < HOSTS; i++) {
		uint32_t seen = many.end[i].seen[number];

		dead |= fate[i] == DIES;
		wants(seen <= (fate[i] == ONE_LEAVES_AT_ONCE || fate[i] == ONE_BREAKS ? 2 : 1),
		      "more than once at a host", number);
		if (stays(i) || (fate[i] == RETURNS && number >= added))
			wants(seen > 0, "a host that stays lacks it", number);
	}
	wants(many.outcome_count[number] == 1, "one outcome", number);
	if (many.outcome[number] == NOPAL_OUTCOME_DELIVERED)
		wants(have >= (acks ? acks : stay), "too few have it", number);
	if (many.outcome[number] == NOPAL_OUTCOME_LOST)
		wants(have < (acks ? acks : HOSTS), "enough have it", number);
	if (stay && (acks ? stay >= acks : !dead))
		wants(many.outcome[number] == NOPAL_OUTCOME_DELIVERED,
		      "enough stay, and it has not arrived", number);
}

static void end(void)
{
	bool all = true;

	for (uint32_t m = 0; m < many.sent; m++) {
		check_message(m);
		/* Nobody is left to have it: it is waived. */
		all &= many.outcome[m] == NOPAL_OUTCOME_DELIVERED || (!acks && nobody_stays(m));
	}
	if (many.group && nopal_destinations(many.group, NULL, 0)) {
		nopal_session_close(many.group);
		many_run(&many, 5 * NOPAL_SECOND);
		wants(many.ended == 1 && (many.end_code == NOPAL_ENDED_WELL) == all, "the end", 0);
	}
	many_close(&many);
}

static void run_states(struct nopal_plan *plan)
{
	begin(plan);
	say();
	many_run(&many, NOPAL_SECOND);
	say();
	many_run(&many, 5 * NOPAL_MILLISECOND);
	for (uint32_t i = 0; i < HOSTS && many.group; i++)
		strike(i);
	many_run(&many, 5 * NOPAL_MILLISECOND);
	added = UINT32_MAX;
	for (uint32_t i = 0; i < HOSTS && many.group; i++)
		if (fate[i] == RETURNS)
			wants(many_add(&many, i) > 0, "it could not return", i);
	added = many.sent;
	if (many.group)
		say();
	many_run(&many, 200 * NOPAL_SECOND);
	if (many.group && nopal_destinations(many.group, NULL, 0))
		say();
	many_run(&many, NOPAL_SECOND);
	end();
}

static void run_losses(struct nopal_plan *plan)
{
	char link[64];

	begin(plan);
	many_run(&many, NOPAL_SECOND);
	for (uint32_t i = 0; i < HOSTS; i++) {
		snprintf(link, sizeof(link), "fwd: delay 10ms loss mask 0x%x rev: delay 10ms",
			 losses[i]);
		many_link(&many, i, link);
	}
	say();
	say();
	many_run(&many, 20 * NOPAL_SECOND);
	end();
}

static struct nopal_plan *plan_of(uint32_t needed)
{
	char config[1024];

	acks = needed;
	snprintf(config, sizeof(config), MANY_RELIABLE("fan_out { acks = %u } host_streams {}"),
		 needed);
	return many_plan(config);
}

TEST(test_outcomes_keep_the_rule_as_streams_and_hosts_come_and_go)
{
	runs = violations = 0;
	for (uint32_t needed = 0; needed <= HOSTS; needed++) {
		struct nopal_plan *plan = plan_of(needed);

		for (int i = 0; i < STATES * STATES * STATES; i++) {
			fate[0] = (enum state)(i % STATES);
			fate[1] = (enum state)(i / STATES % STATES);
			fate[2] = (enum state)(i / STATES / STATES);
			run_states(plan);
		}
		nopal_plan_unref(plan);
	}
	print_message("%u sessions, %u violations\n", runs, violations);
	assert_int_equal(violations, 0);
}

TEST(test_outcomes_keep_the_rule_with_every_loss)
{
	runs = violations = 0;
	for (uint32_t i = 0; i < HOSTS; i++)
		fate[i] = LIVES;
	for (uint32_t needed = 0; needed <= HOSTS; needed++) {
		struct nopal_plan *plan = plan_of(needed);

		for (losses[0] = 0; losses[0] < LOSSES; losses[0]++)
			for (losses[1] = 0; losses[1] <= losses[0]; losses[1]++)
				for (losses[2] = 0; losses[2] <= losses[1]; losses[2]++)
					run_losses(plan);
		nopal_plan_unref(plan);
	}
	print_message("%u sessions, %u violations\n", runs, violations);
	assert_int_equal(violations, 0);
}
