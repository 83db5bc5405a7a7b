/* SPDX-License-Identifier: MIT */
/*
 * bbr_congestion -- send at the bottleneck's rate, whatever share gets lost.
 *
 *   startup --pipe is full--> drain --queue is gone--> probe bandwidth
 *                                                         |   ^
 *                                   least rtt is old: probe rtt
 *
 * The rate follows the largest delivery rate of the last ten rounds, the window is twice the
 * bandwidth-delay product.
 *
 * Paper:     Cardwell, Cheng, Gunn, Yeganeh, Jacobson, BBR, ACM Queue 2016.  As
 *            a policy: Bridges et al., CTP, ToN 2007, section III.D (b).
 * Differs:   (1) Loss behind the bottleneck.  BBR sends at the rate of delivery;
 *            where a share p is lost behind the bottleneck, that is (1 - p) of
 *            what the bottleneck passed, and the link is left idle in part.
 *            Here what was lost within a sample counts as passed, up to the
 *            share that is random.  The random share is measured on departures
 *            in slow phases alone (drain, gain 0.75, probe rtt): loss that our
 *            own sending causes is absent there.  A slow phase that still sees
 *            a queue counts as free of loss, so that a share that was taken too
 *            large fades; it is never above one third.
 *            (2) Loss does not end startup; a round trip in which every sample
 *            met a queue does, or three rounds without growth.  Where the first
 *            window told the bottleneck's rate (ack_train.h), startup grows
 *            fourfold a round up to that and by half beyond it, and ends with
 *            less than a product in the queue.  Up to that rate it is slow as
 *            said in (1): loss there is random.  Beyond it, a round that loses far
 *            more ends startup, too: so does a queue too short to be seen.
 *            (3) The slow phase lasts until the queue is gone, or four round
 *            trips: an estimate that is a little too large would else build a
 *            queue over many phases.  probe rtt keeps half a bandwidth-delay
 *            product, for a round or 200 ms.
 *            (4) A timeout during which nothing at all was delivered closes the
 *            window to four segments, which then opens as acks arrive.
 *            (5) The window allows for the largest ack burst of late.
 *            (6) The least round trip is one that most packets have, not that of
 *            one that jumped the queue (least_rtt.h).  Where packets or acks
 *            overtake, startup begins again, for what it was told is void; what
 *            an ack tells early is no bandwidth, and a loss that was none is
 *            taken back.
 *            (7) A mark of congestion ends startup, or begins the slow phase,
 *            once a round trip; BBR ignores it.
 * Needs:     acknowledgement, rtt, window_mechanism, rate_mechanism.
 * Provides:  congestion_policy, window_policy, rate_policy.
 * Excludes:  nothing.
 * Handles:   OPEN_SESSION, SEND_SEGMENT, SEGMENT_RECEIVED, SEGMENT_LOST,
 *            SEGMENT_TIMEOUT, ACK_PROCESSED, CONGESTION_MARKED.
 * Raises:    nothing.
 * Holds:     nothing.
 * Wire:      nothing.
 * Shares:    writes congestion_window_bytes, sending_rate_bps; reads
 *            latest_rtt_ns, bytes_in_flight, app_limited, known_window_bytes
 *            (optional, 0): a larger first window.
 * Parameters: initial (default 10seg): first window; compensate (default on):
 *            count random loss as passed by the bottleneck.
 */
#include "ack_burst.h"
#include "ack_train.h"
#include "bbr_gain.h"
#include "delivery_rate.h"
#include "full_pipe.h"
#include "known_window.h"
#include "largest_rate.h"
#include "least_rtt.h"
#include "random_loss.h"

enum { BBR_LATE = DELIVERY_NEXT }; /* attributes */
enum {
	BBR_WINDOW,
	BBR_RATE,
	BBR_LATEST_RTT,
	BBR_IN_FLIGHT,
	BBR_APP_LIMITED,
	BBR_KNOWN,
};
/* Lengths in rounds are those of the paper. */
enum {
	BBR_WINDOW_GAIN = 200,
	BBR_PROBE_RTT_SHARE = 50,
	BBR_BURST_ROUNDS = 5,
	BBR_SLOW_MOST = 4, /* least round trips */
	BBR_LEAST_SEGMENTS = 4,
};
#define BBR_PROBE_RTT_NS (200 * NOPAL_MILLISECOND)

struct bbr_congestion_parameters {
	int64_t initial;
	int64_t compensate;
};

struct bbr_congestion {
	struct delivery delivery;

