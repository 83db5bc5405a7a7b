/* SPDX-License-Identifier: MIT */
/*
 * bbr_congestion -- BBR congestion control, version 1.
 *
 *   startup --pipe is full--> drain --queue is gone--> probe bandwidth
 *                                                         |   ^
 *                                   least rtt is old: probe rtt
 *
 * The rate follows the largest delivery rate of the last ten rounds, the window is twice the
 * bandwidth-delay product.
 *
 * Parts of role path_model_modifier change single steps of it by shared variables (bbr_model.h):
 * loss_compensation, ack_train, standing_queue, queue_drain, ack_aggregation, usual_rtt,
 * marked_drain.  Without them this is the paper's BBR.
 *
 * Paper:     Cardwell, Cheng, Gunn, Yeganeh, Jacobson, BBR, ACM Queue 2016;
 *            draft-cardwell-iccrg-bbr-congestion-control-00 and
 *            draft-cheng-iccrg-delivery-rate-estimation-00.  As a policy: Bridges
 *            et al., CTP, ToN 2007, section III.D (b).
 * Differs:   the gain of startup is 4 ln 2 (BBR's own derivation of 2018), and a
 *            slow phase is never the first.  The first round of a recovery does not
 *            conserve packets.  A timeout during which nothing at all was delivered
 *            closes the window to four segments, not to one, and others leave it as
 *            it is.  The window is twice the product in startup, too, for the sender has
 *            no more than that unfinished; it has room for four segments on top where
 *            the draft has three send quanta.
 */
#include "bbr_filters.h"
#include "bbr_model.h"
#include "delivery_rate.h"
#include "known_window.h"

/* Shared variables: of all policies, of the model, of its modifiers. */
enum {
	BBR_WINDOW,
	BBR_RATE,
	BBR_LATEST_RTT,
	BBR_IN_FLIGHT,
	BBR_APP_LIMITED,
	BBR_KNOWN,

	BBR_BANDWIDTH,
	BBR_PATH_RTT,
	BBR_ROUND,
	BBR_SLOW,
	BBR_STARTING,
	BBR_SAMPLE,
	BBR_LIMITED,

	BBR_USUAL,
	BBR_OVERTOOK,
	BBR_EARLY,
	BBR_EARLY_LIMIT,
	BBR_ALSO_PASSED,
	BBR_MIN_BPS,
	BBR_MAX_BPS,
	BBR_OVERFLOWS,
	BBR_STANDS,
	BBR_BURST_BYTES,
	BBR_REQUESTS,
	BBR_SLOW_MAX,
	BBR_LOW_PERCENT,
};

enum bbr_mode {
	BBR_STARTUP,
	BBR_DRAIN,
	BBR_PROBE_BANDWIDTH,
	BBR_PROBE_RTT,
};
/* Gains in percent, as in the paper; 2.77 is 4 ln 2 (BBR's own derivation of startup, 2018). */
enum {
	BBR_UNITY = 100,
	BBR_STARTUP_GAIN = 277,
	BBR_DRAIN_GAIN = 36,
	BBR_PHASES = 8,
	BBR_SLOW_PHASE = 1,
	BBR_WINDOW_GAIN = 200,
	BBR_MIN_SEGMENTS = 4,
	BBR_JUMP = 3, /* bytes for each that is acked, below a rate that is known */
};
static const uint8_t bbr_phase_gain[BBR_PHASES] = { 125, 75, 100, 100, 100, 100, 100, 100 };
#define BBR_PROBE_RTT_NS (200 * NOPAL_MILLISECOND)

struct bbr_congestion_parameters {
	int64_t initial;
};

struct bbr_congestion {
	struct delivery delivery;
	struct delivery_round round;
	struct largest_rate rates;
	uint64_t bandwidth_bps; /* the largest of them */
	struct min_rtt min;
	struct full_pipe pipe;

	enum bbr_mode mode;
	uint32_t phase;
	int64_t phase_began_ns;
	int64_t low_since_ns; /* probe rtt: the window is reached; or -1 */
	uint64_t low_round_end;
	int64_t prior_window; /* before probe rtt */
	int64_t drains;	      /* drain requests that were met */
	bool overtakes;	      /* packets overtake: what the first ones told is void */
};

