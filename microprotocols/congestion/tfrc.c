/* SPDX-License-Identifier: MIT */
/*
 * tfrc -- TFRC (RFC 5348): no faster than TCP would be on such a path, but smoothly.
 *
 *   slow start --first loss event--> equation
 *       no acks for four round trips: half of either
 *
 * Once a round trip, and at each loss event, the rate becomes what TCP's response equation gives
 * for the measured rate of loss events; never more than twice the bytes acknowledged in a round
 * trip.  Before the first loss the rate doubles.
 *
 * Paper:     RFC 5348 (Floyd, Handley, Padhye, Widmer, TFRC), sections 3.1, 4 and
 *            5; Floyd, Handley, Padhye, Widmer, Equation-based congestion control
 *            for unicast applications, SIGCOMM 2000.  As a policy: Bridges et al.,
 *            CTP, ToN 2007, section III.D (b).
 * Differs:   all is computed at the sender: acknowledgements tell which segments arrived, so loss
 *            events are made of transmissions that are known to be lost or timed out, by their own
 *            times of transmission, and the receive rate is that of acknowledged bytes.
 *            A segment is a full one, also where they are short: these get the bytes of full ones,
 *            as RFC 4828 has it, but for headers.  The round trip is smoothed by the role rtt.
 *            A timeout while nothing that left later is acknowledged is silence, as it is for a
 *            receiver, and one event when that ends.  While segments are acknowledged, one a round
 *            trip may leave, as with the least window of TCP, whatever was lost
 *            before: the sender comes back from a storm as soon as that is over, not after many
 *            times t_mbi.  Before the first round trip one bucket of the rate mechanism may leave,
 *            not one packet.  Integers only.
 */
#include "loss_intervals.h"
#include "response_equation.h"

enum { TFRC_RATE, TFRC_SRTT, TFRC_LATEST_RTT, TFRC_KNOWN }; /* shared variables */
enum { TFRC_SILENCE };					    /* timers */

enum {
	TFRC_SLOWEST_S = 64,  /* t_mbi: a segment in so many seconds at least */
	TFRC_RECEIVED = 2,    /* receive rates that are kept: section 4.3 */
	TFRC_SILENT_RTTS = 4, /* section 4.4 */
	TFRC_SILENT_SEGMENTS = 2,
	TFRC_FIRST_LOST = 5, /* packets from event to event, where nothing is known:
				f(p) = 2, section 6.3.1 */
	/* Less than that share of what it may send: the application limits. */
	TFRC_LIMITED_PART = 7,
	TFRC_LIMITED_PARTS = 8,
	/* q2 of section 4.5, and bits that a root keeps. */
	TFRC_DAMPING = 9,
	TFRC_DAMPING_PARTS = 10,
	TFRC_ROOT_BITS = 10,
	TFRC_MAX_DAMPING = 2,
};
#define TFRC_SILENT_FIRST (2 * NOPAL_SECOND) /* section 4.2 */

struct tfrc_parameters {
	int64_t initial, damping;
};

struct tfrc {
	struct loss_intervals intervals;
	uint64_t largest;		      /* packet number that was acknowledged */
	uint64_t rate_bps;		      /* X */
	uint64_t received_bps[TFRC_RECEIVED]; /* X_recv_set, newest first */
	int64_t doubled_ns;		      /* slow start: last doubling */
	bool heard;			      /* there was an ack */
	bool answered;			      /* and nothing was missing since the last */

	/* The first that was timed out beyond `largest`. */
	uint64_t timed_out;
	int64_t timed_out_left_ns;
	bool any_timed_out;

	int64_t round_began_ns;
	uint64_t round_acked, round_sent; /* bytes */
	bool sent;			  /* something left since the silence is timed */
	uint64_t root_mean;		  /* of round trips: R_sqmean */
};

/* W_init / R; 0 before the first round trip. */
static uint64_t tfrc_initial(struct nopal_at at)
{
	const struct tfrc_parameters *set = nopal_parameters(at);
	int64_t srtt = nopal_shared_get(at, TFRC_SRTT);

	return srtt > 0 ? nopal_rate_of((uint64_t)set->initial, srtt) : 0;
}

static uint64_t tfrc_received_max(const struct tfrc *tfrc)
{
	return tfrc->received_bps[0] > tfrc->received_bps[1] ? tfrc->received_bps[0]
							     : tfrc->received_bps[1];
}

/* ------------------------------------------------------------------ the rate */

/* Of the latest round trip. */
static uint64_t tfrc_root(struct nopal_at at)
{
	uint64_t latest = (uint64_t)nopal_shared_get(at, TFRC_LATEST_RTT);

	return response_root(latest << (2 * TFRC_ROOT_BITS));
}