	struct delivery_round round;
	uint64_t marks_until; /* packets below were out at the last mark */
	struct largest_rate rates;
	uint64_t bandwidth_bps; /* the largest of them */
	struct least_rtt least;
	struct random_loss loss; /* of slow phases */
	struct ack_train train;	 /* the first window */
	struct ack_burst burst;
	struct full_pipe pipe;

	enum bbr_mode mode;
	uint32_t phase;
	int64_t phase_began_ns;
	int64_t low_since_ns; /* probe rtt: the window is reached; or -1 */
	uint64_t low_round_end;
};

static uint32_t bbr_gain(const struct bbr_congestion *bbr)
{
	return bbr_gain_of(bbr->mode, bbr->phase);
}

/* Bytes that a rate carries in the least round trip. */
static uint64_t bbr_carried(const struct bbr_congestion *bbr, uint64_t rate_bps)
{
	return nopal_rate_bytes(rate_bps, bbr->least.ns);
}

/* `percent` of the bandwidth-delay product, in bytes. */
static uint64_t bbr_product(const struct bbr_congestion *bbr, uint32_t percent)
{
	return nopal_scale(bbr_carried(bbr, bbr->bandwidth_bps), percent, BBR_UNITY);
}

static uint64_t bbr_in_flight(struct nopal_at at)
{
	return (uint64_t)nopal_shared(at, BBR_IN_FLIGHT);
}

/* Is what leaves now surely no more than the bottleneck takes? */
static bool bbr_is_slow(struct nopal_at at)
{
	const struct bbr_congestion *bbr = nopal_state(at);

	if (bbr->mode == BBR_STARTUP)
		return nopal_shared(at, BBR_WINDOW) <
		       (int64_t)bbr_carried(bbr, bbr->train.rate_bps);
	return bbr->mode == BBR_PROBE_RTT || bbr_gain(bbr) < BBR_UNITY;
}

/* ------------------------------------------------------- what segments tell */

static enum nopal_verdict bbr_congestion_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	struct bbr_congestion *bbr = nopal_state(at);
	uint64_t in_flight = bbr_in_flight(at);
	bool slow = bbr_is_slow(at);

	if (nopal_shared(at, BBR_APP_LIMITED))
		bbr->delivery.limited_until = bbr->delivery.delivered + in_flight;
	delivery_stamp(at, &bbr->delivery, segment, in_flight, slow);
	return NOPAL_CONTINUE;
}

/* It turned out that packets overtake: what the first ones told is void. */
static void bbr_begin_again(struct bbr_congestion *bbr)
{
	bbr->train.rate_bps = 0;
	full_pipe_begin(&bbr->pipe);
	bbr->mode = BBR_STARTUP;
}

static enum nopal_verdict bbr_congestion_on_received(struct nopal_at at,
						     struct nopal_segment *segment)
{
	struct bbr_congestion *bbr = nopal_state(at);
	int64_t late_ns = nopal_has(at, BBR_LATE) ? (int64_t)nopal_get(at, segment, BBR_LATE) : 0;

