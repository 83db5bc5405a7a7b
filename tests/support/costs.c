/* SPDX-License-Identifier: MIT */
#include "support/costs.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/oracle.h"

/* Messages that the sides send. */
struct load {
	uint32_t messages, answers; /* no answers: all are sent at once */
	uint32_t longest;	    /* bytes of a message */
	unsigned pairs;
	bool uneven;
};

static const struct load transfer = { .messages = 100, .longest = 3000, .pairs = 2 };
static const struct load heavy = { .messages = 120, .longest = 9000, .pairs = 1 };
static const struct load uneven = { .messages = 120, .longest = 9000, .pairs = 4, .uneven = true };
static const struct load talk = { .messages = 100, .answers = 30, .longest = 200, .pairs = 4 };
static const struct load long_talk = {
	.messages = 120, .answers = 100, .longest = 200, .pairs = 4
};
#define TALK_NS (5 * NOPAL_SECOND) /* in which messages of a talk are sent */

/* Networks that few microprotocols are made for come first: most differences are found there, and
 * by the reason for which the microprotocol is in the config. */
static const struct network {
	const char *name, *weather;
	const struct load *load;
	int64_t rebind_ns; /* as of oracle_run */
	/* Sessions end early that are not made for it: messages that do not arrive are the only
	 * cost that can be compared. */
	bool breaks;
} networks[] = {
	{ "a NAT that forgets", "rate 2mbit delay 20ms", &transfer,
	  .rebind_ns = 150 * NOPAL_MILLISECOND, .breaks = true },
	{ "a path that narrows", "rate 20mbit delay 20ms; 100ms: rate 20mbit delay 20ms mtu 1300",
	  &transfer, .breaks = true },
	{ "one sender with most of the load", "rate 4mbit delay 20ms", &uneven },
	{ "short messages, overtaken", "delay 20ms 6ms", &talk },
	{ "short messages, 5 % lost", "rate 20mbit delay 20ms loss 5%", &talk },
	{ "short messages, far away, 5 % lost", "rate 20mbit delay 100ms loss 5%", &talk },
	{ "short messages, far away, 10 % lost", "rate 20mbit delay 100ms loss 10%", &talk },
	{ "short messages, far away, 20 % lost", "rate 20mbit delay 100ms loss 20%", &long_talk },
	{ "a short queue", "rate 4mbit delay 30ms limit 12", &transfer },
	{ "a short queue, for long", "rate 4mbit delay 30ms limit 12", &heavy },
	{ "a long queue", "rate 20mbit delay 20ms limit 60", &transfer },
	{ "a long path", "rate 10mbit delay 700ms loss 1%", &transfer },
	{ "2 % loss", "rate 20mbit delay 20ms loss 2%", &transfer },
	{ "20 % loss", "rate 20mbit delay 20ms loss 20%", &transfer },
	{ "acks that get lost", "fwd: delay 20ms rev: delay 20ms loss 40%", &transfer },
	{ "marks in place of loss", "rate 4mbit delay 20ms limit 40 loss 2% ecn", &transfer },
	{ "a full queue on a slow link", "rate 500kbit delay 50ms limit 5", &heavy },
};
enum { NETWORKS = sizeof(networks) / sizeof(*networks) };
_Static_assert((int)NETWORKS <= (int)COSTS_NETWORKS, "each has its sample");

struct costs *costs_new(const char *config)
{
	struct costs *costs = calloc(1, sizeof(*costs));

	assert(costs);
	costs->config = config;
	costs->plan = oracle_plan(config);
	assert(costs->plan);
	return costs;
}

void costs_free(struct costs *costs)
{
	nopal_plan_unref(costs->plan);
	free(costs);
}

/* ------------------------------------------------------------------- a sample */

static uint32_t expected(const struct oracle *oracle)
{
	uint32_t count = 0;

	for (unsigned from = 0; from < oracle->sides; from++)
		for (unsigned to = 0; to < oracle->sides; to++)
			if (oracle_speaks_to(&oracle->side[from], &oracle->side[to]))
				count += oracle->side[from].messages;
	return count;
}

static void read_delays(const struct oracle *oracle, double *ret_cost)
{
	double delays = 0, deviations = 0;
	unsigned senders = 0;

	for (unsigned i = 0; i < oracle->sides; i++) {
		const struct oracle_side *side = &oracle->side[i];
		double mean, variance;

		if (!side->arrivals)
			continue;
		senders++;
		mean = side->delays / side->arrivals;
		variance = side->delay_squares / side->arrivals - mean * mean;
		delays += mean;
		deviations += sqrt(fmax(variance, 0));
	}
	ret_cost[COST_DELAY] = senders ? 1e3 * delays / senders : 0;
	ret_cost[COST_JITTER] = senders ? 1e3 * deviations / senders : 0;
}

