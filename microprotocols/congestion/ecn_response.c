/* SPDX-License-Identifier: MIT */
/*
 * ecn_response -- ECN (RFC 3168): marks of congestion, from the network back to the sender.
 *
 * Segments leave as capable of marks (ECT(0)).  The receiver counts those that arrive marked, and
 * those that arrive with anything but what they left with, and tells both counts and the last
 * marked packet.  A report costs a datagram, but only where there are marks: none is on any other.
 * The counts are totals, so a later report makes up for one that got lost; the last is said again,
 * twice.
 *
 *   segment marked -> count -- end of the turn, `pace` --> report -> at the sender:
 *                       a packet that left after the last raise? CONGESTION_MARKED
 *
 * A path that takes the marks off, or nothing that may be marked, is found, and then the session
 * goes on without marks.
 *
 * Paper:     RFC 3168; RFC 9000, section 13.4 and appendix A.4.
 * Differs:   the receiver says that marks vanish, for it knows what the peer
 *            sends; the sender need not count.
 * Wire:      marks: packet number of the last marked segment, 4; segments that arrived marked, and
 *            those that arrived as they did not leave, varints.
 */
#include <nopal/microprotocol.h>

struct ecn_response_parameters {
	int64_t pace_ns, vanished;
};

enum { ECN_RESPONSE_MARKS };  /* kinds */
enum { ECN_RESPONSE_NUMBER }; /* attributes */
enum { ECN_RESPONSE_MARKED }; /* shared variables */
enum { ECN_RESPONSE_REPORT }; /* timers */

enum {
	ECN_RESPONSE_NUMBER_BYTES = 4,
	ECN_RESPONSE_MAX_BYTES = 4 + 10 + 10,
	ECN_RESPONSE_REPEATS = 2,
};
/* From a report to its repetition: a lost one is not waited for long, and an outage is outlived. */
static const int64_t ECN_RESPONSE_REPEAT_NS[ECN_RESPONSE_REPEATS] = {
	200 * NOPAL_MILLISECOND,
	20 * NOPAL_MILLISECOND,
};

struct ecn_response {
	/* of what arrives */
	uint64_t marked, spoiled; /* segments */
	uint64_t latest;	  /* packet number, marked */
	uint64_t tell_spoiled;	  /* as soon as there are so many */
	int64_t told_ns;
	bool due;	 /* there is something to tell */
	uint8_t repeats; /* of the last report, to come yet */
	/* of what leaves */
	bool marking, proved; /* something that may be marked arrived */
	uint64_t raised_at;   /* packets below left before the last raise */
	uint64_t timed_out;   /* before anything arrived */
};

/* ------------------------------------------------------------- the receiver */

static enum nopal_verdict ecn_response_on_carried(struct nopal_at at, struct nopal_segment *segment)
{
	struct ecn_response *self = nopal_state(at);

	if (segment->ecn == NOPAL_ECT_0)
		return NOPAL_CONTINUE;
	if (segment->ecn == NOPAL_CE) {
		self->marked++;
		if (segment->packet_number > self->latest)
			self->latest = segment->packet_number;
		self->due = true;
	} else if (++self->spoiled == self->tell_spoiled) {
		self->tell_spoiled *= 2; /* the peer may send so on purpose */
		self->due = true;
	}
	return NOPAL_CONTINUE;
}

static void ecn_response_report(struct nopal_at at)
{
	struct ecn_response *self = nopal_state(at);
	struct nopal_writer writer;
	struct nopal_segment *segment =
		nopal_control_begin(at, ECN_RESPONSE_MARKS, ECN_RESPONSE_MAX_BYTES, &writer);

	if (segment) {
		nopal_write(&writer, self->latest, ECN_RESPONSE_NUMBER_BYTES);
		nopal_write_varint(&writer, self->marked);
		nopal_write_varint(&writer, self->spoiled);
		nopal_control_send(at.session, segment, nopal_written(&writer));
		self->told_ns = at.session->now_ns;
	}
	if (self->repeats)
		nopal_timer_start(at, ECN_RESPONSE_REPORT,
				  at.session->now_ns + ECN_RESPONSE_REPEAT_NS[self->repeats - 1]);
}

static enum nopal_verdict ecn_response_on_turn_end(struct nopal_at at,
						   struct nopal_session *subject)
{
	const struct ecn_response_parameters *set = nopal_parameters(at);
	struct ecn_response *self = nopal_state(at);
	int64_t next_ns = self->told_ns + set->pace_ns;

	(void)subject;
	if (!self->due)
		return NOPAL_CONTINUE;
	if (at.session->now_ns < next_ns) {
		nopal_timer_start(at, ECN_RESPONSE_REPORT, next_ns);
		return NOPAL_CONTINUE;
	}
	self->due = false;
	self->repeats = ECN_RESPONSE_REPEATS;
	ecn_response_report(at);
	return NOPAL_CONTINUE;
}

/* A report that is due goes at the end of this turn. */
static void ecn_response_when_report(struct nopal_at at)
{
	struct ecn_response *self = nopal_state(at);

	if (self->due || !self->repeats)
		return;
	self->repeats--;
	ecn_response_report(at);
}

/* --------------------------------------------------------------- the sender */

