/* SPDX-License-Identifier: MIT */
/*
 * udt_congestion -- UDT congestion control: growth by the spare capacity of the link.
 *
 *   slow start --first loss--> every 10 ms, where nothing was lost: rate += step
 *                              a report of losses: rate -= rate / 9
 *
 *   step = 1.5 / 10^6 of the bits that are left, up to the next power of ten,
 *          in bytes for each 10 ms; left = capacity of the link - rate
 *   window = rate of arrival * (round trip + 10 ms) + 16 segments
 *
 * So the step goes by what the link has left and not by the round trip: flows of one link have the
 * same.  Of one congestion event, which is all that was out at a reduction, not every report
 * reduces: one in so many, drawn anew for each event, and five at most, about half of the rate.
 *
 * Paper:     Gu and Grossman, UDT: UDP-based data transfer for high-speed wide area
 *            networks, Computer Networks 51(7), 2007, section 4; draft-gg-udt-03,
 *            section 6; UDTv4, sections 4.1 and 4.3.
 * Differs:   UDT sends pairs of packets, whose distance at the receiver tells the
 *            capacity.  Nothing tells it here: it is the largest rate of delivery,
 *            which fades by a sixteenth a round while a queue stands, and counts
 *            double while none does, for what meets no queue has not found the end
 *            of the link.  There 10 Mbit/s are left at least, so that a slow flow
 *            beside a fast one has no smaller step.  A loss without a queue does not
 *            tell where the link ends: what was lost with one is the rate that is
 *            come back to with caution, up to an eighth beyond it.  The rate of
 *            arrival is computed at the sender, too.  Slow start is spread over
 *            round trips, but for its first window; what it loses at its end reduces
 *            once, to the rate of arrival.  What one turn reports is one report.  A
 *            timeout, at which UDT does nothing, is one and closes the window to 16
 *            segments until something arrives.  A mark of congestion begins an
 *            event, and is no report of one.  The rate does not grow where the
 *            application limits, and never falls below two segments a round trip.
 */
#include "delivery_rate.h"
#include "known_window.h"
#include "loss_epoch.h"
#include "standing_queue.h"

enum {
	UDT_WINDOW,
	UDT_RATE,
	UDT_SRTT,
	UDT_MIN_RTT,
	UDT_IN_FLIGHT,
	UDT_APP_LIMITED,
	UDT_KNOWN,
};

/* draft-gg-udt-03, section 6.1. */
enum {
	UDT_PERIOD = 9, /* a reduction: the period grows by 9/8 */
	UDT_PERIOD_PER = 8,
	UDT_FEW = 16,	 /* segments on top of the window */
	UDT_CUTS = 5,	 /* of one event */
	UDT_FILTER = 8,	 /* averages: seven parts and one */
	UDT_CAUTION = 9, /* a part of the capacity, below the rate
				       that filled a queue */
	/* Bits of a step: so many for 10^6 that are left, and one byte. */
	UDT_STEP = 12,
	UDT_STEP_PER = 1000000,
	UDT_STEP_MIN = 8,
	UDT_DECADE = 10,
	/* Ours: a part of the capacity, in a round with a queue; */
	UDT_FADE = 16,
	/* what is left at least where no queue stands, whose step is no more than that of TCP at a
	 * round trip of 100 ms; */
	UDT_ROOM_BPS = 10000000,
	/* slow start doubles in a round trip. */
	UDT_START_SLACK = 2,
};

struct udt_congestion_parameters {
	int64_t initial, interval_ns;
};

struct udt_congestion {
	struct delivery delivery;
	uint64_t round_end;    /* bytes delivered that end the round */
	uint64_t arrival_bps;  /* a smooth rate of delivery */
	uint64_t capacity_bps; /* the largest */

	struct loss_epoch epoch; /* the congestion event */
	int64_t reported_ns;	 /* turn of the last report; -1: none */
	int64_t grown_ns;	 /* end of the last interval */
	uint64_t filled_bps;	 /* rate that filled a queue, or 0 */
	uint64_t mean_reports;	 /* of an event, in eighths */
	uint32_t reports;	 /* of this event */
	uint32_t each;		 /* so many of them reduce once more */
	uint32_t cuts;
	bool lost;   /* within the interval */
	bool steady; /* slow start is over */
};

