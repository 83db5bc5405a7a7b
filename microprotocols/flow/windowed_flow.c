/* SPDX-License-Identifier: MIT */
/*
 * windowed_flow -- windowed flow control: the receiver says how far the sender may go.
 *
 * The grant is an edge: a segment may leave when its number is below it.  Both sides begin with the
 * edge `initial` segments beyond the first number; from then on the receiver tells it.  With W =
 * buffer / full segment, and H = what the whole messages hold that arrived and were not consumed,
 * in full segments,
 *
 *   edge = progress + W - H, and it never retreats.
 *
 * Where unseen segments are still needed (reliability_unmet), progress counts the segments that
 * arrived, so that what is missing keeps its place in the buffer; what the peer gave up counts as
 * if it had come.  Where nobody sends them again, progress is one past the highest number that
 * arrived or that the sender says it used (probe): lost segments take no credit with them.  A
 * message in the making is not counted in H: only more segments can complete it; nor is, where
 * automatic, one that waits for its order.  The session's budget bounds them.
 *
 * With `automatic` W is no larger than is of use (right_size.h), and halves with every second in
 * which nothing left the buffer.  A grant is never taken back: the edge stands still until a window
 * that became smaller begins at it.
 *
 * The edge is told when it moved by a quarter of the window (by half, where an automatic one is
 * larger than is of use), on every probe, and repeatedly while the sender may still live on
 * `initial`; with `piggyback` data carries it, too.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.D (a), windowed.
 * Differs:   grants an edge, not an amount, so that a repeated or late grant
 *            does no harm; a sender that is blocked probes.
 * Wire:      window: edge 4; probe: next number to be used 4.
 */
#include "flow_number.h"
#include "right_size.h"

enum { WINDOWED_FLOW_NUMBER, WINDOWED_FLOW_CHARGE, WINDOWED_FLOW_RIDES };
enum {
	WINDOWED_FLOW_BLOCKED,
	WINDOWED_FLOW_INITIAL_LOCAL,
	WINDOWED_FLOW_INITIAL_PEER,
	WINDOWED_FLOW_UNMET,
};
enum { WINDOWED_FLOW_WINDOW, WINDOWED_FLOW_PROBE };
enum { WINDOWED_FLOW_PROBE_DUE };
enum {
	WINDOWED_FLOW_TELL_PART = 4,   /* of the window: when to tell */
	WINDOWED_FLOW_MAX_BACKOFF = 6, /* probe intervals double as often */
	WINDOWED_FLOW_MIN = 8,	       /* times `initial`, where automatic */
	/* Beyond what any buffer holds: such an edge is not believed. */
	WINDOWED_FLOW_MAX_SEGMENTS = 1 << 24,
};

struct windowed_flow_parameters {
	int64_t buffer, initial, probe, piggyback, automatic;
};

struct windowed_flow {
	/* as a sender */
	struct nopal_queue waiting; /* in the order of their numbers */
	uint64_t edge;		    /* numbers below may leave */
	uint64_t next;		    /* one past the highest number seen here */
	uint32_t backoff;

	/* as a receiver: numbers from the peer's first, which are short */
	uint64_t arrived; /* segments */
	uint64_t highest; /* one past any that arrived or was probed */
	uint64_t told;	  /* edge as last told: what may arrive */
	int64_t held_bytes;
	bool asked; /* by a probe */
	/* Before so much left the buffer, or arrived, there is nothing to tell. */
	uint64_t due, due_arrived;
	struct right_size size; /* where automatic */
};

/* ------------------------------------------------------------- the sender */

static void windowed_flow_set_blocked(struct nopal_at at)
{
	const struct windowed_flow_parameters *set = nopal_parameters(at);
	struct windowed_flow *flow = nopal_state(at);
	bool blocked = flow->waiting.count > 0;

	nopal_shared_set(at, WINDOWED_FLOW_BLOCKED, flow->waiting.count);
	if (!blocked)
		nopal_timer_stop(at, WINDOWED_FLOW_PROBE_DUE);
	else if (!nopal_timer_running(at, WINDOWED_FLOW_PROBE_DUE))
		nopal_timer_start(at, WINDOWED_FLOW_PROBE_DUE,
				  at.session->now_ns + (set->probe << flow->backoff));
}

