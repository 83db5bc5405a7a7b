/* SPDX-License-Identifier: MIT */
/*
 * rate_feedback -- limit on the rate of the sender, set by the receiving application.
 *
 * The rate that the application asked for last (nopal_session_accept_rate) goes to the sender,
 * numbered, and is repeated until the sender's echo comes; there the rate mechanism keeps to it.  A
 * rate is absolute: one that comes late or twice says nothing new.
 *
 *   receiver                              sender
 *     1 Mbit/s
 *     ------ rate 1, 1000000 ------ x     (lost)
 *     2 Mbit/s
 *     ------ rate 2, 2000000 ---------->  receiver_rate_bps = 2000000
 *     x----- echo 2, 2000000 -----------  (lost)
 *     (`repeat`)
 *     ------ rate 2, 2000000 ---------->  known
 *     <----- echo 2, 2000000 -----------
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.D (a): policies on traffic
 *            rates of higher levels, told by feedback messages.
 * Differs:   nothing.
 * Wire:      rate, rate_echo: number 4, bits a second 8; 0: no limit.
 */
#include "flow_number.h"

enum { RATE_FEEDBACK_RATE_BPS };		 /* shared variables */
enum { RATE_FEEDBACK_RATE, RATE_FEEDBACK_ECHO }; /* kinds */
enum { RATE_FEEDBACK_REPEAT };			 /* timers */
enum {
	RATE_FEEDBACK_BPS_BYTES = 8,
	RATE_FEEDBACK_BYTES = FLOW_NUMBER_BYTES + RATE_FEEDBACK_BPS_BYTES, /* of both kinds */
	RATE_FEEDBACK_MAX_BACKOFF = 6, /* the interval doubles as often */
};

struct rate_feedback_parameters {
	int64_t repeat;
};

struct rate_feedback {
	/* as a receiver */
	uint64_t bps;	 /* that the application wants */
	uint32_t number; /* of it; 0: it wants nothing */
	uint32_t backoff;
	bool unheard; /* no echo came */
	bool say;     /* at the end of this turn */

	/* as a sender */
	uint32_t obeyed; /* number of the rate; 0: none came */
	uint64_t obeyed_bps;
	bool echo; /* at the end of this turn */
};

static bool rate_feedback_send(struct nopal_at at, unsigned kind, uint32_t number, uint64_t bps)
{
	struct nopal_writer writer;
	struct nopal_segment *segment = nopal_control_begin(at, kind, RATE_FEEDBACK_BYTES, &writer);

	if (!segment)
		return false;
	nopal_write(&writer, number, FLOW_NUMBER_BYTES);
	nopal_write(&writer, bps, RATE_FEEDBACK_BPS_BYTES);
	nopal_control_send(at.session, segment, RATE_FEEDBACK_BYTES);
	return true;
}

static bool rate_feedback_read(const struct nopal_segment *segment, uint32_t *ret_number,
			       uint64_t *ret_bps)
{
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint64_t number = nopal_read(&reader, FLOW_NUMBER_BYTES);
	uint64_t bps = nopal_read(&reader, RATE_FEEDBACK_BPS_BYTES);

	if (!nopal_read_complete(&reader))
		return false;
	*ret_number = (uint32_t)number;
	*ret_bps = bps;
	return true;
}

/* ----------------------------------------------------------- the receiver */

static enum nopal_verdict rate_feedback_on_rate_from_user(struct nopal_at at,
							  struct nopal_rate *rate)
{
	struct rate_feedback *self = nopal_state(at);

	self->bps = rate->bps;
	self->number++;
	self->backoff = 0;
	self->unheard = true;
	self->say = true;
	return NOPAL_CONTINUE;
}

/* The rate that the sender obeys.  Where it was never said here, numbers go on from there. */
static enum nopal_verdict rate_feedback_on_echo(struct nopal_at at, struct nopal_segment *segment)
{
	struct rate_feedback *self = nopal_state(at);
	uint32_t number;
	uint64_t bps;