static void tfrc_note_root(struct nopal_at at)
{
	struct tfrc *tfrc = nopal_state(at);
	uint64_t root = tfrc_root(at);

	if (tfrc->root_mean)
		root = (TFRC_DAMPING * tfrc->root_mean + root) / TFRC_DAMPING_PARTS;
	tfrc->root_mean = root;
}

/* Section 4.5: the shorter this round trip against the usual, the faster. */
static void tfrc_share(struct nopal_at at)
{
	const struct tfrc_parameters *set = nopal_parameters(at);
	struct tfrc *tfrc = nopal_state(at);
	int64_t srtt = nopal_shared_get(at, TFRC_SRTT), slowest_ns = TFRC_SLOWEST_S * NOPAL_SECOND;
	uint64_t min, rate, root = tfrc_root(at);

	/* s / t_mbi, and s / R while segments are acknowledged. */
	if (tfrc->answered && srtt > 0 && srtt < slowest_ns)
		slowest_ns = srtt;
	min = nopal_rate_of(nopal_body_limit(at.session), slowest_ns);
	if (tfrc->rate_bps < min)
		tfrc->rate_bps = min;
	rate = tfrc->rate_bps;
	if (set->damping && root && tfrc->root_mean) {
		if (root * TFRC_MAX_DAMPING < tfrc->root_mean)
			root = tfrc->root_mean / TFRC_MAX_DAMPING;
		rate = nopal_scale(rate, tfrc->root_mean, root);
	}
	nopal_shared_set(at, TFRC_RATE, rate < INT64_MAX ? (int64_t)rate : INT64_MAX);
}

/* X_Bps of section 4.3, in bits. */
static uint64_t tfrc_equation(struct nopal_at at)
{
	const struct tfrc *tfrc = nopal_state(at);

	return response_rate(
		nopal_body_limit(at.session), nopal_shared_get(at, TFRC_SRTT),
		loss_intervals_events(&tfrc->intervals, tfrc->largest, RESPONSE_UNITY));
}

/* Section 4.3, step 4.  Before the first loss event the rate doubles in a round trip. */
static void tfrc_set(struct nopal_at at)
{
	struct tfrc *tfrc = nopal_state(at);
	uint64_t max = 2 * tfrc_received_max(tfrc), initial = tfrc_initial(at);

	if (tfrc->intervals.any) {
		tfrc->rate_bps = tfrc_equation(at);
		if (tfrc->rate_bps > max)
			tfrc->rate_bps = max;
	} else if (at.session->now_ns - tfrc->doubled_ns >= nopal_shared_get(at, TFRC_SRTT)) {
		tfrc->doubled_ns = at.session->now_ns;
		tfrc->rate_bps *= 2;
		if (tfrc->rate_bps > max)
			tfrc->rate_bps = max;
		if (tfrc->rate_bps < initial)
			tfrc->rate_bps = initial;
	}
	tfrc_share(at);
}

/* ------------------------------------------------------------------- silence */

static void tfrc_time_silence(struct nopal_at at)
{
	struct tfrc *tfrc = nopal_state(at);
	int64_t srtt = nopal_shared_get(at, TFRC_SRTT);
	int64_t wait = TFRC_SILENT_RTTS * srtt;
	int64_t spacing =
		(int64_t)nopal_scale(TFRC_SILENT_SEGMENTS * (uint64_t)nopal_body_limit(at.session),
				     NOPAL_BYTE_BITS_NS, tfrc->rate_bps ? tfrc->rate_bps : 1);

	if (spacing > wait)
		wait = spacing;
	if (!srtt)
		wait = TFRC_SILENT_FIRST;
	tfrc->sent = false;
	nopal_timer_start(at, TFRC_SILENCE, at.session->now_ns + wait);
}

/* Nothing was acknowledged: half of the rate.  Where nothing was sent that is no sign, and the rate
 * of a beginning stays (section 4.4, step 1). */
static void tfrc_when_silent(struct nopal_at at)
{
	struct tfrc *tfrc = nopal_state(at);
	uint64_t max = tfrc_received_max(tfrc), equation;

	if (!tfrc->sent && tfrc->rate_bps <= tfrc_initial(at))
		return;
	tfrc->answered = false;
	if (!tfrc->heard || !tfrc->intervals.any) {
		tfrc->rate_bps /= 2;
		tfrc_share(at);
	} else {
		equation = tfrc_equation(at);
		tfrc->received_bps[0] = (equation > 2 * max ? max : equation / 2) / 2;
		tfrc->received_bps[1] = 0;
		tfrc_set(at);
	}
	tfrc_time_silence(at);
}

/* -------------------------------------------------------- what segments tell */

