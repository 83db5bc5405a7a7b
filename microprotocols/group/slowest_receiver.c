/* SPDX-License-Identifier: MIT */
/*
 * slowest_receiver -- one rate for all, which the slowest of them can take.
 *
 * Paper:     Rizzo, pgmcc, SIGCOMM 2000 (the one whose throughput the TCP equation
 *            puts lowest stands for all); Widmer and Handley, TFMCC, RFC 4654.
 * Differs:   a rate and no window.  Each report of the one that stands for all moves
 *            it.  Where it tells of congestion: down to seven tenths of what passed,
 *            once for all that left before.  Where a queue stands there and grows by
 *            more than an eighth of the rate: to eight tenths of what passes, so that
 *            it goes; a window would do the first half of that by itself, for
 *            acknowledgements come no faster.  Else up, by a segment a round trip, and
 *            at least by one in 128 of the rate; until the first congestion it doubles
 *            each round trip.  It does not grow beyond four times what is sent.
 *            Losses are congestion where a queue stands, or where they are more than
 *            are lost at a rate that the path carries (receiver_path.h).  Other losses
 *            change nothing, and no destination stands for all by them.  Losses
 *            of others do not add up: many receivers with a few losses each are no
 *            slower than one.
 *            A destination for which the least rate is too fast leaves the channel:
 *            its own session, with its own congestion control, serves it.
 */
#include "receiver_path.h"

struct slowest_receiver_parameters {
	int64_t initial, min, max;
};

enum { SLOWEST_RECEIVER_RATE }; /* shared variables */

enum {
	SLOWEST_RECEIVER_MIN_HURT = 16, /* of each path, at least */
	SLOWEST_RECEIVER_KEPT = 7,	/* tenths of what passed */
	SLOWEST_RECEIVER_DRAINED = 8,	/* of what passes, while a queue grows */
	SLOWEST_RECEIVER_TENTHS = 10,
	SLOWEST_RECEIVER_STEP = 128,
	/* Another one takes its place when it is slower by a fifth. */
	SLOWEST_RECEIVER_CLEARLY = 5,
	SLOWEST_RECEIVER_TOO_MUCH = RECEIVER_PATH_ONE / 10,
	/* The rate is slow when it is below so many eighths of one that was too fast. */
	SLOWEST_RECEIVER_SLOW = 7,
	SLOWEST_RECEIVER_EIGHTHS = 8,
	/* No more than so many times what is sent. */
	SLOWEST_RECEIVER_UNUSED = 4,
	SLOWEST_RECEIVER_NEAR = 2, /* the least: below so many times that */
};

struct slowest_receiver {
	uint64_t slowest; /* id; 0: nobody */
	int64_t up_ns;	  /* of the last report that moved the rate */
	int64_t down_ns;
	int64_t too_fast; /* the rate that was congestion last; 0: none was */
};

/* The square of what the equation divides by: greater is slower. */
static uint64_t slowest_receiver_weight(const struct receiver_path *path)
{
	uint64_t rtt_us = (uint64_t)(path->rtt_ns / NOPAL_MICROSECOND);
	uint64_t hurt =
		path->hurt > SLOWEST_RECEIVER_MIN_HURT ? path->hurt : SLOWEST_RECEIVER_MIN_HURT;

	return nopal_scale(rtt_us * rtt_us, hurt, RECEIVER_PATH_ONE) + 1;
}

/* Does this destination stand for all? It may from now on: the report that made it the slowest does
 * not move the rate, or losses of many would add up. */
static bool slowest_receiver_is(struct nopal_session *session, struct slowest_receiver *self,
				struct nopal_destination *destination)
{
	uint32_t index = nopal_destination_find(session, self->slowest);
	struct nopal_destination *known = index < nopal_destination_count(session)
						  ? nopal_destination_at(session, index)
						  : NULL;
	uint64_t weight = slowest_receiver_weight(receiver_path_of(destination));
	uint64_t against;