	if (late_ns)
		delivery_undo_loss(&bbr->delivery, segment);
	else if (segment->departures == 1)
		late_ns = segment->departed_ns;
	if (late_ns &&
	    least_rtt_segment(&bbr->least, at.session->now_ns - late_ns, segment->packet_number))
		bbr_begin_again(bbr);
	delivery_take(at, &bbr->delivery, segment,
		      least_rtt_age(&bbr->least, nopal_shared(at, BBR_LATEST_RTT)));
	if (delivery_is_marked(at, segment))
		random_loss_count(&bbr->loss, segment, false);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict bbr_congestion_on_lost(struct nopal_at at, struct nopal_segment *segment)
{
	struct bbr_congestion *bbr = nopal_state(at);

	bbr->delivery.lost += segment->body.length;
	if (delivery_is_marked(at, segment))
		random_loss_count(&bbr->loss, segment, true);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict bbr_congestion_on_timeout(struct nopal_at at,
						    struct nopal_segment *segment)
{
	struct bbr_congestion *bbr = nopal_state(at);

	if (delivery_is_silent(at, &bbr->delivery, segment))
		nopal_share(at, BBR_WINDOW,
			    BBR_LEAST_SEGMENTS * (int64_t)nopal_body_limit(at.session));
	return bbr_congestion_on_lost(at, segment);
}

/* --------------------------------------------------------- what an ack tells */

static void bbr_note_round(struct nopal_at at)
{
	struct bbr_congestion *bbr = nopal_state(at);
	uint64_t delivered, lost;

	if (delivery_round_ends(&bbr->round, &bbr->delivery, &delivered, &lost) &&
	    bbr->mode == BBR_STARTUP && bbr->train.rate_bps && !bbr_is_slow(at))
		bbr->pipe.full |= random_loss_exceeded(at.session, &bbr->loss, delivered, lost);
}

/* What the bottleneck passed in the interval of the sample. */
static uint64_t bbr_passed(struct nopal_at at)
{
	const struct bbr_congestion_parameters *set = nopal_parameters(at);
	const struct bbr_congestion *bbr = nopal_state(at);
	uint64_t delivered = delivery_amount(
		&bbr->delivery, least_rtt_early(&bbr->least, bbr_product(bbr, BBR_UNITY),
						nopal_body_limit(at.session)));
	uint64_t lost = delivery_lost(&bbr->delivery);

	if (!set->compensate)
		return delivered;
	return random_loss_passed(at.session, &bbr->loss, delivered, lost);
}

static void bbr_note_rate(struct nopal_at at)
{
	struct bbr_congestion *bbr = nopal_state(at);
	int64_t interval = delivery_interval(at.session, &bbr->delivery);
	uint64_t rate;

	/* Shorter than any round trip: it was an earlier departure's ack. */
	if (interval <= 0 || interval < bbr->least.ns)
		return;
	rate = nopal_rate_of(bbr_passed(at), interval);
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
	bool over = elapsed > bbr->least.ns;

	/* The fast phase has to reach its flight, the slow one its end. */
	if (gain > BBR_UNITY)
		over = over && (in_flight >= bbr_product(bbr, gain) || elapsed > 2 * bbr->least.ns);
	else if (gain < BBR_UNITY)
		over = in_flight <= bbr_product(bbr, BBR_UNITY) ||
		       elapsed > BBR_SLOW_MOST * bbr->least.ns;
	if (over)
		bbr_enter_phase(at.session, bbr, bbr->phase + 1);
}

static void bbr_leave_probe_rtt(struct nopal_session *session, struct bbr_congestion *bbr)
{
	bbr->least.found_ns = session->now_ns;
	if (bbr->pipe.full)
		bbr_enter_probe_bandwidth(session, bbr);
	else
		bbr->mode = BBR_STARTUP;
}

static uint64_t bbr_low_window(struct nopal_session *session, const struct bbr_congestion *bbr)
{
	uint64_t low = bbr_product(bbr, BBR_PROBE_RTT_SHARE);
	uint64_t least = BBR_LEAST_SEGMENTS * (uint64_t)nopal_body_limit(session);

	return low > least ? low : least;
}

static void bbr_check_probe_rtt(struct nopal_at at)
{
	struct bbr_congestion *bbr = nopal_state(at);

	if (bbr->low_since_ns < 0) {
		if (bbr_in_flight(at) > bbr_low_window(at.session, bbr))
			return;
		bbr->low_since_ns = at.session->now_ns;
		bbr->low_round_end = bbr->delivery.delivered;
	} else if (bbr->delivery.sample.delivered >= bbr->low_round_end ||
		   at.session->now_ns - bbr->low_since_ns > BBR_PROBE_RTT_NS) {
		bbr_leave_probe_rtt(at.session, bbr);
	}
}

static void bbr_check_mode(struct nopal_at at, bool rtt_is_old)
{
	struct bbr_congestion *bbr = nopal_state(at);

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
	}
	if (bbr->mode == BBR_PROBE_RTT)
		bbr_check_probe_rtt(at);
}

/* A queue stands: what made it is over, and it goes. */
static enum nopal_verdict bbr_congestion_on_marked(struct nopal_at at,
						   struct nopal_session *subject)
{
	struct bbr_congestion *bbr = nopal_state(at);

