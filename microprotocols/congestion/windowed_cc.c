/* SPDX-License-Identifier: MIT */
/*
 * windowed_cc -- windowed congestion control: no more in flight than the congestion window.
 *
 * The window mechanism; a policy sets the window.  It is the last gate: it lets a segment go only
 * when its own bit is the only one left, so that the window holds at the transmission itself and
 * nothing that another gate keeps back takes room.  Room is charged as a segment is let go and
 * given back once: a local attribute remembers how much.
 *
 * It says of the application that it limits what leaves (app_limited) where the window has room, and
 * time passes in which nothing waits for it.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.D (b) and footnote 2.
 * Differs:   counts bytes, not packets; a resend needs a new grant (its bit is not sticky); what is
 *            lost or timed out leaves the network at once, the rest at SEGMENT_DONE; one segment
 *            may fly alone however small the window is.  Resends go first, then urgent segments.
 */
#include <nopal/microprotocol.h>

struct windowed_cc {
	struct nopal_lanes waiting;
	int64_t dry_until_ns; /* before that is the instant in which app_limited became 1 */
};

enum { WINDOWED_CC_CHARGE };
enum {
	WINDOWED_CC_WINDOW,
	WINDOWED_CC_IN_FLIGHT,
	WINDOWED_CC_APP_LIMITED,
	WINDOWED_CC_FLOW_BLOCKED,
	WINDOWED_CC_RATE_GRANTED,
	WINDOWED_CC_MIN_CREDIT,
};

/* Bytes in the network, once the segment's share is `bytes`. */
static void windowed_cc_charge(struct nopal_at at, struct nopal_segment *segment, uint32_t bytes)
{
	int64_t before = (int64_t)nopal_get(at, segment, WINDOWED_CC_CHARGE);

	nopal_shared_get(at, WINDOWED_CC_IN_FLIGHT) += bytes - before;
	nopal_set(at, segment, WINDOWED_CC_CHARGE, bytes);
}

static bool windowed_cc_fits(struct nopal_at at, const struct nopal_segment *segment)
{
	int64_t others = nopal_shared_get(at, WINDOWED_CC_IN_FLIGHT) -
			 (int64_t)nopal_get(at, segment, WINDOWED_CC_CHARGE);

	return others <= 0 ||
	       others + segment->body.length <= nopal_shared_get(at, WINDOWED_CC_WINDOW) ||
	       segment->body.length < nopal_shared_get(at, WINDOWED_CC_MIN_CREDIT);
}

/* Does nobody else hold it? */
static bool windowed_cc_is_ready(struct nopal_at at, const struct nopal_segment *segment)
{
	return segment->waiting[NOPAL_SEND] == nopal_hold_bit(at, NOPAL_SEND);
}

static void windowed_cc_grant(struct nopal_at at, struct nopal_segment *segment)
{
	windowed_cc_charge(at, segment, segment->body.length);
	nopal_release(at, segment, NOPAL_SEND);
}

/* A segment that comes in the instant in which the last one left found no room before: its
 * application sends as fast as it may, and the network limits it. */
static void windowed_cc_note_more(struct nopal_at at, const struct nopal_segment *segment)
{
	const struct windowed_cc *self = nopal_state(at);

	if (!segment->transmissions && at.session->now_ns < self->dry_until_ns)
		nopal_shared_set(at, WINDOWED_CC_APP_LIMITED, 0);
}

static void windowed_cc_note_limit(struct nopal_at at, bool limited)
{
	struct windowed_cc *self = nopal_state(at);

	if (limited && !nopal_shared_get(at, WINDOWED_CC_APP_LIMITED))
		self->dry_until_ns = at.session->now_ns + 1;
	nopal_shared_set(at, WINDOWED_CC_APP_LIMITED, limited);
}

static enum nopal_verdict windowed_cc_on_wanted(struct nopal_at at, struct nopal_segment *segment)
{
	struct windowed_cc *self = nopal_state(at);
	struct nopal_lanes *waiting = &self->waiting;

	windowed_cc_note_more(at, segment);
	if (!nopal_lanes_wait(waiting) && windowed_cc_is_ready(at, segment) &&
	    windowed_cc_fits(at, segment))
		windowed_cc_grant(at, segment);
	else if (nopal_lanes_insert(at.session, waiting, segment) < 0)
		nopal_session_break(at.session, NOPAL_RESOURCE, "no room to queue for the window");
	return NOPAL_CONTINUE;
}

static enum nopal_verdict windowed_cc_on_off_network(struct nopal_at at,
						     struct nopal_segment *segment)
{
	windowed_cc_charge(at, segment, 0);
	return NOPAL_CONTINUE;
}

/* False: no room is left.  The rate let one segment go, and then came one that is to go before it,
 * and waits for the credit that the first has and would keep for ever. */
static bool windowed_cc_drain_behind(struct nopal_at at, struct nopal_queue *queue)
{
	uint32_t place = 1;

	while (place < queue->count && nopal_shared_get(at, WINDOWED_CC_RATE_GRANTED) > 0) {
		struct nopal_segment *segment = nopal_queue_at(at.session, queue, place);

		if (!segment || segment->done || !nopal_holds(at, segment, NOPAL_SEND) ||
		    !windowed_cc_is_ready(at, segment)) {
			place++;
			continue;
		}
		if (!windowed_cc_fits(at, segment))
			return false;
		nopal_queue_remove(queue, place);
		windowed_cc_grant(at, segment);
	}
	return true;
}