static uint32_t bbr_gain(const struct bbr_congestion *bbr)
{
	switch (bbr->mode) {
	case BBR_STARTUP:
		return BBR_STARTUP_GAIN;
	case BBR_DRAIN:
		return BBR_DRAIN_GAIN;
	case BBR_PROBE_BANDWIDTH:
		return bbr_phase_gain[bbr->phase];
	case BBR_PROBE_RTT:
		break;
	}
	return BBR_UNITY;
}

/* Bytes that a rate carries in the least round trip. */
static uint64_t bbr_carried(const struct bbr_congestion *bbr, uint64_t rate_bps)
{
	return nopal_rate_bytes(rate_bps, bbr->min.ns);
}

/* `percent` of the bandwidth-delay product, in bytes. */
static uint64_t bbr_product(const struct bbr_congestion *bbr, uint32_t percent)
{
	return nopal_scale(bbr_carried(bbr, bbr->bandwidth_bps), percent, BBR_UNITY);
}

static uint64_t bbr_in_flight(struct nopal_at at)
{
	return (uint64_t)nopal_shared_get(at, BBR_IN_FLIGHT);
}

/* The rate that startup goes to at once. */
static uint64_t bbr_min_bps(struct nopal_at at)
{
	return (uint64_t)nopal_shared_get(at, BBR_MIN_BPS);
}

/* The model, for the parts that modify it.  Slow: what leaves now is surely no more than the
 * bottleneck takes. */
static void bbr_publish(struct nopal_at at)
{
	const struct bbr_congestion *bbr = nopal_state(at);
	bool slow = bbr->mode == BBR_PROBE_RTT || bbr_gain(bbr) < BBR_UNITY;

	if (bbr->mode == BBR_STARTUP)
		slow = nopal_shared_get(at, BBR_WINDOW) <
		       (int64_t)bbr_carried(bbr, bbr_min_bps(at));
	nopal_shared_set(at, BBR_BANDWIDTH, (int64_t)bbr->bandwidth_bps);
	nopal_shared_set(at, BBR_PATH_RTT, bbr->min.ns);
	nopal_shared_set(at, BBR_ROUND, (int64_t)bbr->round.count);
	nopal_shared_set(at, BBR_SLOW, slow);
	nopal_shared_set(at, BBR_STARTING, bbr->mode == BBR_STARTUP);
}

/* ------------------------------------------------ events of single segments */

static enum nopal_verdict bbr_congestion_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	struct bbr_congestion *bbr = nopal_state(at);

	delivery_stamp(at, &bbr->delivery, segment, nopal_shared_get(at, BBR_IN_FLIGHT),
		       nopal_shared_get(at, BBR_APP_LIMITED));
	return NOPAL_CONTINUE;
}

/* Packets turned out to overtake each other: startup begins again. */
static void bbr_heed_overtaking(struct nopal_at at)
{
	struct bbr_congestion *bbr = nopal_state(at);
	int64_t rtt_ns = nopal_shared_get(at, BBR_OVERTOOK);

	if (!rtt_ns || bbr->overtakes)
		return;
	bbr->overtakes = true;
	bbr->min.old = true;
	if (rtt_ns > bbr->min.ns)
		bbr->min.ns = rtt_ns;
	full_pipe_begin(&bbr->pipe);
	bbr->mode = BBR_STARTUP;
	bbr_publish(at);
}

static enum nopal_verdict bbr_congestion_on_received(struct nopal_at at,
						     struct nopal_segment *segment)
{
	struct bbr_congestion *bbr = nopal_state(at);
	int64_t early_ns = nopal_shared_get(at, BBR_EARLY);

	bbr_heed_overtaking(at);
	delivery_take(at, &bbr->delivery, segment, early_ns > bbr->min.ns ? early_ns : bbr->min.ns);
	if (bbr->delivery.sample.any) {
		nopal_shared_set(at, BBR_SAMPLE, (int64_t)bbr->delivery.sample.packet_number);
		nopal_shared_set(at, BBR_LIMITED, bbr->delivery.sample.limited);
	}
	return NOPAL_CONTINUE;
}