	(void)subject;
	if (!bbr->bandwidth_bps || nopal_oldest_departure(at.session) < bbr->marks_until)
		return NOPAL_CONTINUE;
	bbr->marks_until = nopal_next_packet_number(at.session);
	bbr->pipe.full = true;
	if (bbr->mode == BBR_STARTUP)
		bbr->mode = BBR_DRAIN;
	else if (bbr->mode == BBR_PROBE_BANDWIDTH)
		bbr_enter_phase(at.session, bbr, BBR_SLOW_PHASE);
	return NOPAL_CONTINUE;
}

/* ------------------------------------------------------------ what is shared */

/* Before the pipe is full the rate only rises: early samples are small. */
static void bbr_set_rate(struct nopal_at at)
{
	const struct bbr_congestion_parameters *set = nopal_parameters(at);
	const struct bbr_congestion *bbr = nopal_state(at);
	uint64_t before = (uint64_t)nopal_shared(at, BBR_RATE);
	uint64_t base = bbr->bandwidth_bps;
	uint64_t rate;

	if (!before && bbr->least.ns)
		base = nopal_rate_of((uint64_t)set->initial, bbr->least.ns);
	rate = nopal_scale(base, bbr_gain(bbr), BBR_UNITY);
	if (!bbr->pipe.full)
		rate = ack_train_pace(&bbr->train, base, rate);
	if (rate && (bbr->pipe.full || rate > before))
		nopal_share(at, BBR_RATE, (int64_t)rate);
}

/* While the bandwidth grows, acks run ahead of it in any case: no bursts. */
static uint64_t bbr_target(const struct bbr_congestion *bbr)
{
	if (bbr->mode == BBR_STARTUP && bbr->train.rate_bps)
		return nopal_scale(
			bbr_carried(bbr, ack_train_known(&bbr->train, bbr->bandwidth_bps)),
			ACK_TRAIN_GAIN, BBR_UNITY);
	if (bbr->mode == BBR_STARTUP && bbr->least.overtakes)
		return bbr_product(bbr, BBR_STARTUP_GAIN);
	return bbr_product(bbr, BBR_WINDOW_GAIN) + ack_burst_largest(&bbr->burst);
}

static void bbr_set_window(struct nopal_at at, uint64_t acked)
{
	const struct bbr_congestion_parameters *set = nopal_parameters(at);
	const struct bbr_congestion *bbr = nopal_state(at);
	uint32_t segment = nopal_body_limit(at.session);
	uint64_t window = (uint64_t)nopal_shared(at, BBR_WINDOW);
	uint64_t target = bbr_target(bbr) + BBR_LEAST_SEGMENTS * (uint64_t)segment;

	if (bbr->pipe.full)
		window = window + acked < target ? window + acked : target;
	else if (window < bbr_carried(bbr, bbr->train.rate_bps))
		window += ACK_TRAIN_GROWTH * acked;
	else if (window < target || bbr->delivery.delivered < (uint64_t)set->initial)
		window += acked;
	if (bbr->mode == BBR_PROBE_RTT && window > bbr_low_window(at.session, bbr))
		window = bbr_low_window(at.session, bbr);
	if (window < BBR_LEAST_SEGMENTS * (uint64_t)segment)
		window = BBR_LEAST_SEGMENTS * (uint64_t)segment;
	nopal_share(at, BBR_WINDOW, (int64_t)window);
}

/* From the sample of an ack; `rtt_ns`: its round trip, or 0. */
static void bbr_learn(struct nopal_at at, int64_t rtt_ns, bool old)
{
	struct bbr_congestion *bbr = nopal_state(at);

	bbr_note_round(at);
	full_pipe_meet(&bbr->pipe, at.session->now_ns, rtt_ns, bbr->least.ns,
		       bbr->delivery.sample.limited);
	random_loss_end_ack(at.session, &bbr->loss,
			    !standing_queue_is_small(rtt_ns, bbr->least.ns));
	bbr_note_rate(at);
	if (bbr->round.began && bbr->round.count % BBR_BURST_ROUNDS == 0)
		ack_burst_turn(&bbr->burst);
	ack_burst_note(&bbr->burst, at.session->now_ns, bbr->delivery.delivered, bbr->bandwidth_bps,
		       bbr_product(bbr, BBR_UNITY));
	/* What left before anything arrived left in the first window. */
	if (!bbr->delivery.sample.delivered && !bbr->least.overtakes)
		ack_train_note(&bbr->train, at.session->now_ns, bbr->delivery.delivered);
	bbr_check_mode(at, old);
	bbr_set_rate(at);
}

static enum nopal_verdict bbr_congestion_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	struct bbr_congestion *bbr = nopal_state(at);
	bool timed = ack->largest_is_new && ack->largest_sent_ns >= 0;
	int64_t rtt = timed ? nopal_shared(at, BBR_LATEST_RTT) : 0;
	bool old;

	if (least_rtt_ack(&bbr->least, ack))
		bbr_begin_again(bbr);
	old = least_rtt_take(&bbr->least, at.session->now_ns, rtt);
	if (bbr->delivery.sample.any)
		bbr_learn(at, rtt, old);
	bbr_set_window(at, ack->newly_acked_bytes);
	delivery_end_ack(&bbr->delivery);
	return NOPAL_CONTINUE;
}

