/* SPDX-License-Identifier: MIT */
/*
 * sequenced_segments -- number every segment, and let each number in once.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.A.
 * Differs:   also filters arriving segments: a number that was seen, or that lies
 *            beyond the window of remembered ones, goes no further.  Where nobody
 *            resends, the window follows the highest number, and two arrivals
 *            from far ahead that belong together move it there (as RFC 3550,
 *            appendix A.1), so that a long outage does not end the stream.
 */
#include <nopal/microprotocol.h>

/* attributes */
enum { SEQUENCED_SEGMENTS_NUMBER };
/* shared variables */
enum {
	SEQUENCED_SEGMENTS_LOCAL,
	SEQUENCED_SEGMENTS_PEER,
	SEQUENCED_SEGMENTS_UNMET,
	SEQUENCED_SEGMENTS_WINDOW,
	SEQUENCED_SEGMENTS_FLOOR,
};
enum { SEQUENCED_SEGMENTS_WIRE_BYTES = 4 };

struct sequenced_segments_parameters {
	int64_t window;
};

struct sequenced_segments {
	uint64_t next;		   /* number of our next segment */
	uint64_t first;		   /* of the peer's first */
	struct nopal_numbers seen; /* of the peer; made with the first arrival */
	uint64_t far;		   /* one past the last that came from far ahead, or 0 */
};

static enum nopal_verdict sequenced_segments_on_opened(struct nopal_at at,
						       struct nopal_session *subject)
{
	struct sequenced_segments *self = nopal_state(at);

	(void)subject;
	self->next = (uint64_t)nopal_shared_get(at, SEQUENCED_SEGMENTS_LOCAL);
	self->first = (uint64_t)nopal_shared_get(at, SEQUENCED_SEGMENTS_PEER);
	nopal_serial_seen(at, SEQUENCED_SEGMENTS_NUMBER, self->first);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict sequenced_segments_on_from_user(struct nopal_at at,
							  struct nopal_segment *segment)
{
	struct sequenced_segments *self = nopal_state(at);

	nopal_set(at, segment, SEQUENCED_SEGMENTS_NUMBER, self->next++);
	return NOPAL_CONTINUE;
}

/* A number beyond the window where nobody resends: the window goes to it when it is near, or when a
 * second one from there shows that the first was no stray. */
static enum nopal_number_is sequenced_segments_beyond(struct nopal_session *session,
						      struct sequenced_segments *self,
						      uint64_t number)
{
	uint64_t window = self->seen.window;

	if (number - self->seen.end >= window &&
	    (number < self->far || number - self->far >= window)) {
		self->far = number + 1;
		return NOPAL_NUMBER_BEYOND;
	}
	self->far = 0;
	nopal_numbers_skip(&self->seen, number - window + 1);
	return nopal_numbers_mark(session, &self->seen, number);
}

static bool sequenced_segments_prepare(struct nopal_at at)
{
	const struct sequenced_segments_parameters *set = nopal_parameters(at);
	struct sequenced_segments *self = nopal_state(at);

	if (nopal_numbers_init(&self->seen, self->first, (uint32_t)set->window) == 0)
		return true;
	nopal_session_break(at.session, NOPAL_RESOURCE,
			    "no room to remember which segments arrived");
	return false;
}

static void sequenced_segments_tell(struct nopal_at at)
{
	const struct sequenced_segments *self = nopal_state(at);

	nopal_serial_seen(at, SEQUENCED_SEGMENTS_NUMBER, self->seen.end - 1);
	nopal_shared_set(at, SEQUENCED_SEGMENTS_FLOOR, (int64_t)self->seen.floor);
}

/* Above a layer that resends nothing comes again: where there is no memory for a number of the
 * window, the segment is lost. */
static enum nopal_verdict sequenced_segments_on_from_net(struct nopal_at at,
							 struct nopal_segment *segment)
{
	struct sequenced_segments *self = nopal_state(at);
	uint64_t number = nopal_get(at, segment, SEQUENCED_SEGMENTS_NUMBER);
	enum nopal_number_is is;