	if (!known)
		self->slowest = destination->id;
	if (!known || known == destination)
		return true;
	against = slowest_receiver_weight(receiver_path_of(known));
	if (weight >= against + against / SLOWEST_RECEIVER_CLEARLY)
		self->slowest = destination->id;
	return false;
}

static void slowest_receiver_set(struct nopal_at at, int64_t rate)
{
	const struct slowest_receiver_parameters *set = nopal_parameters(at);

	if (rate < set->min)
		rate = set->min;
	if (rate > set->max)
		rate = set->max;
	nopal_shared_set(at, SLOWEST_RECEIVER_RATE, rate);
}

/* Bits a second of so many segments. */
static int64_t slowest_receiver_bps(const struct nopal_session *session, uint64_t segments,
				    int64_t time_ns)
{
	return (int64_t)nopal_rate_of(segments * nopal_body_limit(session), time_ns);
}

/* Raises the rate by its growth since the report before. */
static void slowest_receiver_up(struct nopal_at at, const struct receiver_path *path)
{
	struct slowest_receiver *self = nopal_state(at);
	int64_t rate = nopal_shared_get(at, SLOWEST_RECEIVER_RATE);
	int64_t since_ns = at.session->now_ns - self->up_ns;
	int64_t a_round = slowest_receiver_bps(at.session, 1, path->rtt_ns);
	int64_t used = slowest_receiver_bps(at.session, path->left_a_second, NOPAL_SECOND);

	self->up_ns = at.session->now_ns;
	if (used && used < rate / SLOWEST_RECEIVER_UNUSED)
		a_round = 0;
	else if (!self->too_fast)
		a_round = rate;
	else if (a_round < rate / SLOWEST_RECEIVER_STEP)
		a_round = rate / SLOWEST_RECEIVER_STEP;
	if (since_ns > path->rtt_ns)
		since_ns = path->rtt_ns;
	slowest_receiver_set(at, rate + (int64_t)nopal_scale((uint64_t)a_round, (uint64_t)since_ns,
							     (uint64_t)path->rtt_ns));
}

/* Lowers the rate to a share of itself; segments that left before are no news from now on.  Below
 * the least rate there is nothing to wait for. */
static void slowest_receiver_fall(struct nopal_at at, uint32_t share)
{
	const struct slowest_receiver_parameters *set = nopal_parameters(at);
	struct slowest_receiver *self = nopal_state(at);
	int64_t rate = nopal_shared_get(at, SLOWEST_RECEIVER_RATE);

	self->up_ns = at.session->now_ns;
	if (rate <= set->min)
		return;
	self->down_ns = at.session->now_ns;
	slowest_receiver_set(at, (int64_t)nopal_scale((uint64_t)rate, share, RECEIVER_PATH_ONE));
}

/* Only segments that left since the rate fell are news.  Losses near the least rate, and at a rate
 * that is slow for the path, are learnt. */
static enum nopal_verdict slowest_receiver_on_report(struct nopal_at at,
						     struct nopal_channel_report *report)
{
	const struct slowest_receiver_parameters *set = nopal_parameters(at);
	struct slowest_receiver *self = nopal_state(at);
	struct nopal_destination *destination = report->destination;
	struct receiver_path *path = receiver_path_of(destination);
	uint64_t segments;
	int64_t rate = nopal_shared_get(at, SLOWEST_RECEIVER_RATE);
	bool min = rate < SLOWEST_RECEIVER_NEAR * set->min, news = !self->too_fast, congested;

