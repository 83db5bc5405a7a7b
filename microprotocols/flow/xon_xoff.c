/* SPDX-License-Identifier: MIT */
/*
 * xon_xoff -- XON/XOFF flow control: the receiver suspends and resumes the sender.
 *
 * With H the bytes of whole messages that arrived and were not consumed (those that wait for their
 * place in an order, unread and kept ones), the receiver says xoff when H exceeds `high`, and xon
 * when it is down to `low`.  A message in the making is not counted: only more segments can
 * complete it.  Suspended are first transmissions; the receiver has counted on resends already.
 *
 *   sender                                     receiver
 *     ------------- data ------------------->  H > high
 *     <---------- xoff 1 ---------- x          (lost)
 *     ------------- data ------------------->  still comes: say it again
 *     <---------- xoff 1 --------------------
 *     (suspended)                              H <= low
 *     x-------- xon 2 -----------------------  (lost)
 *     ------- probe 1 ---------------------->  (order 1 is obeyed)
 *     <---------- xon 2 ---------------------
 *
 * Orders are numbered, and only a newer one is obeyed: a late one does nothing. An xoff is repeated
 * for every quarter of high - low that comes nevertheless, and a suspended sender with something to
 * send probes; a receiver that is behind the number in a probe goes on from there.
 *
 * Beyond `high` there come at most: what is on its way for one round trip, for each xoff that is
 * lost a quarter of high - low, and `ahead`, which other gates of the sender may hold when it
 * obeys.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.D (a), XON/XOFF.
 * Differs:   orders have numbers, xoff is repeated and the sender probes, so
 *            that loss and reordering can neither stop it for ever nor keep it
 *            going.
 * Wire:      xoff, xon: number of the order 4; probe: number of the order that is obeyed 4.
 */
#include "../base/held.h"
#include "flow_number.h"

enum { XON_XOFF_LET_GO = HELD_NEXT }; /* attributes */
enum { XON_XOFF_BLOCKED };	      /* shared variables */
enum { XON_XOFF_XOFF, XON_XOFF_XON, XON_XOFF_PROBE };
enum { XON_XOFF_PROBE_DUE, XON_XOFF_MORE };
enum {
	XON_XOFF_AGAIN_PART = 4,  /* of high - low: when to say it again */
	XON_XOFF_MAX_BACKOFF = 6, /* probe intervals double as often */
};

struct xon_xoff_parameters {
	int64_t high, low, ahead, probe;
};

struct xon_xoff {
	struct held held; /* as a receiver */

	/* as a sender */
	struct nopal_queue waiting;
	int64_t ahead_bytes; /* let go, and not left */
	uint32_t obeyed;     /* number of the order; 0: none came */
	uint32_t backoff;
	bool suspended;

	/* as a receiver */
	uint32_t order;	       /* number of the last order */
	bool off;	       /* it was xoff */
	bool say;	       /* at the end of this turn */
	int64_t arrived_bytes; /* since it was said */
};

/* ------------------------------------------------------------- the sender */

/* Is there room among what was let go and has not left?  One always may. */
static bool xon_xoff_may_go(struct nopal_at at, const struct nopal_segment *segment)
{
	const struct xon_xoff_parameters *set = nopal_parameters(at);
	const struct xon_xoff *self = nopal_state(at);

	return !self->suspended &&
	       (self->ahead_bytes <= 0 || self->ahead_bytes + segment->body.length <= set->ahead);
}

static void xon_xoff_let_go(struct nopal_at at, struct nopal_segment *segment)
{
	struct xon_xoff *self = nopal_state(at);

	self->ahead_bytes += segment->body.length;
	nopal_set(at, segment, XON_XOFF_LET_GO, segment->body.length);
	nopal_release(at, segment, NOPAL_SEND);
}

static void xon_xoff_set_blocked(struct nopal_at at)
{
	const struct xon_xoff_parameters *set = nopal_parameters(at);
	struct xon_xoff *self = nopal_state(at);
	bool blocked = self->suspended && self->waiting.count > 0;

	nopal_shared_set(at, XON_XOFF_BLOCKED, blocked ? self->waiting.count : 0);
	if (!blocked)
		nopal_timer_stop(at, XON_XOFF_PROBE_DUE);
	else if (!nopal_timer_running(at, XON_XOFF_PROBE_DUE))
		nopal_timer_start(at, XON_XOFF_PROBE_DUE,
				  at.session->now_ns + (set->probe << self->backoff));
}

