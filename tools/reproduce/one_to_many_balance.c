/* SPDX-License-Identifier: MIT */
/*
 * one_to_many_balance.c -- the load balancing of the one-to-many protocol, section 3.3: messages to
 * three receivers, whose links differ in rate, delay and loss.
 *
 *                 10 Mbit/s, 10 ms, no loss      near
 *     sender -----  5 Mbit/s, 20 ms, 1 % loss    middle
 *                  2 Mbit/s, 40 ms, 3 % loss     far
 *
 * In the table `all at once` some messages are always under way, and it counts how long all of them
 * take; the best possible is what the three links carry together.  In the table `a stream` messages
 * come at half of that rate, and their response times count, from the call to the acknowledgement.
 * In `one gets slow` the same stream goes on while the link of `near` falls to 1 Mbit/s in the
 * middle: how long an average takes to follow is then worth something.
 *
 * Rows are policies: `balance` with averages over eight samples, over seconds and over a minute, as
 * the paper has them, and messages in turn.
 */
#include <stdio.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "load/pair.h"
#include "reproduce/reproduce.h"

enum {
	BALANCE_RECEIVERS = 3,
	BALANCE_PORT = 9000,
	BALANCE_BYTES = 16 << 10, /* of a message */
	BALANCE_AHEAD = 12,	  /* messages under way, all at once */
	BALANCE_MESSAGES = 2000,
	BALANCE_MESSAGES_QUICK = 500,
	BALANCE_PERCENT = 100,
	/* A quarter more than the best possible. */
	BALANCE_NEAR_BEST = 125,
};
#define BALANCE_LIMIT_NS (2000 * NOPAL_SECOND)
#define BALANCE_SLOW	 "fwd: rate 1mbit delay 10ms limit 100 rev: rate 1mbit delay 10ms"

static const struct balance_receiver {
	const char *name, *link;
	double rate_mbit;
} balance_receivers[BALANCE_RECEIVERS] = {
	{ "near", "fwd: rate 10mbit delay 10ms limit 100 rev: rate 10mbit delay 10ms", 10 },
	{ "middle", "fwd: rate 5mbit delay 20ms loss 1% limit 100 rev: rate 5mbit delay 20ms", 5 },
	{ "far", "fwd: rate 2mbit delay 40ms loss 3% limit 100 rev: rate 2mbit delay 40ms", 2 },
};

static const struct balance_policy {
	const char *name, *group; /* more for the group's layer; NULL: the receivers take turns */
} balance_policies[] = {
	{ "over samples", "" },
	{ "over 2 s", "balance { average = 2s }" },
	{ "over 10 s", "balance { average = 10s }" },
	{ "over 60 s", "balance { average = 60s }" },
	{ "in turn", NULL },
};
enum { BALANCE_POLICIES = sizeof(balance_policies) / sizeof(*balance_policies) };

enum balance_table { BALANCE_AT_ONCE, BALANCE_STREAM, BALANCE_GETS_SLOW, BALANCE_TABLES };
static const char *const balance_tables[BALANCE_TABLES] = {
	[BALANCE_AT_ONCE] = "all at once",
	[BALANCE_STREAM] = "a stream",
	[BALANCE_GETS_SLOW] = "one gets slow",
};

struct balance_run {
	struct nopal_world *world;
	struct nopal_plan *plan;
	struct nopal_session *group;
	enum balance_table table;
	bool turns;
	unsigned destination; /* property */
	int messages, sent, done, lost;
	int64_t *sent_ns, *took_ns;
	int64_t space_ns, ended_ns;
	uint64_t came[BALANCE_RECEIVERS]; /* messages */
};

static double balance_best_mbit(void)
{
	double sum = 0;

	for (int i = 0; i < BALANCE_RECEIVERS; i++)
		sum += balance_receivers[i].rate_mbit;
	return sum;
}

/* ------------------------------------------------------------------------ the run */

static void balance_say(struct balance_run *run)
{
	static const char bytes[BALANCE_BYTES];
	uint64_t to = (uint64_t)(run->sent % BALANCE_RECEIVERS) + 1;
	const struct nopal_property property = { run->destination, run->turns ? to : 0 };

	run->sent_ns[run->sent] = nopal_world_now(run->world);
	nopal_send_message(run->group, &(struct nopal_outgoing){ .bytes = bytes,
								 .length = sizeof(bytes),
								 .cookie = (uint64_t)run->sent++,
								 .properties = &property,
								 .property_count = 1 });
}

