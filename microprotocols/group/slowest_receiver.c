/* SPDX-License-Identifier: MIT */
/*
 * slowest_receiver -- one rate for all, which the slowest of them can take.
 *
 * Paper:     Rizzo, pgmcc, SIGCOMM 2000 (the one whose throughput the TCP equation
 *            puts lowest stands for all); Widmer and Handley, TFMCC, RFC 4654.
 * Differs:   a rate and no window.  Each report of the one that stands for all moves
 *            it: down by three tenths where something was missing, at most once a
 *            round trip; else up, by a segment a round trip, and at least by one in
 *            128 of the rate; until the first loss it doubles each round trip.  Losses
 *            of others do not add up: many receivers with a few losses each are no
 *            slower than one.
 *            Whom the least rate is too fast for hears the channel no more: its
 *            own session, with its own congestion control, serves it.
 * Needs:     rate_mechanism, channel_repair.
 * Provides:  congestion_policy (exclusive).
 * Excludes:  nothing.
 * Handles:   CHANNEL_REPORT, DESTINATION_HEARS, DESTINATION_ENDED.
 * Raises:    DESTINATION_HEARS.
 * Holds:     nothing.
 * Wire:      nothing.
 * Shares:    writes sending_rate_bps.
 * Parameters: initial (default 10Mbit): the rate at first;
 *            least (default 1Mbit): not below this; who loses a tenth and more
 *            at this rate leaves the channel;
 *            most (default 10Gbit): not above this.
 */
#include "microprotocol.h"

struct slowest_receiver_parameters {
	int64_t initial, least, most;
};

enum { SLOWEST_RECEIVER_RATE }; /* shared variables */

/* What is noted of a destination. */
enum {
	SLOWEST_RECEIVER_LOSS, /* smoothed, of SLOWEST_RECEIVER_ONE */
	SLOWEST_RECEIVER_RTT_NS,
};
enum {
	SLOWEST_RECEIVER_ONE = 1 << 20,
	SLOWEST_RECEIVER_LEAST_LOSS = 16, /* of nobody less is said */
	SLOWEST_RECEIVER_SEGMENTS = 512,  /* of which the loss is known */
	SLOWEST_RECEIVER_KEPT = 7,	  /* tenths after a loss */
	SLOWEST_RECEIVER_TENTHS = 10,
	SLOWEST_RECEIVER_STEP = 128,
	/* Another one takes its place when it is slower by a fifth. */
	SLOWEST_RECEIVER_CLEARLY = 5,
	SLOWEST_RECEIVER_TOO_MUCH = SLOWEST_RECEIVER_ONE / 10,
};
#define SLOWEST_RECEIVER_LEAST_RTT_NS NOPAL_MILLISECOND

struct slowest_receiver {
	uint64_t slowest; /* id; 0: nobody */
	int64_t up_ns;	  /* of the last report that moved the rate */
	int64_t down_ns;
	bool lost; /* somebody lost something once */
};

/* The square of what the equation divides by: greater is slower. */
static uint64_t slowest_receiver_weight(struct nopal_destination *destination)
{
	uint64_t rtt_us = nopal_pace(destination)[SLOWEST_RECEIVER_RTT_NS] /
			  (uint64_t)NOPAL_MICROSECOND;
	uint64_t loss = nopal_pace(destination)[SLOWEST_RECEIVER_LOSS];

	if (loss < SLOWEST_RECEIVER_LEAST_LOSS)
		loss = SLOWEST_RECEIVER_LEAST_LOSS;
	return nopal_scale(rtt_us * rtt_us, loss, SLOWEST_RECEIVER_ONE) + 1;
}