static void xon_xoff_drain(struct nopal_at at)
{
	struct xon_xoff *self = nopal_state(at);
	struct nopal_segment *segment;

	while (self->waiting.count &&
	       (segment = nopal_queue_first(at.session, &self->waiting)) != NULL) {
		bool held = nopal_holds(at, segment, NOPAL_SEND);

		if (held && !xon_xoff_may_go(at, segment))
			break;
		nopal_queue_pop(&self->waiting);
		if (held)
			xon_xoff_let_go(at, segment);
	}
	xon_xoff_set_blocked(at);
}

static enum nopal_verdict xon_xoff_on_to_net(struct nopal_at at, struct nopal_segment *segment)
{
	struct xon_xoff *self = nopal_state(at);

	if (!self->waiting.count && xon_xoff_may_go(at, segment)) {
		xon_xoff_let_go(at, segment);
		return NOPAL_CONTINUE;
	}
	if (nopal_queue_push(at.session, &self->waiting, segment) < 0)
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "no room to queue for the peer's xon");
	else
		xon_xoff_set_blocked(at);
	return NOPAL_CONTINUE;
}

/* Left, or died before.  More is let go in a turn of its own: what waits for a window goes at the
 * end of a turn, and this may be it. */
static enum nopal_verdict xon_xoff_on_gone(struct nopal_at at, struct nopal_segment *segment)
{
	const struct xon_xoff_parameters *set = nopal_parameters(at);
	struct xon_xoff *self = nopal_state(at);

	self->ahead_bytes -= (int64_t)nopal_get(at, segment, XON_XOFF_LET_GO);
	nopal_set(at, segment, XON_XOFF_LET_GO, 0);
	if (self->waiting.count && !self->suspended && self->ahead_bytes <= set->ahead / 2 &&
	    !nopal_timer_running(at, XON_XOFF_MORE))
		nopal_timer_start(at, XON_XOFF_MORE, at.session->now_ns);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict xon_xoff_on_order(struct nopal_at at, struct nopal_segment *segment)
{
	struct xon_xoff *self = nopal_state(at);
	uint32_t number;

	if (!flow_number_low(segment, &number) || !flow_number_is_newer(number, self->obeyed))
		return NOPAL_CONTINUE;
	self->obeyed = number;
	self->suspended = segment->kind == nopal_kind(at, XON_XOFF_XOFF);
	self->backoff = 0;
	nopal_timer_stop(at, XON_XOFF_PROBE_DUE);
	xon_xoff_drain(at);
	return NOPAL_CONTINUE;
}

static void xon_xoff_when_probe_due(struct nopal_at at)
{
	struct xon_xoff *self = nopal_state(at);

	if (nopal_queue_first(at.session, &self->waiting)) {
		flow_number_say(at, XON_XOFF_PROBE, self->obeyed);
		if (self->backoff < XON_XOFF_MAX_BACKOFF)
			self->backoff++;
	}
	xon_xoff_set_blocked(at);
}

/* ----------------------------------------------------------- the receiver */

/* One answer a turn, however many come. */
static enum nopal_verdict xon_xoff_on_probe(struct nopal_at at, struct nopal_segment *segment)
{
	struct xon_xoff *self = nopal_state(at);
	uint32_t number;

	if (!flow_number_low(segment, &number))
		return NOPAL_CONTINUE;
	if (flow_number_is_newer(number, self->order))
		self->order = number + 1;
	self->say = true;
	return NOPAL_CONTINUE;
}

static enum nopal_verdict xon_xoff_on_verified(struct nopal_at at, struct nopal_segment *segment)
{
	struct xon_xoff *self = nopal_state(at);

	self->arrived_bytes += segment->body.length;
	return NOPAL_CONTINUE;
}

static enum nopal_verdict xon_xoff_on_turn_end(struct nopal_at at, struct nopal_session *subject)
{
	const struct xon_xoff_parameters *set = nopal_parameters(at);
	struct xon_xoff *self = nopal_state(at);