static void balance_on_sent(struct nopal_session *session, uint64_t cookie,
			    enum nopal_outcome outcome, void *user)
{
	struct balance_run *run = user;

	(void)session;
	run->took_ns[cookie] = nopal_world_now(run->world) - run->sent_ns[cookie];
	run->lost += outcome != NOPAL_OUTCOME_DELIVERED;
	run->ended_ns = nopal_world_now(run->world);
	run->done++;
	if (run->table == BALANCE_AT_ONCE && run->sent < run->messages)
		balance_say(run);
}

static void balance_on_received(struct nopal_session *session, struct nopal_message *message,
				void *user)
{
	(void)session;
	(void)message;
	++*(uint64_t *)user;
}

/* The next message of a stream. */
static void balance_on_time(void *user)
{
	struct balance_run *run = user;
	struct nopal_link forward, reverse;

	if (run->table == BALANCE_GETS_SLOW && run->sent == run->messages / 2 &&
	    bench_link(BALANCE_SLOW, &forward, &reverse)) {
		nopal_sim_change(run->world, 0, 1, &forward);
		nopal_sim_change(run->world, 1, 0, &reverse);
	}
	balance_say(run);
	if (run->sent < run->messages)
		nopal_sim_at(run->world, nopal_world_now(run->world) + run->space_ns,
			     balance_on_time, run);
}

static bool balance_world(struct balance_run *run)
{
	static const struct nopal_callbacks here = { .sent = balance_on_sent };
	static const struct nopal_callbacks there = { .received = balance_on_received };
	struct nopal_link forward, reverse;
	struct nopal_budget budget = *nopal_plan_budget(run->plan);
	struct nopal_address address;

	nopal_sim_host(run->world);
	run->group = nopal_session_open(
		&(struct nopal_open){ .endpoint = nopal_sim_endpoint(run->world, 0, BALANCE_PORT),
				      .plan = run->plan,
				      .callbacks = &here,
				      .user = run });
	/* Room for all: a stream waits for nobody. */
	budget.send_bytes = (uint64_t)run->messages * BALANCE_BYTES;
	if (run->group)
		nopal_session_set_budget(run->group, &budget);
	for (int i = 0; run->group && i < BALANCE_RECEIVERS; i++) {
		int host = nopal_sim_host(run->world);

		if (!bench_link(balance_receivers[i].link, &forward, &reverse))
			return false;
		nopal_sim_connect(run->world, 0, host, &forward, &reverse);
		nopal_endpoint_allow(nopal_sim_endpoint(run->world, host, BALANCE_PORT), run->plan,
				     0, &there, &run->came[i]);
		nopal_sim_address(host, BALANCE_PORT, &address);
		nopal_destination_add(run->group, &address);
	}
	nopal_sim_run(run->world, NOPAL_SECOND);
	return run->group != NULL;
}

/* ---------------------------------------------------------------------- the report */

static struct report_cell balance_cell(enum balance_table table, const char *row,
				       const char *column, const char *unit)
{
	return (struct report_cell){ balance_tables[table], row, column, unit };
}

static int balance_compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void balance_report(struct report *report, struct balance_run *run, const char *row)
{
	enum balance_table table = run->table;
	double sum = 0;

	for (int i = 0; i < BALANCE_RECEIVERS; i++)
		report_add(report, balance_cell(table, row, balance_receivers[i].name, "%"),
			   BALANCE_PERCENT * (double)run->came[i] / run->messages);
	if (table == BALANCE_AT_ONCE)
		report_add(report, balance_cell(table, row, "time", "s"),
			   (double)run->ended_ns / 1e9);
	for (int i = 0; i < run->messages; i++)
		sum += (double)run->took_ns[i];
	qsort(run->took_ns, (size_t)run->messages, sizeof(*run->took_ns), balance_compare);
	report_add(report, balance_cell(table, row, "response, mean", "ms"),
		   sum / run->messages / 1e6);
	report_add(report, balance_cell(table, row, "response, p95", "ms"),
		   (double)run->took_ns[run->messages * 95 / 100] / 1e6);
	report_add(report, balance_cell(table, row, "missing", ""), run->lost);
}

