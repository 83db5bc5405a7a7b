/* SPDX-License-Identifier: MIT */
/*
 * check_holds -- watch the rules of the barriers on every segment.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section II.D (hold bits); Hayden,
 *            The Ensemble System, 1998: checkers are layers too.
 * Differs:   a violation breaks the session and says what was seen:  a segment
 *            leaves only when asked to, and never once it is done; it is done
 *            once, and received once, and not before it left; and while there
 *            are segments that are not done, something happens to one of them
 *            within `stall`.
 */
#include <nopal/microprotocol.h>

struct check_holds_parameters {
	int64_t stall_ns;
};

enum { CHECK_HOLDS_MARKS };   /* attributes */
enum { CHECK_HOLDS_STALLED }; /* timers */

/* Steps that were seen of a segment: bits of the attribute check_marks.  Its handler of
 * SEGMENT_TO_NET may run before or after the handlers that let the segment go: a transmission may
 * run ahead of the asking by one. */
enum {
	CHECK_HOLDS_ASKED = 1, /* to leave, and has not left since */
	CHECK_HOLDS_AHEAD = 2, /* left, and the asking is still to be heard */
	CHECK_HOLDS_LEFT = 4,
	CHECK_HOLDS_RECEIVED = 8,
	CHECK_HOLDS_DONE = 16,
	CHECK_HOLDS_COUNTED = 32, /* in `open` */
};

struct check_holds {
	uint64_t open;	 /* segments that want to leave or left, not done */
	int64_t step_ns; /* something happened to one of them */
};

static void check_holds_fail(struct nopal_session *session, const char *text)
{
	nopal_session_break(session, NOPAL_RUNTIME_LIMIT, text);
}

/* Notes a step of the segment; returns the marks as they were. */
static uint64_t check_holds_step(struct nopal_at at, struct nopal_segment *segment)
{
	const struct check_holds_parameters *set = nopal_parameters(at);
	struct check_holds *self = nopal_state(at);
	uint64_t marks = nopal_get(at, segment, CHECK_HOLDS_MARKS);

	self->step_ns = at.session->now_ns;
	if (!(marks & (CHECK_HOLDS_COUNTED | CHECK_HOLDS_DONE))) {
		marks |= CHECK_HOLDS_COUNTED;
		self->open++;
	}
	if (self->open && !nopal_timer_running(at, CHECK_HOLDS_STALLED))
		nopal_timer_start(at, CHECK_HOLDS_STALLED, at.session->now_ns + set->stall_ns);
	return marks;
}

static enum nopal_verdict check_holds_on_asked(struct nopal_at at, struct nopal_segment *segment)
{
	uint64_t marks = check_holds_step(at, segment);

	if (marks & CHECK_HOLDS_AHEAD)
		marks &= ~(uint64_t)CHECK_HOLDS_AHEAD;
	else if (marks & CHECK_HOLDS_DONE)
		check_holds_fail(at.session,
				 "check_holds: a segment that is done is asked to leave");
	else
		marks |= CHECK_HOLDS_ASKED;
	nopal_set(at, segment, CHECK_HOLDS_MARKS, marks);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict check_holds_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	uint64_t marks = check_holds_step(at, segment);

	if (marks & CHECK_HOLDS_DONE)
		check_holds_fail(at.session, "check_holds: a segment leaves after it is done");
	else if (marks & CHECK_HOLDS_AHEAD)
		check_holds_fail(at.session, "check_holds: a segment leaves that nobody asked to");
	if (!(marks & CHECK_HOLDS_ASKED))
		marks |= CHECK_HOLDS_AHEAD;
	marks &= ~(uint64_t)CHECK_HOLDS_ASKED;
	nopal_set(at, segment, CHECK_HOLDS_MARKS, marks | CHECK_HOLDS_LEFT);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict check_holds_on_received(struct nopal_at at, struct nopal_segment *segment)
{
	uint64_t marks = check_holds_step(at, segment);

	if (!(marks & CHECK_HOLDS_LEFT))
		check_holds_fail(at.session, "check_holds: a segment is received that never left");
	else if (marks & CHECK_HOLDS_RECEIVED)
		check_holds_fail(at.session, "check_holds: a segment is received twice");
	nopal_set(at, segment, CHECK_HOLDS_MARKS, marks | CHECK_HOLDS_RECEIVED);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict check_holds_on_done(struct nopal_at at, struct nopal_segment *segment)
{
	struct check_holds *self = nopal_state(at);
	uint64_t marks = check_holds_step(at, segment);

	if (marks & CHECK_HOLDS_DONE) {
		check_holds_fail(at.session, "check_holds: a segment is done twice");
		return NOPAL_CONTINUE;
	}
	self->open--;
	marks &= ~(uint64_t)CHECK_HOLDS_COUNTED;
	nopal_set(at, segment, CHECK_HOLDS_MARKS, marks | CHECK_HOLDS_DONE);
	return NOPAL_CONTINUE;
}

static void check_holds_when_stalled(struct nopal_at at)
{
	const struct check_holds_parameters *set = nopal_parameters(at);
	struct check_holds *self = nopal_state(at);
	int64_t deadline_ns = self->step_ns + set->stall_ns;

	if (!self->open)
		return;
	if (at.session->now_ns >= deadline_ns)
		check_holds_fail(at.session,
				 "check_holds: segments wait, and nothing happens to any");
	else
		nopal_timer_start(at, CHECK_HOLDS_STALLED, deadline_ns);
}

const struct nopal_microprotocol nopal_check_holds = {
	NOPAL_DESCRIBE(check_holds, check, "watch the rules of the barriers on every segment"),
	.provides = NOPAL_ROLES({ "checker" }),
	.parameters_size = sizeof(struct check_holds_parameters),
	.parameters = NOPAL_PARAMETERS(NOPAL_NUMBER(
		check_holds, stall_ns, "stall", TIME, "60s", "1ms", "24h",
		"how long segments may wait without any step", .waits = NOPAL_WAITS_LONGEST)),
	.attributes = NOPAL_ATTRIBUTES(
		[CHECK_HOLDS_MARKS] = { "check_marks", NOPAL_WRITE,
					"steps of the segment that check_holds saw",
					.kinds = NOPAL_CARRIED }),
	.timers = NOPAL_TIMERS([CHECK_HOLDS_STALLED] = { "stalled", check_holds_when_stalled }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(SEGMENT_TO_NET, check_holds_on_asked, .kinds = NOPAL_CARRIED),
		NOPAL_ON(SEGMENT_RESEND, check_holds_on_asked, .kinds = NOPAL_CARRIED),
		NOPAL_ON(SEND_SEGMENT, check_holds_on_send, .kinds = NOPAL_CARRIED),
		NOPAL_ON(SEGMENT_RECEIVED, check_holds_on_received, .kinds = NOPAL_CARRIED),
		NOPAL_ON(SEGMENT_DONE, check_holds_on_done, .kinds = NOPAL_CARRIED)),
	.raises = NOPAL_RAISES("SESSION_BROKEN"),
	.state_size = sizeof(struct check_holds),
};
