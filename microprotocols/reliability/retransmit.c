/* SPDX-License-Identifier: MIT */
/*
 * retransmit -- send a segment again when it is lost or overdue.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.C and figure 4; Flach
 *            et al., Reducing web latency: the virtue of gentle aggression,
 *            SIGCOMM 2013 (copies).
 * Differs:   asks the runtime for a new departure instead of clearing and
 *            setting its send bit, so that windows and rates must agree to each
 *            resend; gives up on a segment that was overdue `attempts` times.  A
 *            reported loss shows that the peer lives and is not counted; where
 *            acks say nothing of what lies above their floor, so does any that
 *            moves it, and the count begins anew.
 *            While the network has room and nothing else to carry, a resend
 *            leaves with copies: at the end of a transfer what is lost again
 *            costs a round trip each time, and the room costs nothing.  Where
 *            somebody gives up a segment, this does not ask for it again.
 *            Beside redundancy, `arq` says when a loss is resent:
 *            always: as soon as it is reported.  All arrives; redundancy saves
 *            the round trip where it is quicker than the report.
 *            unrepaired: when redundancy can no longer repair it, which is when
 *            the fate of all that could is known and the segment is missing
 *            still.  All arrives as well, with fewer resends; what redundancy
 *            cannot repair comes later by the time it took to know.  Overdue
 *            segments wait likewise, but none longer than for three seconds:
 *            what redundancy would make may stand in line behind them.  Urgent
 *            ones do not wait.  It is `always`
 *            without redundancy, and where acks tell a floor alone: which ones are
 *            missing, nobody knows, and timeouts double until somebody does.
 *            never: redundancy repairs what it can, and the rest is missing;
 *            that composition has no retransmit, and check says so.
 * Needs:     acknowledgement, segment_numbers.
 * Provides:  reliability.
 * Excludes:  lossy_order (what it skips would be sent again for nothing).
 * Handles:   SEGMENT_TO_NET, SEND_SEGMENT, SEGMENT_RESEND, SEGMENT_LOST,
 *            SEGMENT_TIMEOUT, SEGMENT_RECEIVED, SEGMENT_ABANDONED, ACK_PROCESSED,
 *            TURN_END.
 * Raises:    SEGMENT_RESEND, SESSION_BROKEN.
 * Holds:     send, done, deallocate: keeps the segment until the peer has it.
 * Wire:      nothing.
 * Shares:    writes reliability_unmet: 1, an unseen segment is still needed;
 *            writes resends_wait: 1, `arq` is unrepaired;
 *            reads app_limited (optional, 0): 1, nothing else waits to leave;
 *            reads repair_groups_settled (optional, all): of groups up to this
 *            one nothing more can be repaired.
 * Parameters: attempts (default 16): how often one segment may be overdue;
 *            copies (default 0): of a resend, where nothing else waits;
 *            arq (default always): when to resend beside redundancy: always,
 *            unrepaired, or never.
 */
#include <nopal/microprotocol.h>

struct retransmit_parameters {
	int64_t attempts, copies, arq;
};

enum { RETRANSMIT_ALWAYS, RETRANSMIT_UNREPAIRED, RETRANSMIT_NEVER }; /* arq */

struct retransmit {
	struct nopal_queue again;   /* of which copies may leave */
	struct nopal_queue missing; /* and may be repaired yet */
	bool asking;		    /* it is this part that asks for a resend */
	bool floors;		    /* the last ack told a floor alone */
	uint64_t progress;	    /* acks that moved a floor alone */
};

/* shared variables */
enum {
	RETRANSMIT_UNMET,
	RETRANSMIT_APP_LIMITED,
	RETRANSMIT_WAIT,
	RETRANSMIT_SETTLED,
};
/* attributes */
enum {
	RETRANSMIT_OVERDUE,
	RETRANSMIT_COPIES,
	RETRANSMIT_GROUP,
	RETRANSMIT_PROGRESS,
};
enum { RETRANSMIT_COPY, RETRANSMIT_UNSETTLED }; /* timers */

/* Between a resend and its copy: what one burst of losses takes is not both, and where a round trip
 * is shorter the answer comes before the copy. */
static const int64_t RETRANSMIT_APART_NS = NOPAL_MILLISECOND;
/* No segment that is missing stands first in line for longer. */
static const int64_t RETRANSMIT_UNSETTLED_NS = 3 * NOPAL_SECOND;