static void slowest_receiver_note(const struct nopal_channel_report *report)
{
	uint64_t *pace = nopal_pace(report->destination);
	uint64_t known = SLOWEST_RECEIVER_SEGMENTS;
	uint64_t all = known + report->arrived + report->missing;

	pace[SLOWEST_RECEIVER_LOSS] =
		nopal_scale(pace[SLOWEST_RECEIVER_LOSS], known, all) +
		nopal_scale(report->missing, SLOWEST_RECEIVER_ONE, all);
	pace[SLOWEST_RECEIVER_RTT_NS] =
		report->rtt_ns > SLOWEST_RECEIVER_LEAST_RTT_NS
			? (uint64_t)report->rtt_ns
			: (uint64_t)SLOWEST_RECEIVER_LEAST_RTT_NS;
}

static struct nopal_destination *
slowest_receiver_known(const struct nopal_session *session,
		       const struct slowest_receiver *self)
{
	uint32_t index = nopal_destination_find(session, self->slowest);

	return index < nopal_destination_count(session)
		       ? nopal_destination_at(session, index)
		       : NULL;
}

/* Does this one stand for all?  It may from now on: what made it the slowest is not
 * held against it once more, or losses of many would add up. */
static bool slowest_receiver_is(struct nopal_session *session,
				struct slowest_receiver *self,
				struct nopal_destination *destination)
{
	struct nopal_destination *known = slowest_receiver_known(session, self);
	uint64_t weight = slowest_receiver_weight(destination), against;

	if (!known)
		self->slowest = destination->id;
	if (!known || known == destination)
		return true;
	against = slowest_receiver_weight(known);
	if (weight >= against + against / SLOWEST_RECEIVER_CLEARLY)
		self->slowest = destination->id;
	return false;
}

static void slowest_receiver_set(struct nopal_session *session,
				 const struct nopal_part *part, int64_t rate)
{
	const struct slowest_receiver_parameters *set = nopal_parameters(part);

	if (rate < set->least)
		rate = set->least;
	if (rate > set->most)
		rate = set->most;
	nopal_share(session, part, SLOWEST_RECEIVER_RATE, rate);
}

/* What the rate grew by in the time since the report before. */
static int64_t slowest_receiver_growth(const struct nopal_session *session,
				       const struct slowest_receiver *self,
				       int64_t rate, int64_t rtt_ns)
{
	enum { BITS = 8 };
	int64_t since_ns = session->now_ns - self->up_ns;
	int64_t segment = (int64_t)nopal_body_limit(session) * BITS;
	int64_t a_round = (int64_t)nopal_scale((uint64_t)segment, NOPAL_SECOND,
					       (uint64_t)rtt_ns);

	if (since_ns > rtt_ns)
		since_ns = rtt_ns;
	if (!self->lost)
		a_round = rate;
	else if (a_round < rate / SLOWEST_RECEIVER_STEP)
		a_round = rate / SLOWEST_RECEIVER_STEP;
	return (int64_t)nopal_scale((uint64_t)a_round, (uint64_t)since_ns,
				    (uint64_t)rtt_ns);
}

static void slowest_receiver_down(struct nopal_session *session,
				  const struct nopal_part *part,
				  struct nopal_destination *destination)
{
	const struct slowest_receiver_parameters *set = nopal_parameters(part);
	struct slowest_receiver *self = nopal_state(session, part);
	int64_t rate = nopal_shared(session, part, SLOWEST_RECEIVER_RATE);
	int64_t rtt_ns =
		(int64_t)nopal_pace(destination)[SLOWEST_RECEIVER_RTT_NS];

	if (self->lost && session->now_ns - self->down_ns < rtt_ns)
		return;
	rate = rate / SLOWEST_RECEIVER_TENTHS * SLOWEST_RECEIVER_KEPT;
	if (rate < set->least &&
	    nopal_pace(destination)[SLOWEST_RECEIVER_LOSS] >=
		    SLOWEST_RECEIVER_TOO_MUCH) {
		nopal_destination_hears(
			session,
			nopal_destination_find(session, destination->id),
			false);
		return;
	}
	self->lost = true;
	self->down_ns = session->now_ns;
	slowest_receiver_set(session, part, rate);
}