	if (!self->seen.window && !sequenced_segments_prepare(at))
		return NOPAL_STOP;
	is = nopal_numbers_mark(at.session, &self->seen, number);
	if (is == NOPAL_NUMBER_BEYOND && !nopal_shared_get(at, SEQUENCED_SEGMENTS_UNMET))
		is = sequenced_segments_beyond(at.session, self, number);
	else if (is == NOPAL_NUMBER_BEYOND &&
		 nopal_numbers_test(&self->seen, number) == NOPAL_NUMBER_NEW)
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "no room to remember which segments arrive");
	if (is != NOPAL_NUMBER_NEW)
		return NOPAL_STOP;
	sequenced_segments_tell(at);
	return NOPAL_CONTINUE;
}

/* A segment that was given up and comes late all the same goes no further. */
static enum nopal_verdict sequenced_segments_on_gave_up(struct nopal_at at,
							struct nopal_forward *forward)
{
	struct sequenced_segments *self = nopal_state(at);

	if (!self->seen.window && !sequenced_segments_prepare(at))
		return NOPAL_STOP;
	forward->skipped += nopal_numbers_skip(&self->seen, forward->segment);
	sequenced_segments_tell(at);
	return NOPAL_CONTINUE;
}

static void sequenced_segments_idle(struct nopal_at at)
{
	struct sequenced_segments *self = nopal_state(at);

	nopal_numbers_idle(at.session, &self->seen);
}

static int sequenced_segments_open(struct nopal_at at)
{
	const struct sequenced_segments_parameters *set = nopal_parameters(at);

	nopal_shared_set(at, SEQUENCED_SEGMENTS_WINDOW, set->window);
	return 0;
}

const struct nopal_microprotocol nopal_sequenced_segments = {
	NOPAL_DESCRIBE(sequenced_segments, base,
		       "number every segment, and let each number in once"),
	.provides = NOPAL_ROLES({ "segment_numbers", true }, { "duplicate_filter" }),
	.standard = "segment_numbers|duplicate_filter",
	.promises = NOPAL_PROMISES(NOPAL_NUMBERS_ONCE),
	.parameters_size = sizeof(struct sequenced_segments_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(sequenced_segments, window, "window", COUNT, "65536", "64", "1048576",
			     "numbers that the filter remembers", .wire = true)),
	.attributes = NOPAL_ATTRIBUTES(
		[SEQUENCED_SEGMENTS_NUMBER] = { "segment_number", NOPAL_WRITE,
						"counts segments of a direction",
						.wire_bytes = SEQUENCED_SEGMENTS_WIRE_BYTES,
						.kinds = NOPAL_DATA, .serial = true }),
	.shared = NOPAL_SHARED(
		[SEQUENCED_SEGMENTS_LOCAL] = { "initial_local", NOPAL_READ_OPTIONAL, 1,
					       "our first number" },
		[SEQUENCED_SEGMENTS_PEER] = { "initial_peer", NOPAL_READ_OPTIONAL, 1,
					      "the peer's first number" },
		[SEQUENCED_SEGMENTS_UNMET] = { "reliability_unmet", NOPAL_READ_OPTIONAL, 0,
					       "1: an unseen segment is still needed" },
		[SEQUENCED_SEGMENTS_WINDOW] = { "segment_window", NOPAL_WRITE, 0,
						"numbers that the filter remembers" },
		[SEQUENCED_SEGMENTS_FLOOR] = { "segment_floor", NOPAL_WRITE, 0,
					       "the peer's below it were seen or given up" }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(SESSION_OPENED, sequenced_segments_on_opened),
				   NOPAL_ON(SEGMENT_FROM_USER, sequenced_segments_on_from_user),
				   NOPAL_ON(SEGMENT_FROM_NET, sequenced_segments_on_from_net),
				   NOPAL_ON(FORWARD_RECEIVED, sequenced_segments_on_gave_up,
					    .before = "flow_control")),
	.raises = NOPAL_RAISES("SESSION_BROKEN"),
	.state_size = sizeof(struct sequenced_segments),
	.open = sequenced_segments_open,
	.idle = sequenced_segments_idle,
};