static uint64_t udt_rate(struct nopal_at at)
{
	return (uint64_t)nopal_shared_get(at, UDT_RATE);
}

/* A round trip, and the time that an ack may wait for the next one. */
static int64_t udt_trip(struct nopal_at at)
{
	const struct udt_congestion_parameters *set = nopal_parameters(at);

	return nopal_shared_get(at, UDT_SRTT) + set->interval_ns;
}

static void udt_set_rate(struct nopal_at at, uint64_t rate_bps)
{
	uint64_t min = nopal_rate_of(
		LOSS_EPOCH_MIN_SEGMENTS * (uint64_t)nopal_body_limit(at.session), udt_trip(at));

	if (rate_bps < min)
		rate_bps = min;
	nopal_shared_set(at, UDT_RATE, rate_bps < INT64_MAX ? (int64_t)rate_bps : INT64_MAX);
}

static void udt_set_window(struct nopal_at at, uint64_t arrival_bps)
{
	uint64_t few = UDT_FEW * (uint64_t)nopal_body_limit(at.session);
	uint64_t carried = nopal_rate_bytes(arrival_bps, udt_trip(at));

	nopal_shared_set(at, UDT_WINDOW, (int64_t)(few + carried));
}

static bool udt_is_queued(struct nopal_at at)
{
	return !standing_queue_is_small(nopal_shared_get(at, UDT_SRTT),
					nopal_shared_get(at, UDT_MIN_RTT));
}

/* ------------------------------------------------------------ congestion events */

static void udt_cut(struct nopal_at at)
{
	struct udt_congestion *udt = nopal_state(at);

	udt->cuts++;
	udt_set_rate(at, nopal_scale(udt_rate(at), UDT_PERIOD_PER, UDT_PERIOD));
}

/* Slow start ends: what arrived is what the link takes.  Where nothing did yet, the rate is that of
 * the window, and reduced. */
static void udt_settle(struct nopal_at at)
{
	struct udt_congestion *udt = nopal_state(at);
	int64_t window = nopal_shared_get(at, UDT_WINDOW);
	uint64_t rate = udt->capacity_bps;

	udt->steady = true;
	udt->cuts = UDT_CUTS;
	udt->arrival_bps = rate;
	if (udt->filled_bps > rate)
		udt->filled_bps = rate;
	if (rate) {
		udt_set_rate(at, rate);
		udt_set_window(at, rate);
		return;
	}
	rate = nopal_rate_of((uint64_t)window, udt_trip(at));
	udt_set_rate(at, rate);
	udt_cut(at);
}

/* A new event draws how many reports of it it takes to reduce once more: as many as events have on
 * average, or fewer.  So not all flows that lost at the same time do the same. */
static void udt_report(struct nopal_at at, bool new_event)
{
	struct udt_congestion *udt = nopal_state(at);
	bool same_turn = udt->reported_ns == at.session->now_ns;
	uint64_t max;

	udt->reported_ns = at.session->now_ns;
	udt->lost = true;
	if (new_event) {
		udt->mean_reports += udt->reports - udt->mean_reports / UDT_FILTER;
		max = udt->mean_reports / UDT_FILTER + 1;
		udt->each = (uint32_t)(nopal_random(at.session) % max) + 1;
		udt->reports = 1;
		udt->cuts = 0;
		udt->filled_bps = udt_is_queued(at) ? udt_rate(at) : 0;
		if (udt->steady)
			udt_cut(at);
		else
			udt_settle(at);
		return;
	}
	if (same_turn)
		return;
	udt->reports++;
	if (udt->reports % udt->each || udt->cuts >= UDT_CUTS)
		return;
	udt_cut(at);
	loss_epoch_begin(at.session, &udt->epoch);
}

/* ------------------------------------------------------- what segments tell */

static enum nopal_verdict udt_congestion_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	struct udt_congestion *udt = nopal_state(at);

	delivery_stamp(at, &udt->delivery, segment, nopal_shared_get(at, UDT_IN_FLIGHT),
		       nopal_shared_get(at, UDT_APP_LIMITED));
	return NOPAL_CONTINUE;
}

static enum nopal_verdict udt_congestion_on_received(struct nopal_at at,
						     struct nopal_segment *segment)
{
	struct udt_congestion *udt = nopal_state(at);

	delivery_take(at, &udt->delivery, segment, nopal_shared_get(at, UDT_MIN_RTT));
	return NOPAL_CONTINUE;
}