static void windowed_cc_drain(struct nopal_at at)
{
	struct windowed_cc *self = nopal_state(at);
	struct nopal_lanes *waiting = &self->waiting;
	struct nopal_lane_turn turn = { 0 };
	struct nopal_segment *segment;

	while ((segment = nopal_lanes_next(at, waiting, &turn)) != NULL) {
		if (!windowed_cc_is_ready(at, segment)) {
			if (!windowed_cc_drain_behind(at, &waiting->lane[turn.lane]))
				return;
			nopal_lanes_pass(&turn);
			continue;
		}
		if (!windowed_cc_fits(at, segment))
			return;
		nopal_lanes_take(waiting, &turn);
		windowed_cc_grant(at, segment);
	}
}

static enum nopal_verdict windowed_cc_on_turn_end(struct nopal_at at, struct nopal_session *subject)
{
	const struct windowed_cc *self = nopal_state(at);
	const struct nopal_lanes *waiting = &self->waiting;
	const struct nopal_queue *lane = waiting->lane;
	uint32_t count;
	bool room;

	(void)subject;
	if (nopal_lanes_wait(waiting))
		windowed_cc_drain(at);
	room = nopal_shared_get(at, WINDOWED_CC_IN_FLIGHT) + nopal_body_limit(at.session) <=
	       nopal_shared_get(at, WINDOWED_CC_WINDOW);
	/* Segments that wait for the peer wait here, too.  With a window that has room, others wait
	 * for the rate. */
	count = lane[NOPAL_LANE_AGAIN].count + lane[NOPAL_LANE_URGENT].count +
		lane[NOPAL_LANE_FIRST].count;
	windowed_cc_note_limit(at, room && count <= nopal_shared_get(at, WINDOWED_CC_FLOW_BLOCKED));
	return NOPAL_CONTINUE;
}

static void windowed_cc_idle(struct nopal_at at)
{
	struct windowed_cc *self = nopal_state(at);

	self->dry_until_ns = 0; /* rests in fewer bytes */
	nopal_lanes_idle(at.session, &self->waiting);
}

const struct nopal_microprotocol nopal_windowed_cc = {
	NOPAL_DESCRIBE(windowed_cc, congestion,
		       "windowed congestion control: no more in flight than the congestion window"),
	.provides = NOPAL_ROLES({ "window_mechanism", true }),
	.standard = "window_mechanism",
	.needs =
		NOPAL_RELATIONS({ "acknowledgement", "without status the window would never move" },
				{ "window_policy", "a policy has to set the window" }),
	.attributes = NOPAL_ATTRIBUTES(
		[WINDOWED_CC_CHARGE] = { "window_charge", NOPAL_WRITE,
					 "bytes of the congestion window that it takes",
					 .kinds = NOPAL_CARRIED }),
	.shared = NOPAL_SHARED(
		[WINDOWED_CC_WINDOW] = { "congestion_window_bytes", NOPAL_READ, 0,
					 "room on the network" },
		[WINDOWED_CC_IN_FLIGHT] = { "bytes_in_flight", NOPAL_WRITE, 0,
					    "bodies on the network" },
		[WINDOWED_CC_APP_LIMITED] = { "app_limited", NOPAL_WRITE, 1,
					      "1: the window has room and nothing waits for it" },
		[WINDOWED_CC_FLOW_BLOCKED] = { "flow_blocked", NOPAL_READ_OPTIONAL, 0,
					       "segments that wait for the peer" },
		[WINDOWED_CC_RATE_GRANTED] = { "rate_granted_bytes", NOPAL_READ_OPTIONAL, 0,
					       "let go by the rate, not yet here" },
		[WINDOWED_CC_MIN_CREDIT] = { "min_rate_credit_bytes", NOPAL_READ_OPTIONAL, 0,
					     "may leave whatever the window says" }),
	.holds = NOPAL_HOLDS({ "the congestion window", NOPAL_SEND, NOPAL_CARRIED }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(SEGMENT_TO_NET, windowed_cc_on_wanted, .kinds = NOPAL_CARRIED,
			 .after = "driver|reliability|acknowledgement|flow_control|rate_mechanism"),
		NOPAL_ON(SEGMENT_RESEND, windowed_cc_on_wanted, .kinds = NOPAL_CARRIED),
		/* Before anybody asks to send it again: that is a charge of its own. */
		NOPAL_ON(SEGMENT_LOST, windowed_cc_on_off_network, .kinds = NOPAL_CARRIED,
			 .before = "reliability"),
		NOPAL_ON(SEGMENT_TIMEOUT, windowed_cc_on_off_network, .kinds = NOPAL_CARRIED,
			 .before = "reliability"),
		NOPAL_ON(SEGMENT_DONE, windowed_cc_on_off_network, .kinds = NOPAL_CARRIED),
		NOPAL_ON(TURN_END, windowed_cc_on_turn_end,
			 .after = "flow_control|rate_mechanism")),
	.state_size = sizeof(struct windowed_cc),
	.idle = windowed_cc_idle,
};