static enum nopal_verdict tfrc_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	struct tfrc *tfrc = nopal_state(at);

	tfrc->round_sent += segment->body.length;
	if (!nopal_timer_running(at, TFRC_SILENCE))
		tfrc_time_silence(at);
	tfrc->sent = true;
	return NOPAL_CONTINUE;
}

/* An event has begun.  The interval before the first one is that at which TCP would have the rate
 * that was received (section 6.3.1). */
static void tfrc_suffer(struct nopal_at at)
{
	struct tfrc *tfrc = nopal_state(at);
	uint64_t packets = TFRC_FIRST_LOST;

	if (!tfrc->intervals.count) {
		if (tfrc->heard)
			packets = RESPONSE_UNITY / response_events(nopal_body_limit(at.session),
								   nopal_shared_get(at, TFRC_SRTT),
								   tfrc_received_max(tfrc));
		loss_intervals_close(&tfrc->intervals, packets);
	}
	if (tfrc->heard)
		tfrc_set(at);
}

static enum nopal_verdict tfrc_on_missing(struct nopal_at at, struct nopal_segment *segment)
{
	struct tfrc *tfrc = nopal_state(at);

	tfrc->answered = false;
	if (loss_intervals_lost(&tfrc->intervals, segment->packet_number, segment->transmitted_ns,
				nopal_shared_get(at, TFRC_SRTT)))
		tfrc_suffer(at);
	return NOPAL_CONTINUE;
}

/* Beyond all that is acknowledged it is silence. */
static enum nopal_verdict tfrc_on_timeout(struct nopal_at at, struct nopal_segment *segment)
{
	struct tfrc *tfrc = nopal_state(at);

	if (!tfrc->heard || segment->packet_number <= tfrc->largest)
		return tfrc_on_missing(at, segment);
	tfrc->answered = false;
	if (tfrc->any_timed_out)
		return NOPAL_CONTINUE;
	tfrc->any_timed_out = true;
	tfrc->timed_out = segment->packet_number;
	tfrc->timed_out_left_ns = segment->transmitted_ns;
	return NOPAL_CONTINUE;
}

/* As a loss (section 5.1) of what was acknowledged last: it left about a round trip ago. */
static enum nopal_verdict tfrc_on_marked(struct nopal_at at, struct nopal_session *subject)
{
	struct tfrc *tfrc = nopal_state(at);
	int64_t srtt = nopal_shared_get(at, TFRC_SRTT);

	(void)subject;
	if (loss_intervals_lost(&tfrc->intervals, tfrc->largest, at.session->now_ns - srtt, srtt))
		tfrc_suffer(at);
	return NOPAL_CONTINUE;
}

/* --------------------------------------------------------- what an ack tells */

/* Section 4.3, step 3.  Where the application limits, the rate of arrival says nothing of the path:
 * the set only grows. */
static void tfrc_end_round(struct nopal_at at)
{
	struct tfrc *tfrc = nopal_state(at);
	int64_t elapsed_ns = at.session->now_ns - tfrc->round_began_ns;
	uint64_t received = nopal_rate_of(tfrc->round_acked, elapsed_ns);
	uint64_t sent = nopal_rate_of(tfrc->round_sent, elapsed_ns);
	uint64_t max = tfrc_received_max(tfrc);

	tfrc_note_root(at);
	if (sent < tfrc->rate_bps / TFRC_LIMITED_PARTS * TFRC_LIMITED_PART && received < max)
		received = max;
	tfrc->received_bps[1] = tfrc->received_bps[0];
	tfrc->received_bps[0] = received;
	tfrc_set(at);
}

/* The first round trip is known. */
static void tfrc_begin(struct nopal_at at)
{
	struct tfrc *tfrc = nopal_state(at);
	uint64_t initial = tfrc_initial(at);
	uint64_t known = (uint64_t)nopal_shared_get(at, TFRC_KNOWN);

	tfrc->heard = true;
	if (tfrc->rate_bps > known)
		tfrc->rate_bps = known;
	if (tfrc->rate_bps < initial)
		tfrc->rate_bps = initial;
	tfrc->received_bps[0] = tfrc->rate_bps;
	tfrc->doubled_ns = at.session->now_ns;
	tfrc_note_root(at);
	tfrc_share(at);
}