static void windowed_flow_drain(struct nopal_at at)
{
	struct windowed_flow *flow = nopal_state(at);
	struct nopal_segment *segment;

	while (flow->waiting.count &&
	       (segment = nopal_queue_first(at.session, &flow->waiting)) != NULL) {
		bool held = nopal_holds(at, segment, NOPAL_SEND);

		if (held && nopal_get(at, segment, WINDOWED_FLOW_NUMBER) >= flow->edge)
			break;
		nopal_queue_pop(&flow->waiting);
		if (held)
			nopal_release(at, segment, NOPAL_SEND);
	}
	windowed_flow_set_blocked(at);
}

static enum nopal_verdict windowed_flow_on_to_net(struct nopal_at at, struct nopal_segment *segment)
{
	struct windowed_flow *flow = nopal_state(at);
	uint64_t number = nopal_get(at, segment, WINDOWED_FLOW_NUMBER);

	if (number >= flow->next)
		flow->next = number + 1;
	/* An urgent one has overtaken the numbers that it would wait for here. */
	if (segment->urgent || (!flow->waiting.count && number < flow->edge)) {
		nopal_release(at, segment, NOPAL_SEND);
		return NOPAL_CONTINUE;
	}
	if (nopal_queue_push(at.session, &flow->waiting, segment) < 0)
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "no room to queue for the peer's window");
	else
		windowed_flow_set_blocked(at);
	return NOPAL_CONTINUE;
}

static void windowed_flow_take(struct nopal_at at, uint64_t edge)
{
	struct windowed_flow *flow = nopal_state(at);

	if (edge <= flow->edge || edge > flow->next + WINDOWED_FLOW_MAX_SEGMENTS)
		return;
	flow->edge = edge;
	flow->backoff = 0;
	nopal_timer_stop(at, WINDOWED_FLOW_PROBE_DUE);
	windowed_flow_drain(at);
}

static enum nopal_verdict windowed_flow_on_window(struct nopal_at at, struct nopal_segment *segment)
{
	const struct windowed_flow *flow = nopal_state(at);
	uint64_t edge;

	if (flow_number_read(segment, flow->edge, &edge))
		windowed_flow_take(at, edge);
	return NOPAL_CONTINUE;
}

/* Of data: a late segment, or one that comes twice, brings an old edge. */
static enum nopal_verdict windowed_flow_on_ridden(struct nopal_at at, struct nopal_segment *segment)
{
	const struct windowed_flow_parameters *set = nopal_parameters(at);
	const struct windowed_flow *flow = nopal_state(at);

	if (set->piggyback)
		windowed_flow_take(at,
				   flow_number_expand(nopal_get(at, segment, WINDOWED_FLOW_RIDES),
						      flow->edge));
	return NOPAL_CONTINUE;
}

/* Segments that wait have not used their numbers: the peer is told the first of them. */
static void windowed_flow_when_probe_due(struct nopal_at at)
{
	struct windowed_flow *flow = nopal_state(at);
	const struct nopal_segment *segment = nopal_queue_first(at.session, &flow->waiting);

	if (segment) {
		flow_number_say(at, WINDOWED_FLOW_PROBE,
				nopal_get(at, segment, WINDOWED_FLOW_NUMBER));
		if (flow->backoff < WINDOWED_FLOW_MAX_BACKOFF)
			flow->backoff++;
	}
	windowed_flow_set_blocked(at);
}

/* ----------------------------------------------------------- the receiver */

static uint64_t windowed_flow_segments(struct nopal_session *session, int64_t bytes)
{
	uint32_t full = nopal_body_max(session);

	return ((uint64_t)bytes + full - 1) / full;
}

static uint64_t windowed_flow_first(struct nopal_at at)
{
	return (uint64_t)nopal_shared_get(at, WINDOWED_FLOW_INITIAL_PEER);
}

static void windowed_flow_rises(struct windowed_flow *flow, uint64_t number, uint64_t first)
{
	if (number > first + flow->highest)
		flow->highest = number - first;
}