static enum nopal_verdict retransmit_on_to_net(struct nopal_at at, struct nopal_segment *segment)
{
	nopal_release(at, segment, NOPAL_SEND);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict retransmit_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	struct retransmit *self = nopal_state(at);

	if (!nopal_shared(at, RETRANSMIT_APP_LIMITED) || !nopal_get(at, segment, RETRANSMIT_COPIES))
		return NOPAL_CONTINUE;
	if (nopal_queue_push(at.session, &self->again, segment) < 0)
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "no room for a segment that leaves again");
	else if (!nopal_timer_running(at, RETRANSMIT_COPY))
		nopal_timer_start(at, RETRANSMIT_COPY, at.session->now_ns + RETRANSMIT_APART_NS);
	return NOPAL_CONTINUE;
}

static void retransmit_again(struct nopal_at at, struct nopal_segment *segment)
{
	struct retransmit *self = nopal_state(at);

	self->asking = true;
	nopal_segment_resend(at, segment);
	self->asking = false;
}

/* What another asks for, as a probe, leaves, too. */
static enum nopal_verdict retransmit_on_resend(struct nopal_at at, struct nopal_segment *segment)
{
	const struct retransmit *self = nopal_state(at);

	if (!self->asking)
		nopal_release(at, segment, NOPAL_SEND);
	return NOPAL_CONTINUE;
}

static void retransmit_ask(struct nopal_at at, struct nopal_segment *segment)
{
	const struct retransmit_parameters *set = nopal_parameters(at);

	nopal_set(at, segment, RETRANSMIT_COPIES, (uint64_t)set->copies);
	retransmit_again(at, segment);
}

static bool retransmit_may_be_repaired(struct nopal_at at, const struct nopal_segment *segment)
{
	const struct retransmit_parameters *set = nopal_parameters(at);
	const struct retransmit *self = nopal_state(at);

	return set->arq == RETRANSMIT_UNREPAIRED && !self->floors && !segment->urgent &&
	       nopal_get(at, segment, RETRANSMIT_GROUP) >
		       (uint64_t)nopal_shared(at, RETRANSMIT_SETTLED);
}

static void retransmit_missing(struct nopal_at at, struct nopal_segment *segment)
{
	struct retransmit *self = nopal_state(at);

	if (!retransmit_may_be_repaired(at, segment))
		retransmit_ask(at, segment);
	else if (nopal_queue_insert(at.session, &self->missing, segment) < 0)
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "no room for a segment that is missing");
	else if (!nopal_timer_running(at, RETRANSMIT_UNSETTLED))
		nopal_timer_start(at, RETRANSMIT_UNSETTLED,
				  at.session->now_ns + RETRANSMIT_UNSETTLED_NS);
}

static enum nopal_verdict retransmit_on_lost(struct nopal_at at, struct nopal_segment *segment)
{
	if (!segment->last)
		retransmit_missing(at, segment);
	return NOPAL_CONTINUE;
}

/* How often it was overdue since the peer was last seen to live. */
static uint64_t retransmit_overdue(struct nopal_at at, struct nopal_segment *segment)
{
	const struct retransmit *self = nopal_state(at);
	uint64_t overdue = 1;

	if (nopal_get(at, segment, RETRANSMIT_PROGRESS) == self->progress)
		overdue += nopal_get(at, segment, RETRANSMIT_OVERDUE);
	nopal_set(at, segment, RETRANSMIT_PROGRESS, self->progress);
	nopal_set(at, segment, RETRANSMIT_OVERDUE, overdue);
	return overdue;
}

static enum nopal_verdict retransmit_on_timeout(struct nopal_at at, struct nopal_segment *segment)
{
	const struct retransmit_parameters *set = nopal_parameters(at);

	if (segment->last)
		return NOPAL_CONTINUE;
	if (retransmit_overdue(at, segment) >= (uint64_t)set->attempts)
		nopal_session_break(at.session, NOPAL_GAVE_UP,
				    "the peer fell silent: a segment used up its attempts");
	else
		retransmit_missing(at, segment);
	return NOPAL_CONTINUE;
}

/* What lies above the floor is overdue as well, though it may have arrived: behind each hole that
 * is filled, that is no sign of silence. */
static enum nopal_verdict retransmit_on_processed(struct nopal_at at, struct nopal_ack *ack)
{
	struct retransmit *self = nopal_state(at);

	self->floors = !ack->selective;
	if (self->floors && ack->newly_acked_segments)
		self->progress++;
	return NOPAL_CONTINUE;
}