static void read_costs(const struct oracle *oracle, double *ret_cost)
{
	double arrivals = 0, overtaken = 0, each;

	for (unsigned i = 0; i < oracle->sides; i++) {
		arrivals += oracle->side[i].arrivals;
		overtaken += oracle->side[i].overtaken;
	}
	each = arrivals > 0 ? arrivals : 1;
	ret_cost[COST_LOST] = 100 * (1 - arrivals / expected(oracle));
	ret_cost[COST_OVERTAKEN] = 100 * overtaken / each;
	ret_cost[COST_TIME] = (double)oracle->last_ns / NOPAL_SECOND / each;
	ret_cost[COST_DATAGRAMS] = (double)oracle->traffic_then.datagrams / each;
	ret_cost[COST_BYTES] = (double)oracle->traffic_then.bytes / each;
	read_delays(oracle, ret_cost);
}

/* So many runs, or more. */
static const struct costs_sample *measure(struct costs *costs, size_t number, unsigned runs)
{
	static struct oracle oracle; /* too large for the stack */
	const struct network *network = &networks[number];
	const struct load *load = network->load;
	struct costs_sample *sample = &costs->sample[number];

	for (; sample->runs < runs; sample->runs++) {
		const struct oracle_run run = {
			.config = costs->config,
			.plan = costs->plan,
			.weather = network->weather,
			.seed = 1 + sample->runs,
			.pairs = load->pairs,
			.messages = load->messages,
			.answers = load->answers,
			.longest = load->longest,
			.spread_ns = TALK_NS,
			.plain = true,
			.uneven = load->uneven,
			.rebind_ns = network->rebind_ns,
		};

		oracle_run(&oracle, &run);
		read_costs(&oracle, sample->run[sample->runs]);
	}
	return sample;
}

/* --------------------------------------------------------------- a difference */

struct difference {
	double one;    /* mean of the one's cost */
	double more;   /* mean of what the other's adds to it */
	double errors; /* standard errors by which `more` is above 0 */
};

static struct difference difference_of(const struct costs_sample *other,
				       const struct costs_sample *one, int cost, unsigned runs)
{
	struct difference difference = { 0 };
	double squares = 0, variance;

	for (unsigned i = 0; i < runs; i++) {
		double more = other->run[i][cost] - one->run[i][cost];

		difference.one += one->run[i][cost] / runs;
		difference.more += more / runs;
		squares += more * more / runs;
	}
	variance = squares - difference.more * difference.more;
	difference.errors = variance > 0 ? difference.more / sqrt(variance / (runs - 1)) : INFINITY;
	return difference;
}

/* In words: with the other, and with the one; and the least difference that a user would notice, in
 * the unit of the cost. */
static const struct scale {
	const char *words;
	double min;
} scales[] = {
	[COST_LOST] = { "%.0f %% of the messages lost, not %.0f %%", 2 },
	[COST_OVERTAKEN] = { "%.0f %% of the messages overtaken, not %.0f %%", 2 },
	[COST_TIME] = { "%.2g s a message, not %.2g s", 0 },
	[COST_DELAY] = { "a delay of %.0f ms, not %.0f ms", 1 },
	[COST_JITTER] = { "a jitter of %.1f ms, not %.1f ms", 1 },
	[COST_DATAGRAMS] = { "%.1f datagrams a message, not %.1f", 0 },
	[COST_BYTES] = { "%.0f bytes a message, not %.0f", 0 },
};
static const double MIN_PART = 0.05; /* and of the cost, this part */

static bool is_large(const struct difference *difference, int cost)
{
	return difference->more > fmax(scales[cost].min, MIN_PART * difference->one);
}

/* A few runs show that there is no difference, or that there may be one. */
static bool is_more(struct costs *other, struct costs *one, size_t network, int cost,
		    struct difference *ret_difference)
{
	static const struct {
		unsigned runs;
		double errors;
	} stages[] = { { COSTS_FEW, 2.5 }, { COSTS_MANY, 5 } };

	for (size_t i = 0; i < sizeof(stages) / sizeof(*stages); i++) {
		unsigned runs = stages[i].runs;

		*ret_difference = difference_of(measure(other, network, runs),
						measure(one, network, runs), cost, runs);
		if (ret_difference->errors < stages[i].errors || !is_large(ret_difference, cost))
			return false;
	}
	return true;
}

static void tell(const struct network *network, int cost, const struct difference *difference,
		 char *text, size_t room)
{
	int length = snprintf(text, room, "%s: ", network->name);

	snprintf(text + length, room - (size_t)length, scales[cost].words,
		 difference->one + difference->more, difference->one);
}

bool costs_more(struct costs *other, struct costs *one, char *text, size_t room)
{
	struct difference difference;

	for (size_t n = 0; n < NETWORKS; n++)
		for (int cost = 0; cost < COSTS; cost++) {
			if (networks[n].breaks && cost != COST_LOST)
				break;
			if (!is_more(other, one, n, cost, &difference))
				continue;
			tell(&networks[n], cost, &difference, text, room);
			return true;
		}
	return false;
}