static int bbr_congestion_open(struct nopal_at at)
{
	const struct bbr_congestion_parameters *set = nopal_parameters(at);
	struct bbr_congestion *bbr = nopal_state(at);

	full_pipe_begin(&bbr->pipe);
	bbr->least.found_ns = at.session->now_ns;
	nopal_share(at, BBR_WINDOW, set->initial);
	return 0;
}

static enum nopal_verdict bbr_congestion_on_open_session(struct nopal_at at,
							 struct nopal_session *subject)
{
	(void)subject;
	known_window_begin(at, BBR_WINDOW, BBR_KNOWN);
	return NOPAL_CONTINUE;
}

static const struct nopal_parameter bbr_congestion_parameters[] = {
	NOPAL_NUMBER(bbr_congestion, initial, "initial", SIZE, "10seg", "1seg", "1000seg",
		     "first window (RFC 6928: ten segments)"),
	NOPAL_ON_OFF(bbr_congestion, compensate, "compensate", "on",
		     "count random loss as passed by the bottleneck"),
	{ 0 },
};

static const struct nopal_binding bbr_congestion_bindings[] = {
	NOPAL_ON(OPEN_SESSION, bbr_congestion_on_open_session, .before = "connection"),
	NOPAL_ON(SEND_SEGMENT, bbr_congestion_on_send, .kinds = NOPAL_CARRIED),
	NOPAL_ON(SEGMENT_RECEIVED, bbr_congestion_on_received, .kinds = NOPAL_CARRIED,
		 .after = "loss_detection"),
	/* Before what is lost leaves again and is stamped anew. */
	NOPAL_ON(SEGMENT_LOST, bbr_congestion_on_lost, .kinds = NOPAL_CARRIED,
		 .before = "reliability"),
	NOPAL_ON(SEGMENT_TIMEOUT, bbr_congestion_on_timeout, .kinds = NOPAL_CARRIED,
		 .before = "reliability"),
	NOPAL_ON(ACK_PROCESSED, bbr_congestion_on_ack, .after = "loss_detection"),
	NOPAL_ON(CONGESTION_MARKED, bbr_congestion_on_marked),
	{ 0 },
};

static const struct nopal_relation bbr_congestion_needs[] = {
	{ "acknowledgement", "its model is made of what arrived when" },
	{ "rtt", "the delay is half of its model" },
	{ "window_mechanism", "somebody has to keep the window" },
	{ "rate_mechanism", "somebody has to keep the rate" },
	{ 0 },
};

static const struct nopal_attribute bbr_congestion_attributes[] = {
	DELIVERY_ATTRIBUTES,
	[BBR_LATE] = { "late_left_ns", NOPAL_READ_OPTIONAL },
	{ 0 },
};

static const struct nopal_shared bbr_congestion_shared[] = {
	[BBR_WINDOW] = { "congestion_window_bytes", NOPAL_WRITE, 0, "room on the network" },
	[BBR_RATE] = { "sending_rate_bps", NOPAL_WRITE, 0, "bits of bodies a second; 0: no limit" },
	[BBR_LATEST_RTT] = { "latest_rtt_ns", NOPAL_READ, 0, "samples of the least round trip" },
	[BBR_IN_FLIGHT] = { "bytes_in_flight", NOPAL_READ, 0, "bodies on the network" },
	[BBR_APP_LIMITED] = { "app_limited", NOPAL_READ_OPTIONAL, 0, "1: nothing more to send" },
	[BBR_KNOWN] = { "known_window_bytes", NOPAL_READ_OPTIONAL, 0, "of earlier sessions" },
	{ 0 },
};

const struct nopal_microprotocol nopal_bbr_congestion = {
	.abi = NOPAL_ABI,
	.name = "bbr_congestion",
	.family = "congestion",
	.summary = "send at the bottleneck's rate, whatever share gets lost",
	.provides =
		NOPAL_ROLES({ "congestion_policy", true }, { "window_policy" }, { "rate_policy" }),
	.needs = bbr_congestion_needs,
	.promises = NOPAL_PROMISES(NOPAL_CONGESTION_CONTROLLED),
	.parameters_size = sizeof(struct bbr_congestion_parameters),
	.parameters = bbr_congestion_parameters,
	.attributes = bbr_congestion_attributes,
	.shared = bbr_congestion_shared,
	.bindings = bbr_congestion_bindings,
	.state_size = sizeof(struct bbr_congestion),
	.open = bbr_congestion_open,
};
