/* SPDX-License-Identifier: MIT */
/*
 * keep_alive -- find out that a silent peer is gone.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.A.
 * Differs:   any arriving segment is a sign of life, and probes are sent only
 *            into silence; many probes in one turn get one answer.  With each probe
 *            the peer's endpoint is asked whether it still knows the session: one
 *            that was restarted says so at once.
 */
#include <nopal/microprotocol.h>

struct keep_alive_parameters {
	int64_t interval_ns, timeout_ns, probes;
};

enum { KEEP_ALIVE_PROBE, KEEP_ALIVE_ANSWER }; /* kinds */
enum { KEEP_ALIVE_CHECK };		      /* timers */

struct keep_alive {
	int64_t heard_ns; /* when a segment came last */
	bool asked;	  /* an answer is due at the end of the turn */
};

static void keep_alive_send(struct nopal_at at, unsigned kind)
{
	struct nopal_segment *segment = nopal_control_bare(at, kind);

	if (segment)
		nopal_control_send(at.session, segment, 0);
}

/* The next check is when the silence could be long enough for a probe, else when the next probe is
 * due, and never after the timeout. */
static void keep_alive_when_check(struct nopal_at at)
{
	const struct keep_alive_parameters *set = nopal_parameters(at);
	struct keep_alive *self = nopal_state(at);
	int64_t silence_ns = at.session->now_ns - self->heard_ns;
	int64_t step_ns = (set->timeout_ns - set->interval_ns) / set->probes;
	int64_t next_ns = self->heard_ns + set->interval_ns;

	if (silence_ns >= set->timeout_ns) {
		nopal_session_break(at.session, NOPAL_PEER_LOST, "nothing was heard from the peer");
		return;
	}
	if (silence_ns >= set->interval_ns) {
		keep_alive_send(at, KEEP_ALIVE_PROBE);
		nopal_session_doubt(at.session);
		next_ns = at.session->now_ns + (step_ns > 0 ? step_ns : 1);
		if (next_ns > self->heard_ns + set->timeout_ns)
			next_ns = self->heard_ns + set->timeout_ns;
	}
	nopal_timer_start(at, KEEP_ALIVE_CHECK, next_ns);
}

static enum nopal_verdict keep_alive_on_opened(struct nopal_at at, struct nopal_session *subject)
{
	const struct keep_alive_parameters *set = nopal_parameters(at);
	struct keep_alive *self = nopal_state(at);

	(void)subject;
	self->heard_ns = at.session->now_ns;
	nopal_timer_start(at, KEEP_ALIVE_CHECK, at.session->now_ns + set->interval_ns);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict keep_alive_on_any(struct nopal_at at, struct nopal_segment *segment)
{
	struct keep_alive *self = nopal_state(at);

	(void)segment;
	self->heard_ns = at.session->now_ns;
	return NOPAL_CONTINUE;
}

static enum nopal_verdict keep_alive_on_probe(struct nopal_at at, struct nopal_segment *segment)
{
	struct keep_alive *self = nopal_state(at);

	self->heard_ns = at.session->now_ns;
	if (segment->body.length == 0)
		self->asked = true;
	return NOPAL_STOP;
}

static enum nopal_verdict keep_alive_on_answer(struct nopal_at at, struct nopal_segment *segment)
{
	struct keep_alive *self = nopal_state(at);

	(void)segment;
	self->heard_ns = at.session->now_ns;
	return NOPAL_STOP;
}

static enum nopal_verdict keep_alive_on_turn_end(struct nopal_at at, struct nopal_session *subject)
{
	struct keep_alive *self = nopal_state(at);

	(void)subject;
	if (self->asked) {
		self->asked = false;
		keep_alive_send(at, KEEP_ALIVE_ANSWER);
	}
	return NOPAL_CONTINUE;
}

static void keep_alive_validate(const void *parameters, struct nopal_problems *problems)
{
	const struct keep_alive_parameters *set = parameters;

	if (set->timeout_ns <= set->interval_ns)
		nopal_problem(problems, "timeout", "the session would break before the first probe",
			      "make timeout longer than interval");
}

const struct nopal_microprotocol nopal_keep_alive = {
	NOPAL_DESCRIBE(keep_alive, base, "find out that a silent peer is gone"),
	.provides = NOPAL_ROLES({ "liveness" }),
	.promises = NOPAL_PROMISES({ NOPAL_DEATH, NOPAL_OPENING_STAGE, NOPAL_GIVES, NOPAL_NOTICED,
				     "a silent peer is probed", .bound = "timeout" }),
	.parameters_size = sizeof(struct keep_alive_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(keep_alive, interval_ns, "interval", TIME, "15s", "1ms", "24h",
			     "silence before the first probe"),
		NOPAL_NUMBER(keep_alive, timeout_ns, "timeout", TIME, "45s", "2ms", "48h",
			     "silence before the session breaks", .waits = NOPAL_WAITS_LONGEST),
		NOPAL_NUMBER(keep_alive, probes, "probes", COUNT, "10", "1", "100",
			     "sent between the two")),
	.validate = keep_alive_validate,
	.kinds = NOPAL_KINDS([KEEP_ALIVE_PROBE] = { "probe", NOPAL_KIND_CONTROL,
						    "asks for a sign of life" },
			     [KEEP_ALIVE_ANSWER] = { "probe_ack", NOPAL_KIND_CONTROL,
						     "a sign of life" }),
	.timers = NOPAL_TIMERS([KEEP_ALIVE_CHECK] = { "check", keep_alive_when_check }),
	.bindings =
		NOPAL_BINDINGS(NOPAL_ON(SESSION_OPENED, keep_alive_on_opened),
			       NOPAL_ON(SEGMENT_FROM_NET, keep_alive_on_any,
					.kinds = NOPAL_EVERY_KIND, .before = "duplicate_filter"),
			       NOPAL_ON_OWN(KEEP_ALIVE_PROBE, keep_alive_on_probe),
			       NOPAL_ON_OWN(KEEP_ALIVE_ANSWER, keep_alive_on_answer),
			       NOPAL_ON(TURN_END, keep_alive_on_turn_end)),
	.raises = NOPAL_RAISES("SESSION_BROKEN"),
	.state_size = sizeof(struct keep_alive),
};