static enum nopal_verdict tfrc_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	struct tfrc *tfrc = nopal_state(at);
	int64_t srtt = nopal_shared_get(at, TFRC_SRTT);

	if (srtt <= 0 || !(ack->newly_acked_bytes || ack->largest_is_new))
		return NOPAL_CONTINUE;
	if (ack->largest > tfrc->largest)
		tfrc->largest = ack->largest;
	tfrc->answered = true;
	if (tfrc->any_timed_out && tfrc->timed_out <= tfrc->largest) {
		tfrc->any_timed_out = false;
		if (loss_intervals_lost(&tfrc->intervals, tfrc->timed_out, tfrc->timed_out_left_ns,
					srtt))
			tfrc_suffer(at);
	}
	/* Something arrived; where acks tell a cumulative ack alone, nobody knows which segment. */
	if (!ack->newly_acked_bytes) {
		if (tfrc->heard) {
			tfrc_share(at);
			tfrc_time_silence(at);
		}
		return NOPAL_CONTINUE;
	}
	tfrc->round_acked += ack->newly_acked_bytes;
	if (!tfrc->heard)
		tfrc_begin(at);
	else if (at.session->now_ns - tfrc->round_began_ns >= srtt)
		tfrc_end_round(at);
	else
		return NOPAL_CONTINUE;
	tfrc->round_began_ns = at.session->now_ns;
	tfrc->round_acked = tfrc->round_sent = 0;
	tfrc_time_silence(at);
	return NOPAL_CONTINUE;
}

/* Section 4.2: until the first feedback a segment a second. */
static int tfrc_open(struct nopal_at at)
{
	struct tfrc *tfrc = nopal_state(at);

	tfrc->rate_bps = nopal_rate_of(nopal_body_limit(at.session), NOPAL_SECOND);
	nopal_shared_set(at, TFRC_RATE, (int64_t)tfrc->rate_bps);
	return 0;
}

/* ... or what earlier sessions found room for. */
static enum nopal_verdict tfrc_on_open_session(struct nopal_at at, struct nopal_session *subject)
{
	struct tfrc *tfrc = nopal_state(at);
	uint64_t known = (uint64_t)nopal_shared_get(at, TFRC_KNOWN);

	(void)subject;
	if (known <= tfrc->rate_bps)
		return NOPAL_CONTINUE;
	tfrc->rate_bps = known;
	nopal_shared_set(at, TFRC_RATE, (int64_t)known);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_tfrc = {
	NOPAL_DESCRIBE(tfrc, congestion,
		       "TFRC (RFC 5348): no faster than TCP would be on such a path, but smoothly"),
	.provides = NOPAL_ROLES({ "congestion_policy", true }, { "rate_policy" }),
	.standard = "rate_policy",
	.needs = NOPAL_RELATIONS({ "acknowledgement", "policies act on arrivals and losses" },
				 { "loss_detection", "its rate is made of losses" },
				 { "rtt", "the equation has a round trip in it" },
				 { "rate_mechanism", "a mechanism has to keep to the rate" }),
	.promises = NOPAL_PROMISES(NOPAL_CONGESTION_CONTROLLED),
	.parameters_size = sizeof(struct tfrc_parameters),
	.parameters = NOPAL_PARAMETERS(NOPAL_NUMBER(tfrc, initial, "initial", SIZE, "4380B", "1seg",
						    "1000seg",
						    "bytes of the first round trip (RFC 3390)"),
				       NOPAL_ON_OFF(tfrc, damping, "damping", "on",
						    "slow down a little while a queue grows")),
	.shared = NOPAL_SHARED(
		[TFRC_RATE] = { "sending_rate_bps", NOPAL_WRITE, 0,
				"bits of bodies a second; 0: no limit" },
		[TFRC_SRTT] = { "smoothed_rtt_ns", NOPAL_READ, 0,
				"the round trip of the equation" },
		[TFRC_LATEST_RTT] = { "latest_rtt_ns", NOPAL_READ, 0, "does a queue grow" },
		[TFRC_KNOWN] = { "known_rate_bps", NOPAL_READ_OPTIONAL, 0,
				 "of earlier sessions: the rate before the first feedback" }),
	.timers = NOPAL_TIMERS([TFRC_SILENCE] = { "silence", tfrc_when_silent }),
	.bindings =
		NOPAL_BINDINGS(NOPAL_ON(OPEN_SESSION, tfrc_on_open_session, .before = "connection"),
			       NOPAL_ON(SEND_SEGMENT, tfrc_on_send, .kinds = NOPAL_CARRIED),
			       /* Before what is lost leaves again, as another transmission. */
			       NOPAL_ON(SEGMENT_LOST, tfrc_on_missing, .kinds = NOPAL_CARRIED,
					.before = "reliability"),
			       NOPAL_ON(SEGMENT_TIMEOUT, tfrc_on_timeout, .kinds = NOPAL_CARRIED,
					.before = "reliability"),
			       NOPAL_ON(ACK_PROCESSED, tfrc_on_ack, .after = "loss_detection"),
			       NOPAL_ON(CONGESTION_MARKED, tfrc_on_marked)),
	.state_size = sizeof(struct tfrc),
	.open = tfrc_open,
};