static enum nopal_verdict bbr_congestion_on_timeout(struct nopal_at at,
						    struct nopal_segment *segment)
{
	struct bbr_congestion *bbr = nopal_state(at);

	/* Was anything at all delivered since the segment left? */
	if (nopal_get(at, segment, DELIVERY_BEFORE) >> DELIVERY_FLAG_BITS !=
	    bbr->delivery.delivered)
		return NOPAL_CONTINUE;
	nopal_shared_set(at, BBR_WINDOW, BBR_MIN_SEGMENTS * (int64_t)nopal_body_limit(at.session));
	bbr_publish(at);
	return NOPAL_CONTINUE;
}

/* ----------------------------------------------------------- the bandwidth */

static void bbr_note_rate(struct nopal_at at)
{
	struct bbr_congestion *bbr = nopal_state(at);
	int64_t interval = delivery_interval(at.session, &bbr->delivery);
	uint64_t early_max = (uint64_t)nopal_shared_get(at, BBR_EARLY_LIMIT);
	uint64_t passed = delivery_amount(&bbr->delivery, early_max) +
			  (uint64_t)nopal_shared_get(at, BBR_ALSO_PASSED);
	uint64_t rate;

	/* Shorter than any round trip: an earlier transmission was acknowledged. */
	if (interval <= 0 || interval < bbr->min.ns)
		return;
	rate = nopal_rate_of(passed, interval);
	if (!bbr->delivery.sample.limited || rate >= bbr->bandwidth_bps)
		bbr->bandwidth_bps = largest_rate_keep(&bbr->rates, bbr->round.count, rate);
}

/* ------------------------------------------------------------------- modes */

static void bbr_enter_phase(struct nopal_session *session, struct bbr_congestion *bbr,
			    uint32_t phase)
{
	bbr->mode = BBR_PROBE_BANDWIDTH;
	bbr->phase = phase % BBR_PHASES;
	bbr->phase_began_ns = session->now_ns;
}

/* At random, so that flows do not probe in step; never with the slow one. */
static void bbr_enter_probe_bandwidth(struct nopal_session *session, struct bbr_congestion *bbr)
{
	uint32_t skip = (uint32_t)(nopal_random(session) % (BBR_PHASES - 1));

	bbr_enter_phase(session, bbr, skip < BBR_SLOW_PHASE ? skip : skip + 1);
}

static void bbr_check_phase(struct nopal_at at)
{
	struct bbr_congestion *bbr = nopal_state(at);
	int64_t elapsed = at.session->now_ns - bbr->phase_began_ns;
	uint64_t in_flight = bbr_in_flight(at);
	uint32_t gain = bbr_gain(bbr);
	bool over = elapsed > bbr->min.ns;

	/* The fast phase has to reach its flight, the slow one its end. */
	if (gain > BBR_UNITY)
		over = over && (in_flight >= bbr_product(bbr, gain) || elapsed > 2 * bbr->min.ns);
	else if (gain < BBR_UNITY)
		over = in_flight <= bbr_product(bbr, BBR_UNITY) ||
		       elapsed > nopal_shared_get(at, BBR_SLOW_MAX) * bbr->min.ns;
	if (over)
		bbr_enter_phase(at.session, bbr, bbr->phase + 1);
}

/* The window of probe rtt: four segments, or a share of the product. */
static uint64_t bbr_low_window(struct nopal_at at)
{
	const struct bbr_congestion *bbr = nopal_state(at);
	uint32_t percent = (uint32_t)nopal_shared_get(at, BBR_LOW_PERCENT);
	uint64_t low = bbr_product(bbr, percent);
	uint64_t min = BBR_MIN_SEGMENTS * (uint64_t)nopal_body_limit(at.session);

	return low > min ? low : min;
}

/* The flight stays low for a round and 200 ms; where a share of the product is kept, the shorter of
 * both will do.  Then a window of four segments becomes what it was; a larger share grows back. */