	receiver_path_note(path, report, at.session->now_ns);
	segments = report->arrived + report->missing;
	if (!news)
		news = report->left_ns ? report->left_ns > self->down_ns
				       : at.session->now_ns - self->down_ns > path->rtt_ns;
	if (!news) { /* the rate has changed: earlier reports say nothing of it */
		receiver_path_begin(path);
		path->passed = RECEIVER_PATH_ONE;
	}
	congested = receiver_path_judge(path, report, at.session->now_ns, self->too_fast);
	if (news) {
		path->loss = min ? receiver_path_smooth(path->loss, report->missing, segments) : 0;
		if (!congested &&
		    (!self->too_fast ||
		     rate < self->too_fast / SLOWEST_RECEIVER_EIGHTHS * SLOWEST_RECEIVER_SLOW))
			receiver_path_learn(path, report);
	}
	if (!slowest_receiver_is(at.session, self, destination) || !news) {
		; /* another destination moves the rate */
	} else if (congested && min && path->loss >= SLOWEST_RECEIVER_TOO_MUCH) {
		nopal_destination_joined(
			at.session, nopal_destination_find(at.session, destination->id), false);
	} else if (congested) {
		self->too_fast = rate;
		slowest_receiver_fall(at, receiver_path_passed(path) / SLOWEST_RECEIVER_TENTHS *
						  SLOWEST_RECEIVER_KEPT);
	} else if (!receiver_path_is_flooded(path)) {
		slowest_receiver_up(at, path);
	} else if (receiver_path_is_queued(path, at.session->now_ns)) {
		slowest_receiver_fall(at, receiver_path_passing(path) / SLOWEST_RECEIVER_TENTHS *
						  SLOWEST_RECEIVER_DRAINED);
	}
	if (congested)
		receiver_path_begin(path);
	return NOPAL_CONTINUE;
}

/* The destination's path is another one now; if it stood for all, another does with its next
 * report. */
static enum nopal_verdict slowest_receiver_on_joined(struct nopal_at at,
						     struct nopal_destination *destination)
{
	struct slowest_receiver *self = nopal_state(at);

	*receiver_path_of(destination) = (struct receiver_path){ 0 };
	if (self->slowest == destination->id)
		self->slowest = 0;
	return NOPAL_CONTINUE;
}

static int slowest_receiver_open(struct nopal_at at)
{
	const struct slowest_receiver_parameters *set = nopal_parameters(at);

	slowest_receiver_set(at, set->initial);
	return 0;
}

const struct nopal_microprotocol nopal_slowest_receiver = {
	NOPAL_DESCRIBE(slowest_receiver, group,
		       "one rate for all, which the slowest of them can take"),
	.many = true,
	.provides = NOPAL_ROLES({ "congestion_policy", true }, { "rate_policy" }),
	.needs = NOPAL_RELATIONS({ "rate_mechanism", "somebody must keep to the rate" },
				 { "channel_repair", "somebody must report arrivals" }),
	.promises = NOPAL_PROMISES(NOPAL_CONGESTION_CONTROLLED),
	.parameters_size = sizeof(struct slowest_receiver_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(slowest_receiver, initial, "initial", RATE, "10Mbit", "8kbit",
			     "1000Gbit", "the rate at first"),
		NOPAL_NUMBER(
			slowest_receiver, min, "least", RATE, "1Mbit", "8kbit", "1000Gbit",
			"lowest rate; a destination that loses a tenth near it leaves the channel"),
		NOPAL_NUMBER(slowest_receiver, max, "most", RATE, "10Gbit", "8kbit", "1000Gbit",
			     "not above this")),
	.shared = NOPAL_SHARED([SLOWEST_RECEIVER_RATE] = { "sending_rate_bps", NOPAL_WRITE, 0,
							   "bits of bodies a second" }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(CHANNEL_REPORT, slowest_receiver_on_report),
				   NOPAL_ON(DESTINATION_JOINED, slowest_receiver_on_joined),
				   NOPAL_ON(DESTINATION_ENDED, slowest_receiver_on_joined)),
	.raises = NOPAL_RAISES("DESTINATION_JOINED"),
	.state_size = sizeof(struct slowest_receiver),
	.open = slowest_receiver_open,
};