/* How many came and left the buffer again. */
static uint64_t windowed_flow_left(struct nopal_at at)
{
	const struct windowed_flow *flow = nopal_state(at);
	uint64_t progress =
		nopal_shared_get(at, WINDOWED_FLOW_UNMET) ? flow->arrived : flow->highest;
	uint64_t held;

	if (!flow->held_bytes)
		return progress;
	held = windowed_flow_segments(at.session, flow->held_bytes);
	return progress > held ? progress - held : 0;
}

/* The segments that both sides begin with are granted already. */
static uint64_t windowed_flow_size(struct nopal_at at, uint64_t left)
{
	const struct windowed_flow_parameters *set = nopal_parameters(at);
	struct windowed_flow *flow = nopal_state(at);
	uint64_t initial = (uint64_t)set->initial;
	uint64_t window = windowed_flow_segments(at.session, set->buffer);

	if (set->automatic)
		window = nopal__right_size_window(&flow->size, at.session->now_ns, left,
						  WINDOWED_FLOW_MIN * initial, window);
	return window > initial ? window : initial;
}

/* The edge never retreats. */
static uint64_t windowed_flow_edge(const struct windowed_flow *flow, uint64_t left, uint64_t window)
{
	return left + window > flow->told ? left + window : flow->told;
}

static void windowed_flow_told(struct nopal_at at, uint64_t edge)
{
	const struct windowed_flow_parameters *set = nopal_parameters(at);
	struct windowed_flow *flow = nopal_state(at);

	if (set->automatic)
		nopal__right_size_told(&flow->size, at.session->now_ns, flow->told, edge);
	flow->told = edge;
	flow->due_arrived = flow->arrived + ((uint64_t)set->initial + WINDOWED_FLOW_TELL_PART - 1) /
						    WINDOWED_FLOW_TELL_PART;
}

/* A resend carries the edge of the first transmission: redundancy codes over it. */
static enum nopal_verdict windowed_flow_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	const struct windowed_flow_parameters *set = nopal_parameters(at);
	struct windowed_flow *flow = nopal_state(at);
	uint64_t left;

	if (!set->piggyback || segment->transmissions != 1)
		return NOPAL_CONTINUE;
	left = windowed_flow_left(at);
	windowed_flow_told(at, windowed_flow_edge(flow, left, windowed_flow_size(at, left)));
	nopal_set(at, segment, WINDOWED_FLOW_RIDES,
		  (uint32_t)(windowed_flow_first(at) + flow->told));
	return NOPAL_CONTINUE;
}

/* Less than a step is not told yet: the rest of it has to leave first.  A window that follows looks
 * more often than it tells.  Rare beside the turns. */
static __attribute__((noinline)) void windowed_flow_look(struct nopal_at at, uint64_t left)
{
	const struct windowed_flow_parameters *set = nopal_parameters(at);
	struct windowed_flow *flow = nopal_state(at);
	uint64_t window = windowed_flow_size(at, left);
	uint64_t edge = windowed_flow_edge(flow, left, window);
	uint64_t step = set->automatic ? nopal__right_size_step(&flow->size)
				       : window / WINDOWED_FLOW_TELL_PART;

	if (flow->asked || edge - flow->told >= step ||
	    (flow->highest <= (uint64_t)set->initial && flow->arrived >= flow->due_arrived)) {
		flow->asked = false;
		windowed_flow_told(at, edge);
		flow_number_say(at, WINDOWED_FLOW_WINDOW, windowed_flow_first(at) + edge);
	}
	flow->due = flow->told + step - window;
	if (set->automatic) {
		uint64_t look = left + nopal__right_size_look(&flow->size);

		flow->due = look < flow->due ? look : flow->due;
	}
	if (flow->highest > (uint64_t)set->initial)
		flow->due_arrived = flow->arrived + WINDOWED_FLOW_MAX_SEGMENTS;
}

static enum nopal_verdict windowed_flow_on_turn_end(struct nopal_at at,
						    struct nopal_session *subject)
{
	const struct windowed_flow *flow = nopal_state(at);
	uint64_t left = windowed_flow_left(at);

	(void)subject;
	if ((left >= flow->due || flow->arrived >= flow->due_arrived) &&
	    nopal_session_is_open(at.session))
		windowed_flow_look(at, left);
	return NOPAL_CONTINUE;
}