	(void)subject;
	if (self->waiting.count)
		xon_xoff_drain(at);
	if (!nopal_session_is_open(at.session))
		return NOPAL_CONTINUE;
	if (self->off ? self->held.bytes <= set->low : self->held.bytes > set->high) {
		self->off = !self->off;
		self->order++;
		self->say = true;
	}
	if (self->off && self->arrived_bytes >= (set->high - set->low) / XON_XOFF_AGAIN_PART)
		self->say = true;
	if (self->say &&
	    flow_number_say(at, self->off ? XON_XOFF_XOFF : XON_XOFF_XON, self->order)) {
		self->say = false;
		self->arrived_bytes = 0;
	}
	return NOPAL_CONTINUE;
}

static void xon_xoff_validate(const void *parameters, struct nopal_problems *problems)
{
	const struct xon_xoff_parameters *set = parameters;

	if (set->low >= set->high)
		nopal_problem(problems, "low", "the peer would go on before it had to stop",
			      "make low less than high");
}

static const struct nopal_binding xon_xoff_bindings[] = {
	NOPAL_ON(SEGMENT_TO_NET, xon_xoff_on_to_net, .before = "window_mechanism"),
	NOPAL_ON(SEND_SEGMENT, xon_xoff_on_gone),
	NOPAL_ON(SEGMENT_DONE, xon_xoff_on_gone),
	NOPAL_ON_OWN(XON_XOFF_XOFF, xon_xoff_on_order),
	NOPAL_ON_OWN(XON_XOFF_XON, xon_xoff_on_order),
	NOPAL_ON_OWN(XON_XOFF_PROBE, xon_xoff_on_probe),
	NOPAL_ON(SEGMENT_VERIFIED, xon_xoff_on_verified, .before = "message_segments"),
	HELD_BINDINGS,
	NOPAL_ON(TURN_END, xon_xoff_on_turn_end, .before = "window_mechanism"),
	{ 0 },
};

static void xon_xoff_idle(struct nopal_at at)
{
	struct xon_xoff *self = nopal_state(at);

	nopal_queue_idle(at.session, &self->waiting);
}

const struct nopal_microprotocol nopal_xon_xoff = {
	NOPAL_DESCRIBE(xon_xoff, flow,
		       "XON/XOFF flow control: the receiver suspends and resumes the sender"),
	.provides = NOPAL_ROLES({ "flow_control", true }),
	.promises = NOPAL_PROMISES(NOPAL_FLOW_CONTROLLED),
	.parameters_size = sizeof(struct xon_xoff_parameters),
	.parameters =
		NOPAL_PARAMETERS(NOPAL_NUMBER(xon_xoff, high, "high", SIZE, "4MiB", "1KiB", "1GiB",
					      "bytes held, above which the peer is to stop"),
				 NOPAL_NUMBER(xon_xoff, low, "low", SIZE, "2MiB", "0B", "1GiB",
					      "bytes held, at which it may go on"),
				 NOPAL_NUMBER(xon_xoff, ahead, "ahead", SIZE, "64KiB", "1seg",
					      "1GiB", "bytes let go here that have not left"),
				 NOPAL_NUMBER(xon_xoff, probe, "probe", TIME, "100ms", "1ms", "10s",
					      "time between probes of a suspended sender, at first",
					      .waits = NOPAL_WAITS_DOUBLED)),
	.validate = xon_xoff_validate,
	.attributes = NOPAL_ATTRIBUTES(
		[HELD_CHARGE] = { "flow_charge", NOPAL_WRITE, "bytes that the message holds" },
		[XON_XOFF_LET_GO] = { "flow_let_go", NOPAL_WRITE,
				      "bytes that flow control let go and that have not left" }),
	.shared = NOPAL_SHARED([XON_XOFF_BLOCKED] = { "flow_blocked", NOPAL_WRITE, 0,
						      "segments that wait for the peer's xon" }),
	.kinds = NOPAL_KINDS([XON_XOFF_XOFF] = { "xoff", NOPAL_KIND_CONTROL,
						 "stop first transmissions" },
			     [XON_XOFF_XON] = { "xon", NOPAL_KIND_CONTROL, "go on" },
			     [XON_XOFF_PROBE] = { "probe", NOPAL_KIND_CONTROL,
						  "a suspended sender asks" }),
	.holds = NOPAL_HOLDS({ "the peer's xon", NOPAL_SEND, NOPAL_DATA, .sticky = true }),
	.timers = NOPAL_TIMERS([XON_XOFF_PROBE_DUE] = { "probe", xon_xoff_when_probe_due },
			       [XON_XOFF_MORE] = { "more", xon_xoff_drain }),
	.bindings = xon_xoff_bindings,
	.state_size = sizeof(struct xon_xoff),
	.idle = xon_xoff_idle,
};