static enum nopal_verdict
slowest_receiver_on_report(struct nopal_session *session,
			   const struct nopal_part *part,
			   struct nopal_channel_report *report)
{
	struct slowest_receiver *self = nopal_state(session, part);
	int64_t rate = nopal_shared(session, part, SLOWEST_RECEIVER_RATE);
	struct nopal_destination *destination = report->destination;

	slowest_receiver_note(report);
	if (!slowest_receiver_is(session, self, destination))
		return NOPAL_CONTINUE;
	if (report->missing)
		slowest_receiver_down(session, part, destination);
	else
		slowest_receiver_set(
			session, part,
			rate + slowest_receiver_growth(
				       session, self, rate,
				       (int64_t)nopal_pace(destination)
					       [SLOWEST_RECEIVER_RTT_NS]));
	self->up_ns = session->now_ns;
	return NOPAL_CONTINUE;
}

/* Somebody else stands for all with its next report. */
static enum nopal_verdict
slowest_receiver_on_hears(struct nopal_session *session,
			  const struct nopal_part *part,
			  struct nopal_destination *destination)
{
	struct slowest_receiver *self = nopal_state(session, part);

	if (self->slowest == destination->id)
		self->slowest = 0;
	return NOPAL_CONTINUE;
}

static int slowest_receiver_open(struct nopal_session *session,
				 const struct nopal_part *part)
{
	const struct slowest_receiver_parameters *set = nopal_parameters(part);

	slowest_receiver_set(session, part, set->initial);
	return 0;
}

#define SLOWEST_RECEIVER_PARAMETER(key, first, text)                           \
	{                                                                      \
		.name = #key, .unit = NOPAL_RATE,                              \
		.offset = offsetof(struct slowest_receiver_parameters, key),   \
		.initial = first, .least = "8kbit", .most = "1000Gbit",        \
		.doc = text                                                    \
	}

static const struct nopal_parameter slowest_receiver_table[] = {
	SLOWEST_RECEIVER_PARAMETER(initial, "10Mbit", "the rate at first"),
	SLOWEST_RECEIVER_PARAMETER(least, "1Mbit",
				   "not below this; who loses a tenth and more "
				   "at this rate leaves the channel"),
	SLOWEST_RECEIVER_PARAMETER(most, "10Gbit", "not above this"),
	{ 0 },
};

static const struct nopal_binding slowest_receiver_bindings[] = {
	NOPAL_ON(CHANNEL_REPORT, slowest_receiver_on_report),
	NOPAL_ON(DESTINATION_HEARS, slowest_receiver_on_hears),
	NOPAL_ON(DESTINATION_ENDED, slowest_receiver_on_hears),
	{ 0 },
};

static const struct nopal_relation slowest_receiver_needs[] = {
	{ "rate_mechanism", "somebody must keep to the rate" },
	{ "channel_repair", "somebody must say what came" },
	{ 0 },
};

const struct nopal_microprotocol nopal_slowest_receiver = {
	.abi = NOPAL_ABI,
	.name = "slowest_receiver",
	.family = "group",
	.summary = "one rate for all, which the slowest of them can take",
	.many = true,
	.provides = (const struct nopal_role[]){ { "congestion_policy", true },
						 { 0 } },
	.needs = slowest_receiver_needs,
	.parameters_size = sizeof(struct slowest_receiver_parameters),
	.parameters = slowest_receiver_table,
	.shared =
		(const struct nopal_shared[]){
			[SLOWEST_RECEIVER_RATE] = { "sending_rate_bps",
						    NOPAL_WRITE, 0,
						    "bits of bodies a "
						    "second" },
			{ 0 } },
	.bindings = slowest_receiver_bindings,
	.raises = (const char *const[]){ "DESTINATION_HEARS", NULL },
	.state_size = sizeof(struct slowest_receiver),
	.open = slowest_receiver_open,
};