/* Answered once a turn, however many come.  The sender cannot have used numbers that were not
 * granted. */
static enum nopal_verdict windowed_flow_on_probe(struct nopal_at at, struct nopal_segment *segment)
{
	struct windowed_flow *flow = nopal_state(at);
	uint64_t first = windowed_flow_first(at);
	uint64_t next;

	if (!flow_number_read(segment, first + flow->told, &next) || next > first + flow->told)
		return NOPAL_CONTINUE;
	flow->asked = true;
	flow->due = 0;
	windowed_flow_rises(flow, next, first);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict windowed_flow_on_verified(struct nopal_at at,
						    struct nopal_segment *segment)
{
	struct windowed_flow *flow = nopal_state(at);
	uint64_t number = nopal_get(at, segment, WINDOWED_FLOW_NUMBER);
	uint64_t first = windowed_flow_first(at);

	flow->arrived++;
	windowed_flow_rises(flow, number + 1, first);
	if (flow->size.waits && number >= first + flow->size.beyond)
		nopal__right_size_arrived(&flow->size, at.session->now_ns);
	return NOPAL_CONTINUE;
}

/* The sender may be waiting for just this. */
static enum nopal_verdict windowed_flow_on_gave_up(struct nopal_at at,
						   struct nopal_forward *forward)
{
	struct windowed_flow *flow = nopal_state(at);

	flow->arrived += forward->skipped;
	windowed_flow_rises(flow, forward->segment, windowed_flow_first(at));
	flow->asked = true;
	flow->due = 0;
	return NOPAL_CONTINUE;
}

/* Raised twice for a message: where automatic, waiting for an order counts, too. */
static enum nopal_verdict windowed_flow_on_message(struct nopal_at at,
						   struct nopal_message *message)
{
	const struct windowed_flow_parameters *set = nopal_parameters(at);
	struct windowed_flow *flow = nopal_state(at);
	bool again = nopal_get(at, message, WINDOWED_FLOW_CHARGE) != 0;
	bool counts = again == (set->automatic != 0);

	if (counts)
		flow->held_bytes += (int64_t)message->length;
	if (counts || !again)
		nopal_set(at, message, WINDOWED_FLOW_CHARGE, 1 + (counts ? message->length : 0));
	return NOPAL_CONTINUE;
}

static enum nopal_verdict windowed_flow_on_consumed(struct nopal_at at,
						    struct nopal_message *message)
{
	struct windowed_flow *flow = nopal_state(at);
	uint64_t charge = nopal_get(at, message, WINDOWED_FLOW_CHARGE);