static bool balance_once(const struct reproduce_options *options, enum balance_table table,
			 const struct balance_policy *policy, struct nopal_plan *plan, int number)
{
	int messages = options->quick ? BALANCE_MESSAGES_QUICK : BALANCE_MESSAGES;
	struct balance_run run = {
		.world = nopal_sim_new(options->seed + (uint64_t)number),
		.plan = plan,
		.table = table,
		.turns = !policy->group,
		.destination = nopal_property(plan, "destination"),
		.messages = messages,
		.sent_ns = tool_need(calloc((size_t)messages, sizeof(int64_t))),
		.took_ns = tool_need(calloc((size_t)messages, sizeof(int64_t))),
		/* half of what the links carry together */
		.space_ns = (int64_t)(2e3 * BALANCE_BYTES * 8 / balance_best_mbit()),
	};
	bool begun = balance_world(&run), good;
	int64_t begin_ns = nopal_world_now(run.world), now_ns = begin_ns;

	for (int i = 0; begun && table == BALANCE_AT_ONCE && i < BALANCE_AHEAD; i++)
		balance_say(&run);
	if (begun && table != BALANCE_AT_ONCE)
		balance_on_time(&run);
	while (begun && run.done < messages && now_ns - begin_ns < BALANCE_LIMIT_NS)
		nopal_sim_run(run.world, now_ns += NOPAL_SECOND);
	run.ended_ns -= begin_ns;
	good = begun && run.done == messages;
	if (good)
		balance_report(options->report, &run, policy->name);
	else
		fprintf(stderr, "nopal reproduce: %s, %s: %d of %d messages have an outcome\n",
			balance_tables[table], policy->name, run.done, messages);
	nopal_world_free(run.world);
	free(run.sent_ns);
	free(run.took_ns);
	return good;
}

static double balance_mean(const struct reproduce_options *options, enum balance_table table,
			   int policy, const char *column)
{
	return report_mean(options->report,
			   balance_cell(table, balance_policies[policy].name, column, NULL));
}

static double balance_best_s(const struct reproduce_options *options)
{
	int messages = options->quick ? BALANCE_MESSAGES_QUICK : BALANCE_MESSAGES;

	return 8e-6 * BALANCE_BYTES * messages / balance_best_mbit();
}

int reproduce_one_to_many_balance(const struct reproduce_options *options)
{
	enum { SAMPLES, TURNS = 4 };
	struct report *report = options->report;
	bool good = true;

	for (int table = 0; table < BALANCE_TABLES; table++)
		for (int i = 0; good && i < BALANCE_POLICIES; i++) {
			const struct balance_policy *policy = &balance_policies[i];
			struct nopal_plan *plan = bench_parse(
				report_format(options->report,
					      "extends = \"one_to_many_balance\"\n"
					      "layer \"group\" { fan_out { acks = 1 } %s }\n",
					      policy->group ? policy->group : ""),
				policy->name);

			reproduce_say(options, "%s: %s", balance_tables[table], policy->name);
			good = plan != NULL;
			for (int run = 0; good && run < options->runs; run++)
				good = balance_once(options, (enum balance_table)table, policy,
						    plan, run);
			nopal_plan_unref(plan);
		}
	if (good)
		report_add(options->report,
			   balance_cell(BALANCE_AT_ONCE, "best possible", "time", "s"),
			   balance_best_s(options));
	report_less(report, "ours: all at once, balance takes less time than turns",
		    balance_mean(options, BALANCE_AT_ONCE, SAMPLES, "time"),
		    balance_mean(options, BALANCE_AT_ONCE, TURNS, "time"), "s, balance; in turn");
	report_less(report, "ours: all at once, balance is near the best possible",
		    balance_mean(options, BALANCE_AT_ONCE, SAMPLES, "time"),
		    balance_best_s(options) * BALANCE_NEAR_BEST / BALANCE_PERCENT,
		    "s, balance; a quarter more than the three links together need for the bytes");
	report_less(report, "ours: a stream's messages are answered sooner than in turn",
		    balance_mean(options, BALANCE_STREAM, SAMPLES, "response, mean"),
		    balance_mean(options, BALANCE_STREAM, TURNS, "response, mean"),
		    "ms, balance; in turn");
	report_less(report, "ours: where a link gets slow, they are so still",
		    balance_mean(options, BALANCE_GETS_SLOW, SAMPLES, "response, mean"),
		    balance_mean(options, BALANCE_GETS_SLOW, TURNS, "response, mean"),
		    "ms, balance; in turn");
	report_less(report, "the faster link has more of a stream",
		    balance_mean(options, BALANCE_STREAM, SAMPLES, "far"),
		    balance_mean(options, BALANCE_STREAM, SAMPLES, "near"), "%, far; near");
	return good ? TOOL_GOOD : TOOL_FAILED;
}