/* The peer has it, or need not have it. */
static enum nopal_verdict retransmit_on_settled(struct nopal_at at, struct nopal_segment *segment)
{
	nopal_release(at, segment, NOPAL_FINISH);
	nopal_release(at, segment, NOPAL_DEALLOCATE);
	return NOPAL_CONTINUE;
}

/* The first that is missing is asked for, and the next one is the first. */
static void retransmit_ask_first(struct nopal_at at, struct nopal_segment *segment)
{
	struct retransmit *self = nopal_state(at);

	nopal_queue_pop(&self->missing);
	if (self->missing.count)
		nopal_timer_start(at, RETRANSMIT_UNSETTLED,
				  at.session->now_ns + RETRANSMIT_UNSETTLED_NS);
	else
		nopal_timer_stop(at, RETRANSMIT_UNSETTLED);
	if (!segment->done)
		retransmit_ask(at, segment);
}

static void retransmit_when_unsettled(struct nopal_at at)
{
	struct retransmit *self = nopal_state(at);
	struct nopal_segment *segment;

	if (self->missing.count &&
	    (segment = nopal_queue_first(at.session, &self->missing)) != NULL)
		retransmit_ask_first(at, segment);
}

/* Groups are settled in the order of their numbers, and older segments have lower ones: the first
 * that may be repaired yet ends the walk. */
static enum nopal_verdict retransmit_on_turn_end(struct nopal_at at, struct nopal_session *subject)
{
	struct retransmit *self = nopal_state(at);
	struct nopal_segment *segment;

	(void)subject;
	while (self->missing.count &&
	       (segment = nopal_queue_first(at.session, &self->missing)) != NULL) {
		if (!segment->done && retransmit_may_be_repaired(at, segment))
			break;
		retransmit_ask_first(at, segment);
	}
	return NOPAL_CONTINUE;
}

/* A turn of its own, so that gates look at what is asked for here.  What waits to leave goes before
 * all copies, and takes their chance. */
static void retransmit_when_copy(struct nopal_at at)
{
	bool room = nopal_shared(at, RETRANSMIT_APP_LIMITED) != 0;
	struct retransmit *self = nopal_state(at);
	struct nopal_segment *segment;

	while (self->again.count &&
	       (segment = nopal_queue_first(at.session, &self->again)) != NULL) {
		uint64_t copies = nopal_get(at, segment, RETRANSMIT_COPIES);

		nopal_queue_pop(&self->again);
		if (!room || segment->done || segment->wanted || segment->last || !copies)
			continue;
		nopal_set(at, segment, RETRANSMIT_COPIES, copies - 1);
		retransmit_again(at, segment);
	}
}

static int retransmit_open(struct nopal_at at)
{
	const struct retransmit_parameters *set = nopal_parameters(at);

	nopal_share(at, RETRANSMIT_WAIT, set->arq == RETRANSMIT_UNREPAIRED);
	return 0;
}

static void retransmit_rest(struct nopal_at at)
{
	struct retransmit *self = nopal_state(at);

	nopal_queue_rest(at.session, &self->again);
	nopal_queue_rest(at.session, &self->missing);
}

static void retransmit_validate(const void *parameters, struct nopal_problems *problems)
{
	const struct retransmit_parameters *set = parameters;

	if (set->arq == RETRANSMIT_NEVER)
		nopal_problem(problems, "arq",
			      "retransmit promises that all arrives, and would "
			      "never do anything for it",
			      "remove retransmit: redundancy alone repairs what it can");
}

static const struct nopal_parameter retransmit_parameters[] = {
	NOPAL_NUMBER(retransmit, attempts, "attempts", COUNT, "16", "1", "1000",
		     "how often one segment may be overdue before the session gives up"),
	NOPAL_NUMBER(retransmit, copies, "copies", COUNT, "0", "0", "7",
		     "copies of a resend, where nothing else waits to leave"),
	NOPAL_WORDS(retransmit, arq, "arq", "always", "always|unrepaired|never",
		    "when to resend beside redundancy: always, or what it cannot repair"),
	{ 0 },
};