static void bbr_check_probe_rtt(struct nopal_at at)
{
	struct bbr_congestion *bbr = nopal_state(at);
	bool shares = nopal_shared_get(at, BBR_LOW_PERCENT), round, lasted;

	/* The rate that four segments deliver says nothing of the bandwidth. */
	if (!shares)
		bbr->delivery.limited_until = bbr->delivery.delivered + bbr_in_flight(at);
	if (bbr->low_since_ns < 0) {
		if (bbr_in_flight(at) > bbr_low_window(at))
			return;
		bbr->low_since_ns = at.session->now_ns;
		bbr->low_round_end = bbr->delivery.delivered;
		return;
	}
	round = bbr->delivery.sample.delivered >= bbr->low_round_end;
	lasted = at.session->now_ns - bbr->low_since_ns > BBR_PROBE_RTT_NS;
	if (shares ? !round && !lasted : !round || !lasted)
		return;
	bbr->min.found_ns = at.session->now_ns;
	if (!shares)
		nopal_shared_set(at, BBR_WINDOW, bbr->prior_window);
	if (bbr->pipe.full)
		bbr_enter_probe_bandwidth(at.session, bbr);
	else
		bbr->mode = BBR_STARTUP;
}

static void bbr_check_mode(struct nopal_at at, bool rtt_is_old)
{
	struct bbr_congestion *bbr = nopal_state(at);

	if (nopal_shared_get(at, BBR_STANDS) || nopal_shared_get(at, BBR_OVERFLOWS))
		bbr->pipe.full = true;
	full_pipe_note(&bbr->pipe, bbr->round.began && !bbr->delivery.sample.limited,
		       bbr->bandwidth_bps);
	if (bbr->mode == BBR_STARTUP && bbr->pipe.full)
		bbr->mode = BBR_DRAIN;
	if (bbr->mode == BBR_DRAIN && bbr_in_flight(at) <= bbr_product(bbr, BBR_UNITY))
		bbr_enter_probe_bandwidth(at.session, bbr);
	else if (bbr->mode == BBR_PROBE_BANDWIDTH)
		bbr_check_phase(at);
	if (rtt_is_old && bbr->mode != BBR_PROBE_RTT) {
		bbr->mode = BBR_PROBE_RTT;
		bbr->low_since_ns = -1;
		bbr->prior_window = nopal_shared_get(at, BBR_WINDOW);
	}
	if (bbr->mode == BBR_PROBE_RTT)
		bbr_check_probe_rtt(at);
}

/* ----------------------------------------------------------- rate and window */

/* Before the pipe is full the rate only rises: early samples are small. */
static void bbr_set_rate(struct nopal_at at)
{
	const struct bbr_congestion_parameters *set = nopal_parameters(at);
	const struct bbr_congestion *bbr = nopal_state(at);
	uint64_t before = (uint64_t)nopal_shared_get(at, BBR_RATE);
	uint64_t min_bps = bbr_min_bps(at);
	uint64_t max_bps = (uint64_t)nopal_shared_get(at, BBR_MAX_BPS);
	uint64_t base = bbr->bandwidth_bps;
	uint64_t rate;

	if (!before && bbr->min.ns)
		base = nopal_rate_of((uint64_t)set->initial, bbr->min.ns);
	rate = nopal_scale(base, bbr_gain(bbr), BBR_UNITY);
	if (!bbr->pipe.full && max_bps && rate > max_bps)
		rate = max_bps;
	if (!bbr->pipe.full && rate < min_bps)
		rate = min_bps;
	if (rate && (bbr->pipe.full || rate > before))
		nopal_shared_set(at, BBR_RATE, (int64_t)rate);
}