static enum nopal_verdict udt_congestion_on_lost(struct nopal_at at, struct nopal_segment *segment)
{
	struct udt_congestion *udt = nopal_state(at);

	udt_report(at, loss_epoch_lost(at.session, &udt->epoch, segment));
	return NOPAL_CONTINUE;
}

static enum nopal_verdict udt_congestion_on_timeout(struct nopal_at at,
						    struct nopal_segment *segment)
{
	struct udt_congestion *udt = nopal_state(at);

	if (!loss_epoch_timed_out(at.session, &udt->epoch, segment))
		return NOPAL_CONTINUE;
	udt_report(at, true);
	udt_set_window(at, 0);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict udt_congestion_on_marked(struct nopal_at at,
						   struct nopal_session *subject)
{
	struct udt_congestion *udt = nopal_state(at);
	int64_t window = nopal_shared_get(at, UDT_WINDOW);

	(void)subject;
	if (loss_epoch_marked(at.session, &udt->epoch, window))
		udt_report(at, true);
	return NOPAL_CONTINUE;
}

/* --------------------------------------------------------- what an ack tells */

static void udt_learn(struct nopal_at at)
{
	struct udt_congestion *udt = nopal_state(at);
	int64_t interval = delivery_interval(at.session, &udt->delivery);
	uint64_t rate;

	/* The largest rate of delivery is the capacity, until a queue stands at less. */
	if (udt->delivery.sample.delivered >= udt->round_end) {
		udt->round_end = udt->delivery.delivered;
		if (udt_is_queued(at))
			udt->capacity_bps -= udt->capacity_bps / UDT_FADE;
	}
	/* Shorter than any round trip: it was an earlier transmission's ack. */
	if (interval <= 0 || interval < nopal_shared_get(at, UDT_MIN_RTT))
		return;
	rate = nopal_rate_of(delivery_amount(&udt->delivery, 0), interval);
	if (rate > udt->capacity_bps)
		udt->capacity_bps = rate;
	if (udt->delivery.sample.limited && rate < udt->arrival_bps)
		return;
	if (!udt->arrival_bps)
		udt->arrival_bps = rate;
	udt->arrival_bps += rate / UDT_FILTER - udt->arrival_bps / UDT_FILTER;
}

/* The step goes by the part of the link that is left.  Below the rate that filled a queue, or
 * little above, only a part of the capacity is taken to be left. */
static void udt_grow(struct nopal_at at)
{
	const struct udt_congestion_parameters *set = nopal_parameters(at);
	const struct udt_congestion *udt = nopal_state(at);
	bool queued = udt_is_queued(at);
	uint64_t rate = udt_rate(at);
	uint64_t filled = udt->filled_bps / UDT_PERIOD_PER * UDT_PERIOD;
	uint64_t capacity = udt->capacity_bps * (queued ? 1 : 2);
	uint64_t left = capacity > rate ? capacity - rate : 0;
	uint64_t decade = 1, step;

	if (left > capacity / UDT_CAUTION && rate < filled)
		left = capacity / UDT_CAUTION;
	if (!queued && left < UDT_ROOM_BPS)
		left = UDT_ROOM_BPS;
	while (decade < left)
		decade *= UDT_DECADE;
	step = decade / UDT_STEP_PER * UDT_STEP;
	if (step < UDT_STEP_MIN)
		step = UDT_STEP_MIN;
	udt_set_rate(at, rate + nopal_scale(step, NOPAL_SECOND, (uint64_t)set->interval_ns));
}

/* In slow start the window doubles in a round trip, and the rate spreads it. */
static enum nopal_verdict udt_congestion_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	const struct udt_congestion_parameters *set = nopal_parameters(at);
	struct udt_congestion *udt = nopal_state(at);
	bool limited = nopal_shared_get(at, UDT_APP_LIMITED);
	int64_t window = nopal_shared_get(at, UDT_WINDOW);