	if (!rate_feedback_read(segment, &number, &bps) || !self->unheard ||
	    flow_number_is_newer(self->number, number))
		return NOPAL_CONTINUE;
	if (number != self->number || bps != self->bps) {
		self->number = number + 1;
		self->say = true;
		return NOPAL_CONTINUE;
	}
	self->unheard = false;
	self->say = false;
	nopal_timer_stop(at, RATE_FEEDBACK_REPEAT);
	return NOPAL_CONTINUE;
}

static void rate_feedback_say(struct nopal_at at)
{
	const struct rate_feedback_parameters *set = nopal_parameters(at);
	struct rate_feedback *self = nopal_state(at);

	self->say = false;
	rate_feedback_send(at, RATE_FEEDBACK_RATE, self->number, self->bps);
	nopal_timer_start(at, RATE_FEEDBACK_REPEAT,
			  at.session->now_ns + (set->repeat << self->backoff));
	if (self->backoff < RATE_FEEDBACK_MAX_BACKOFF)
		self->backoff++;
}

static void rate_feedback_when_repeat(struct nopal_at at)
{
	const struct rate_feedback *self = nopal_state(at);

	if (self->unheard)
		rate_feedback_say(at);
}

/* ------------------------------------------------------------- the sender */

static enum nopal_verdict rate_feedback_on_rate(struct nopal_at at, struct nopal_segment *segment)
{
	struct rate_feedback *self = nopal_state(at);
	uint32_t number;
	uint64_t bps;

	if (!rate_feedback_read(segment, &number, &bps))
		return NOPAL_CONTINUE;
	self->echo = true;
	if (!flow_number_is_newer(number, self->obeyed))
		return NOPAL_CONTINUE;
	self->obeyed = number;
	self->obeyed_bps = bps;
	nopal_shared_set(at, RATE_FEEDBACK_RATE_BPS, bps <= INT64_MAX ? (int64_t)bps : 0);
	return NOPAL_CONTINUE;
}

/* ------------------------------------------------------------------- both */

static enum nopal_verdict rate_feedback_on_turn_end(struct nopal_at at,
						    struct nopal_session *subject)
{
	struct rate_feedback *self = nopal_state(at);

	(void)subject;
	if (!nopal_session_is_open(at.session))
		return NOPAL_CONTINUE;
	if (self->say)
		rate_feedback_say(at);
	if (self->echo &&
	    rate_feedback_send(at, RATE_FEEDBACK_ECHO, self->obeyed, self->obeyed_bps))
		self->echo = false;
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_rate_feedback = {
	NOPAL_DESCRIBE(rate_feedback, flow,
		       "limit on the rate of the sender, set by the receiving application"),
	.provides = NOPAL_ROLES({ "receiver_rate", true }),
	.needs = NOPAL_RELATIONS(
		{ "rate_mechanism", "a mechanism has to keep to the receiver's rate" }),
	.parameters_size = sizeof(struct rate_feedback_parameters),
	.parameters = NOPAL_PARAMETERS(NOPAL_NUMBER(
		rate_feedback, repeat, "repeat", TIME, "100ms", "1ms", "10s",
		"time until a rate is repeated, at first", .waits = NOPAL_WAITS_DOUBLED)),
	.shared = NOPAL_SHARED([RATE_FEEDBACK_RATE_BPS] = { "receiver_rate_bps", NOPAL_WRITE, 0,
							    "the receiver's limit; 0: none" }),
	.kinds = NOPAL_KINDS([RATE_FEEDBACK_RATE] = { "rate", NOPAL_KIND_CONTROL,
						      "the receiver's limit" },
			     [RATE_FEEDBACK_ECHO] = { "rate_echo", NOPAL_KIND_CONTROL,
						      "the rate that is kept to" }),
	.timers = NOPAL_TIMERS([RATE_FEEDBACK_REPEAT] = { "repeat", rate_feedback_when_repeat }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(RATE_FROM_USER, rate_feedback_on_rate_from_user),
				   NOPAL_ON_OWN(RATE_FEEDBACK_RATE, rate_feedback_on_rate),
				   NOPAL_ON_OWN(RATE_FEEDBACK_ECHO, rate_feedback_on_echo),
				   NOPAL_ON(TURN_END, rate_feedback_on_turn_end)),
	.state_size = sizeof(struct rate_feedback),
};