static void bbr_set_window(struct nopal_at at, uint64_t acked)
{
	const struct bbr_congestion_parameters *set = nopal_parameters(at);
	const struct bbr_congestion *bbr = nopal_state(at);
	uint64_t min = BBR_MIN_SEGMENTS * (uint64_t)nopal_body_limit(at.session);
	uint64_t window = (uint64_t)nopal_shared_get(at, BBR_WINDOW);
	uint64_t max_bps = (uint64_t)nopal_shared_get(at, BBR_MAX_BPS);
	uint64_t target =
		bbr_product(bbr, BBR_WINDOW_GAIN) + (uint64_t)nopal_shared_get(at, BBR_BURST_BYTES);

	if (bbr->mode == BBR_STARTUP && max_bps)
		target = bbr_carried(bbr, max_bps);
	target += min;
	if (bbr->pipe.full)
		window = window + acked < target ? window + acked : target;
	else if (window < bbr_carried(bbr, bbr_min_bps(at)))
		window += BBR_JUMP * acked;
	else if (window < target || bbr->delivery.delivered < (uint64_t)set->initial)
		window += acked;
	if (bbr->mode == BBR_PROBE_RTT && window > bbr_low_window(at))
		window = bbr_low_window(at);
	nopal_shared_set(at, BBR_WINDOW, (int64_t)(window > min ? window : min));
}

static enum nopal_verdict bbr_congestion_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	struct bbr_congestion *bbr = nopal_state(at);
	int64_t rtt_ns = nopal_shared_get(at, BBR_USUAL);
	int64_t requests = nopal_shared_get(at, BBR_REQUESTS);
	bool old;

	bbr_heed_overtaking(at);
	/* A part asks for the queue to go: startup is over, or the slow phase begins. */
	if (requests != bbr->drains) {
		bbr->drains = requests;
		bbr->pipe.full = true;
		if (bbr->mode == BBR_PROBE_BANDWIDTH)
			bbr_enter_phase(at.session, bbr, BBR_SLOW_PHASE);
	}
	if (rtt_ns < 0)
		rtt_ns = bbr_timed_rtt(ack, nopal_shared_get(at, BBR_LATEST_RTT));
	old = min_rtt_take(&bbr->min, at.session->now_ns, rtt_ns);
	if (bbr->delivery.sample.any) {
		bbr->round.began = bbr->delivery.sample.delivered >= bbr->round.end;
		if (bbr->round.began) {
			bbr->round.count++;
			bbr->round.end = bbr->delivery.delivered;
		}
		bbr_note_rate(at);
		bbr_check_mode(at, old);
		bbr_set_rate(at);
	}
	bbr_set_window(at, ack->newly_acked_bytes);
	delivery_end_ack(&bbr->delivery);
	nopal_shared_set(at, BBR_SAMPLE, -1);
	bbr_publish(at);
	return NOPAL_CONTINUE;
}

static int bbr_congestion_open(struct nopal_at at)
{
	const struct bbr_congestion_parameters *set = nopal_parameters(at);
	struct bbr_congestion *bbr = nopal_state(at);

	full_pipe_begin(&bbr->pipe);
	bbr->min.found_ns = at.session->now_ns;
	nopal_shared_set(at, BBR_WINDOW, set->initial);
	return 0;
}

static enum nopal_verdict bbr_congestion_on_open_session(struct nopal_at at,
							 struct nopal_session *subject)
{
	(void)subject;
	known_window_begin(at, BBR_WINDOW, BBR_KNOWN);
	return NOPAL_CONTINUE;
}