	flow->held_bytes -= charge ? (int64_t)charge - 1 : 0;
	nopal_set(at, message, WINDOWED_FLOW_CHARGE, 0);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict windowed_flow_on_opened(struct nopal_at at, struct nopal_session *subject)
{
	const struct windowed_flow_parameters *set = nopal_parameters(at);
	struct windowed_flow *flow = nopal_state(at);

	(void)subject;
	flow->next = (uint64_t)nopal_shared_get(at, WINDOWED_FLOW_INITIAL_LOCAL);
	flow->edge = flow->next + (uint64_t)set->initial;
	flow->told = (uint64_t)set->initial;
	windowed_flow_told(at, flow->told);
	windowed_flow_drain(at);
	return NOPAL_CONTINUE;
}

static void windowed_flow_idle(struct nopal_at at)
{
	struct windowed_flow *self = nopal_state(at);

	nopal_queue_idle(at.session, &self->waiting);
	nopal__right_size_idle(&self->size);
}

const struct nopal_microprotocol nopal_windowed_flow = {
	NOPAL_DESCRIBE(windowed_flow, flow,
		       "windowed flow control: the receiver says how far the sender may go"),
	.provides = NOPAL_ROLES({ "flow_control", true }),
	.standard = "flow_control",
	.needs = NOPAL_RELATIONS({ "segment_numbers", "grants are segment numbers" }),
	.promises = NOPAL_PROMISES(NOPAL_FLOW_CONTROLLED),
	.parameters_size = sizeof(struct windowed_flow_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(windowed_flow, buffer, "buffer", SIZE, "4MiB", "16KiB", "1GiB",
			     "bytes of messages that the receiver holds"),
		NOPAL_NUMBER(windowed_flow, initial, "initial", COUNT, "64", "4", "4096",
			     "segments that may leave before the first window", .wire = true),
		NOPAL_NUMBER(windowed_flow, probe, "probe", TIME, "100ms", "1ms", "10s",
			     "time between probes of a blocked sender, at first",
			     .waits = NOPAL_WAITS_DOUBLED),
		NOPAL_ON_OFF(windowed_flow, piggyback, "piggyback", "off", "data carries the edge",
			     .wire = true),
		NOPAL_ON_OFF(windowed_flow, automatic, "automatic", "off",
			     "the window is what is of use, up to `buffer`")),
	.attributes =
		NOPAL_ATTRIBUTES([WINDOWED_FLOW_NUMBER] = { "segment_number", NOPAL_READ,
							    "numbers that the edge counts" },
				 [WINDOWED_FLOW_CHARGE] = { "flow_charge", NOPAL_WRITE,
							    "1, and what it takes of the buffer" },
				 [WINDOWED_FLOW_RIDES] = { "flow_edge", NOPAL_WRITE,
							   "numbers below may leave",
							   .wire_bytes = FLOW_NUMBER_BYTES,
							   .kinds = NOPAL_DATA,
							   .when = "piggyback" }),
	.shared =
		NOPAL_SHARED([WINDOWED_FLOW_BLOCKED] = { "flow_blocked", NOPAL_WRITE, 0,
							 "segments that wait for the peer" },
			     [WINDOWED_FLOW_INITIAL_LOCAL] = { "initial_local", NOPAL_READ_OPTIONAL,
							       1, "our first number" },
			     [WINDOWED_FLOW_INITIAL_PEER] = { "initial_peer", NOPAL_READ_OPTIONAL,
							      1, "the peer's first number" },
			     [WINDOWED_FLOW_UNMET] = { "reliability_unmet", NOPAL_READ_OPTIONAL, 0,
						       "1: an unseen segment is still needed" }),
	.kinds = NOPAL_KINDS([WINDOWED_FLOW_WINDOW] = { "window", NOPAL_KIND_CONTROL, "the edge" },
			     [WINDOWED_FLOW_PROBE] = { "probe", NOPAL_KIND_CONTROL,
						       "a blocked sender asks for it" }),
	.holds = NOPAL_HOLDS({ "the peer's window", NOPAL_SEND, NOPAL_DATA, .sticky = true }),
	.timers =
		NOPAL_TIMERS([WINDOWED_FLOW_PROBE_DUE] = { "probe", windowed_flow_when_probe_due }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(SESSION_OPENED, windowed_flow_on_opened),
		NOPAL_ON(SEGMENT_TO_NET, windowed_flow_on_to_net, .before = "window_mechanism"),
		NOPAL_ON(SEND_SEGMENT, windowed_flow_on_send, .before = "redundancy"),
		NOPAL_ON(SEGMENT_FROM_NET, windowed_flow_on_ridden, .before = "duplicate_filter"),
		NOPAL_ON_OWN(WINDOWED_FLOW_WINDOW, windowed_flow_on_window),
		NOPAL_ON_OWN(WINDOWED_FLOW_PROBE, windowed_flow_on_probe),
		NOPAL_ON(SEGMENT_VERIFIED, windowed_flow_on_verified, .before = "message_segments"),
		NOPAL_ON(FORWARD_RECEIVED, windowed_flow_on_gave_up),
		/* A message that an order discards was charged, and is credited. */
		NOPAL_ON(MSG_FROM_NET, windowed_flow_on_message,
			 .before = "order|partial_order|jitter"),
		NOPAL_ON(MSG_TO_USER, windowed_flow_on_message),
		NOPAL_ON(MSG_CONSUMED, windowed_flow_on_consumed),
		NOPAL_ON(TURN_END, windowed_flow_on_turn_end, .before = "window_mechanism")),
	.state_size = sizeof(struct windowed_flow),
	.idle = windowed_flow_idle,
};