	if (!ack->newly_acked_bytes)
		return NOPAL_CONTINUE;
	if (udt->delivery.sample.any)
		udt_learn(at);
	delivery_end_ack(&udt->delivery);
	if (!udt->steady) {
		if (!limited)
			window += (int64_t)ack->newly_acked_bytes;
		nopal_shared_set(at, UDT_WINDOW, window);
		udt_set_rate(at, nopal_rate_of(UDT_START_SLACK * (uint64_t)window, udt_trip(at)));
		return NOPAL_CONTINUE;
	}
	udt_set_window(at, udt->arrival_bps);
	if (at.session->now_ns - udt->grown_ns >= set->interval_ns) {
		udt->grown_ns = at.session->now_ns;
		if (!udt->lost && !limited)
			udt_grow(at);
		udt->lost = false;
	}
	return NOPAL_CONTINUE;
}

static int udt_congestion_open(struct nopal_at at)
{
	const struct udt_congestion_parameters *set = nopal_parameters(at);
	struct udt_congestion *udt = nopal_state(at);

	udt->each = 1;
	udt->reported_ns = -1;
	nopal_shared_set(at, UDT_WINDOW, set->initial);
	return 0;
}

static enum nopal_verdict udt_congestion_on_open_session(struct nopal_at at,
							 struct nopal_session *subject)
{
	(void)subject;
	known_window_begin(at, UDT_WINDOW, UDT_KNOWN);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_udt_congestion = {
	NOPAL_DESCRIBE(udt_congestion, congestion,
		       "UDT congestion control: growth by the spare capacity of the link"),
	.provides =
		NOPAL_ROLES({ "congestion_policy", true }, { "window_policy" }, { "rate_policy" }),
	.needs = NOPAL_RELATIONS({ "acknowledgement", "policies act on arrivals and losses" },
				 { "rtt", "rate and round trip make a window" },
				 { "window_mechanism", "a mechanism has to keep to the window" },
				 { "rate_mechanism", "a mechanism has to keep to the rate" }),
	.promises = NOPAL_PROMISES(NOPAL_CONGESTION_CONTROLLED),
	.parameters_size = sizeof(struct udt_congestion_parameters),
	.parameters =
		NOPAL_PARAMETERS(NOPAL_NUMBER(udt_congestion, initial, "initial", SIZE, "16seg",
					      "1seg", "1000seg", "first window"),
				 NOPAL_NUMBER(udt_congestion, interval_ns, "interval", TIME, "10ms",
					      "1ms", "1s", "the rate grows once in it (SYN)")),
	.attributes = NOPAL_ATTRIBUTES(DELIVERY_ATTRIBUTES),
	.shared = NOPAL_SHARED(
		[UDT_WINDOW] = { "congestion_window_bytes", NOPAL_WRITE, 0, "room on the network" },
		[UDT_RATE] = { "sending_rate_bps", NOPAL_WRITE, 0,
			       "bits of bodies a second; 0: no limit" },
		[UDT_SRTT] = { "smoothed_rtt_ns", NOPAL_READ, 0, "the time that a window takes" },
		[UDT_MIN_RTT] = { "minimum_rtt_ns", NOPAL_READ, 0,
				  "the round trip without a queue" },
		[UDT_IN_FLIGHT] = { "bytes_in_flight", NOPAL_READ, 0, "bodies on the network" },
		[UDT_APP_LIMITED] = { "app_limited", NOPAL_READ_OPTIONAL, 0,
				      "1: the application had no more" },
		[UDT_KNOWN] = { "known_window_bytes", NOPAL_READ_OPTIONAL, 0,
				"first window of earlier sessions, where it is larger" }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(OPEN_SESSION, udt_congestion_on_open_session, .before = "connection"),
		NOPAL_ON(SEND_SEGMENT, udt_congestion_on_send, .kinds = NOPAL_CARRIED),
		NOPAL_ON(SEGMENT_RECEIVED, udt_congestion_on_received, .kinds = NOPAL_CARRIED,
			 .after = "loss_detection"),
		/* Before what is lost leaves again and is stamped anew. */
		NOPAL_ON(SEGMENT_LOST, udt_congestion_on_lost, .kinds = NOPAL_CARRIED,
			 .before = "reliability"),
		NOPAL_ON(SEGMENT_TIMEOUT, udt_congestion_on_timeout, .kinds = NOPAL_CARRIED,
			 .before = "reliability"),
		NOPAL_ON(ACK_PROCESSED, udt_congestion_on_ack, .after = "loss_detection"),
		NOPAL_ON(CONGESTION_MARKED, udt_congestion_on_marked)),
	.state_size = sizeof(struct udt_congestion),
	.open = udt_congestion_open,
};