static const struct nopal_shared bbr_congestion_shared[] = {
	[BBR_WINDOW] = { "congestion_window_bytes", NOPAL_WRITE, 0, "room on the network" },
	[BBR_RATE] = { "sending_rate_bps", NOPAL_WRITE, 0, "bits of bodies a second; 0: no limit" },
	[BBR_LATEST_RTT] = { "latest_rtt_ns", NOPAL_READ, 0, "samples of the least round trip" },
	[BBR_IN_FLIGHT] = { "bytes_in_flight", NOPAL_READ, 0, "bodies on the network" },
	[BBR_APP_LIMITED] = { "app_limited", NOPAL_READ_OPTIONAL, 0, "1: nothing more to send" },
	[BBR_KNOWN] = { "known_window_bytes", NOPAL_READ_OPTIONAL, 0,
			"first window of earlier sessions, where it is larger" },
	[BBR_BANDWIDTH] = { BBR_MODEL_BANDWIDTH(NOPAL_WRITE) },
	[BBR_PATH_RTT] = { BBR_MODEL_MIN_RTT(NOPAL_WRITE) },
	[BBR_ROUND] = { BBR_MODEL_ROUND(NOPAL_WRITE) },
	[BBR_SLOW] = { BBR_MODEL_SLOW(NOPAL_WRITE) },
	[BBR_STARTING] = { BBR_MODEL_STARTING(NOPAL_WRITE) },
	[BBR_SAMPLE] = { BBR_MODEL_SAMPLE(NOPAL_WRITE) },
	[BBR_LIMITED] = { BBR_MODEL_LIMITED(NOPAL_WRITE) },
	[BBR_USUAL] = { BBR_USUAL_RTT(NOPAL_READ_OPTIONAL) },
	[BBR_OVERTOOK] = { BBR_OVERTAKEN(NOPAL_READ_OPTIONAL) },
	[BBR_EARLY] = { BBR_EARLY_RTT(NOPAL_READ_OPTIONAL) },
	[BBR_EARLY_LIMIT] = { BBR_EARLY_MAX(NOPAL_READ_OPTIONAL) },
	[BBR_ALSO_PASSED] = { BBR_PASSED(NOPAL_READ_OPTIONAL) },
	[BBR_MIN_BPS] = { BBR_STARTUP_MIN(NOPAL_READ_OPTIONAL) },
	[BBR_MAX_BPS] = { BBR_STARTUP_MAX(NOPAL_READ_OPTIONAL) },
	[BBR_OVERFLOWS] = { BBR_LOSES(NOPAL_READ_OPTIONAL) },
	[BBR_STANDS] = { BBR_QUEUE_STANDS(NOPAL_READ_OPTIONAL) },
	[BBR_BURST_BYTES] = { BBR_BURST(NOPAL_READ_OPTIONAL) },
	[BBR_REQUESTS] = { BBR_DRAINS(NOPAL_READ_OPTIONAL) },
	[BBR_SLOW_MAX] = { BBR_SLOW_ROUNDS(NOPAL_READ_OPTIONAL) },
	[BBR_LOW_PERCENT] = { BBR_PROBE_RTT_PERCENT(NOPAL_READ_OPTIONAL) },
	{ 0 },
};

static const struct nopal_role bbr_congestion_provides[] = {
	{ "congestion_policy", true },
	{ "window_policy" },
	{ "rate_policy" },
	{ "path_model", true },
	{ 0 },
};

const struct nopal_microprotocol nopal_bbr_congestion = {
	NOPAL_DESCRIBE(bbr_congestion, congestion, "BBR congestion control, version 1"),
	.provides = bbr_congestion_provides,
	.standard = "path_model",
	.needs = NOPAL_RELATIONS({ "acknowledgement", "its model is made of what arrived when" },
				 { "rtt", "the delay is half of its model" },
				 { "window_mechanism", "a mechanism has to keep to the window" },
				 { "rate_mechanism", "a mechanism has to keep to the rate" }),
	.promises = NOPAL_PROMISES(NOPAL_CONGESTION_CONTROLLED),
	.parameters_size = sizeof(struct bbr_congestion_parameters),
	.parameters = NOPAL_PARAMETERS(NOPAL_NUMBER(bbr_congestion, initial, "initial", SIZE,
						    "10seg", "1seg", "1000seg",
						    "first window (RFC 6928: ten segments)")),
	.attributes = NOPAL_ATTRIBUTES(DELIVERY_ATTRIBUTES),
	.shared = bbr_congestion_shared,
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(OPEN_SESSION, bbr_congestion_on_open_session, .before = "connection"),
		NOPAL_ON(SEND_SEGMENT, bbr_congestion_on_send, .kinds = NOPAL_CARRIED),
		NOPAL_ON(SEGMENT_RECEIVED, bbr_congestion_on_received, .kinds = NOPAL_CARRIED,
			 .after = "loss_detection"),
		/* Before what is lost leaves again and is stamped anew. */
		NOPAL_ON(SEGMENT_TIMEOUT, bbr_congestion_on_timeout, .kinds = NOPAL_CARRIED,
			 .before = "reliability"),
		NOPAL_ON(ACK_PROCESSED, bbr_congestion_on_ack,
			 .after = "loss_detection|path_model_modifier")),
	.state_size = sizeof(struct bbr_congestion),
	.open = bbr_congestion_open,
};