static void ecn_response_mark(struct nopal_session *session, struct ecn_response *self,
			      bool marking)
{
	self->marking = marking;
	nopal_path_ecn_set(session, marking ? NOPAL_ECT_0 : NOPAL_NOT_ECT);
}

static enum nopal_verdict ecn_response_on_opened(struct nopal_at at, struct nopal_session *subject)
{
	(void)subject;
	ecn_response_mark(at.session, nopal_state(at), true);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict ecn_response_on_received(struct nopal_at at,
						   struct nopal_segment *segment)
{
	struct ecn_response *self = nopal_state(at);

	(void)segment;
	self->proved = true;
	return NOPAL_CONTINUE;
}

/* There are paths that drop whatever may be marked. */
static enum nopal_verdict ecn_response_on_timeout(struct nopal_at at, struct nopal_segment *segment)
{
	const struct ecn_response_parameters *set = nopal_parameters(at);
	struct ecn_response *self = nopal_state(at);

	(void)segment;
	if (self->marking && !self->proved && ++self->timed_out >= (uint64_t)set->vanished)
		ecn_response_mark(at.session, self, false);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict ecn_response_on_marks(struct nopal_at at, struct nopal_segment *segment)
{
	const struct ecn_response_parameters *set = nopal_parameters(at);
	struct ecn_response *self = nopal_state(at);
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint64_t wire = nopal_read(&reader, ECN_RESPONSE_NUMBER_BYTES);
	uint64_t marked = nopal_read_varint(&reader);
	uint64_t spoiled = nopal_read_varint(&reader);
	uint64_t next = nopal_next_packet_number(at.session);
	uint32_t behind = (uint32_t)(next - 1) - (uint32_t)wire;

	/* The packet whose low bits these are has to have left. */
	if (!nopal_read_complete(&reader) || !next || behind > next - 1)
		return NOPAL_STOP;
	if (self->marking && spoiled >= (uint64_t)set->vanished)
		ecn_response_mark(at.session, self, false);
	if ((int64_t)marked > nopal_shared_get(at, ECN_RESPONSE_MARKED))
		nopal_shared_set(at, ECN_RESPONSE_MARKED, (int64_t)marked);
	/* A repeated report names no later packet. */
	if (!marked || !self->marking || next - 1 - behind < self->raised_at)
		return NOPAL_STOP;
	self->raised_at = next;
	nopal_raise_CONGESTION_MARKED(at.session, at.session);
	return NOPAL_STOP;
}

static int ecn_response_open(struct nopal_at at)
{
	const struct ecn_response_parameters *set = nopal_parameters(at);
	struct ecn_response *self = nopal_state(at);

	self->tell_spoiled = (uint64_t)set->vanished;
	self->told_ns = -set->pace_ns;
	return 0;
}

const struct nopal_microprotocol nopal_ecn_response = {
	NOPAL_DESCRIBE(ecn_response, congestion,
		       "ECN (RFC 3168): marks of congestion, from the network back to the sender"),
	.provides = NOPAL_ROLES({ "congestion_marks", true }),
	.needs = NOPAL_RELATIONS(
		{ "network", "marks are on datagrams" },
		{ "acknowledgement", "packets need their numbers, and a sign that any arrive" },
		{ "congestion_policy", "a sender that may be marked must give way to marks" }),
	.parameters_size = sizeof(struct ecn_response_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(ecn_response, pace_ns, "pace", TIME, "1ms", "0ms", "1s",
			     "least time between reports"),
		/* RFC 9000, appendix A.4: the testing phase */
		NOPAL_NUMBER(
			ecn_response, vanished, "vanished", COUNT, "10", "1", "1000000",
			"segments with changed marks, or timed out at first, until marking stops")),
	.attributes = NOPAL_ATTRIBUTES([ECN_RESPONSE_NUMBER] = { "packet_number", NOPAL_READ }),
	.shared = NOPAL_SHARED([ECN_RESPONSE_MARKED] = { "marked_segments", NOPAL_WRITE, 0,
							 "that arrived marked, as the peer told" }),
	.kinds = NOPAL_KINDS([ECN_RESPONSE_MARKS] = { "marks", NOPAL_KIND_CONTROL,
						      "counts of segments that arrived marked" }),
	.timers = NOPAL_TIMERS([ECN_RESPONSE_REPORT] = { "report", ecn_response_when_report }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(SESSION_OPENED, ecn_response_on_opened),
				   /* A duplicate was marked no less. */
				   NOPAL_ON(SEGMENT_FROM_NET, ecn_response_on_carried,
					    .kinds = NOPAL_CARRIED, .before = "duplicate_filter"),
				   NOPAL_ON_OWN(ECN_RESPONSE_MARKS, ecn_response_on_marks),
				   NOPAL_ON(SEGMENT_RECEIVED, ecn_response_on_received),
				   NOPAL_ON(SEGMENT_TIMEOUT, ecn_response_on_timeout),
				   NOPAL_ON(TURN_END, ecn_response_on_turn_end)),
	.raises = NOPAL_RAISES("CONGESTION_MARKED"),
	.state_size = sizeof(struct ecn_response),
	.open = ecn_response_open,
};