static const struct nopal_binding retransmit_bindings[] = {
	NOPAL_ON(SEGMENT_TO_NET, retransmit_on_to_net, .before = "window_mechanism"),
	NOPAL_ON(SEND_SEGMENT, retransmit_on_send),
	NOPAL_ON(SEGMENT_RESEND, retransmit_on_resend, .before = "rate_mechanism|window_mechanism"),
	NOPAL_ON(SEGMENT_LOST, retransmit_on_lost),
	NOPAL_ON(SEGMENT_TIMEOUT, retransmit_on_timeout),
	NOPAL_ON(SEGMENT_RECEIVED, retransmit_on_settled),
	NOPAL_ON(SEGMENT_ABANDONED, retransmit_on_settled),
	NOPAL_ON(ACK_PROCESSED, retransmit_on_processed),
	NOPAL_ON(TURN_END, retransmit_on_turn_end,
		 .before = "flow_control|rate_mechanism|window_mechanism"),
	{ 0 },
};

static const struct nopal_relation retransmit_needs[] = {
	{ "acknowledgement", "without status nothing is known to be missing" },
	{ "segment_numbers", "the peer must tell a resend from a new segment" },
	{ 0 },
};

static const struct nopal_relation retransmit_excludes[] = {
	{ "lossy_order", "what lossy ordering skips would be sent again for nothing" },
	{ 0 },
};

static const struct nopal_promise retransmit_promises[] = {
	{ NOPAL_DELIVERY, NOPAL_RECOVERY, NOPAL_GIVES, NOPAL_ALL,
	  "what is lost or timed out is sent again" },
	{ NOPAL_DEATH, NOPAL_RECOVERY, NOPAL_GIVES, NOPAL_WHILE_SENDING, "resends have an end",
	  .bound = "attempts" },
	{ NOPAL_ORDER, NOPAL_SENDING, NOPAL_LOWERS, 0,
	  "a resend leaves after segments that were sent later" },
	{ 0 },
};

static const struct nopal_attribute retransmit_attributes[] = {
	[RETRANSMIT_OVERDUE] = { "times_overdue", NOPAL_WRITE,
				 "timeouts of the segment since the peer was seen to live" },
	[RETRANSMIT_COPIES] = { "copies_left", NOPAL_WRITE, "copies of its resend that may leave" },
	[RETRANSMIT_GROUP] = { "repair_group", NOPAL_READ_OPTIONAL },
	[RETRANSMIT_PROGRESS] = { "overdue_progress", NOPAL_WRITE,
				  "when it was overdue last: acks that had moved a floor" },
	{ 0 },
};

static const struct nopal_shared retransmit_shared[] = {
	[RETRANSMIT_UNMET] = { "reliability_unmet", NOPAL_WRITE, 1,
			       "1: an unseen segment is still needed" },
	[RETRANSMIT_APP_LIMITED] = { "app_limited", NOPAL_READ_OPTIONAL, 0,
				     "1: nothing else waits to leave" },
	[RETRANSMIT_WAIT] = { "resends_wait", NOPAL_WRITE, 0,
			      "1: what may be repaired is not resent" },
	[RETRANSMIT_SETTLED] = { "repair_groups_settled", NOPAL_READ_OPTIONAL, INT64_MAX,
				 "of groups up to this nothing more is repaired" },
	{ 0 },
};

static const struct nopal_hold retransmit_holds[] = {
	{ "is it asked to leave", NOPAL_SEND, NOPAL_DATA },
	{ "the peer has it", NOPAL_FINISH, NOPAL_DATA },
	{ "the peer has it", NOPAL_DEALLOCATE, NOPAL_DATA },
	{ 0 },
};

static const struct nopal_timer retransmit_timers[] = {
	[RETRANSMIT_COPY] = { "copy", retransmit_when_copy },
	[RETRANSMIT_UNSETTLED] = { "unsettled", retransmit_when_unsettled },
	{ 0 },
};

const struct nopal_microprotocol nopal_retransmit = {
	.abi = NOPAL_ABI,
	.name = "retransmit",
	.family = "reliability",
	.summary = "send a segment again when it is lost or overdue",
	.provides = NOPAL_ROLES({ "reliability" }),
	.standard = "reliability",
	.needs = retransmit_needs,
	.excludes = retransmit_excludes,
	.promises = retransmit_promises,
	.parameters_size = sizeof(struct retransmit_parameters),
	.parameters = retransmit_parameters,
	.validate = retransmit_validate,
	.attributes = retransmit_attributes,
	.shared = retransmit_shared,
	.holds = retransmit_holds,
	.timers = retransmit_timers,
	.bindings = retransmit_bindings,
	.raises = NOPAL_RAISES("SEGMENT_RESEND", "SESSION_BROKEN"),
	.state_size = sizeof(struct retransmit),
	.open = retransmit_open,
	.rest = retransmit_rest,
};
