/* SPDX-License-Identifier: MIT */
/* arq -- acknowledge what arrived, keep what did not, and send it again: a window of segments */
#include <nopal/microprotocol.h>

enum { ARQ_NUMBER }; /* its attributes */
enum { ARQ_UNMET };  /* its shared variables */
enum { ARQ_ACK };    /* its kinds of segments */
enum {
	ARQ_PLACES = 32, /* the largest window: an ack tells of so many numbers below one */
	ARQ_ACK_BYTES = 8,
};

struct arq_parameters {
	int64_t window;
};

struct arq {
	uint64_t base, end;		      /* our numbers in [base, end) have left */
	struct nopal_handle away[ARQ_PLACES]; /* by number; generation 0: it has arrived */
	struct nopal_queue waiting;	      /* segments beyond the window */
	uint64_t highest;		      /* number of the peer that arrived */
	uint32_t holes;			      /* bit i: highest - 1 - i has not arrived */
	bool owed;			      /* an ack */
};

/* ------------------------------------------------------------- we send data */

/* Task 1. `segment` wants to leave, and this part holds it: nopal_release(at, segment, NOPAL_SEND)
 * lets it go.  One that has to wait is kept by nopal_queue_push(at.session, &self->waiting, segment).
 * Its number is nopal_get(at, segment, ARQ_NUMBER), from 1 up; the window is set->window, where
 * const struct arq_parameters *set = nopal_parameters(at). */
static enum nopal_verdict arq_on_to_net(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at, (void)segment;
	return NOPAL_CONTINUE;
}

/* Task 1. `segment` leaves now, for the segment->transmissions-th time.  Keep segment->handle, and
 * never the pointer. */
static enum nopal_verdict arq_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at, (void)segment;
	return NOPAL_CONTINUE;
}

/* Task 1. No ack of `segment` came in time.  nopal_segment_resend(at, segment) sends it again. */
static enum nopal_verdict arq_on_timeout(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at, (void)segment;
	return NOPAL_CONTINUE;
}

/* Given: the peer has `segment`, so that nobody keeps it any longer. */
static void arq_arrived(struct nopal_at at, struct nopal_ack *ack, struct nopal_segment *segment)
{
	segment->outcome = NOPAL_OUTCOME_DELIVERED;
	nopal_segment_settle(at.session, segment);
	ack->newly_acked_segments++;
	ack->newly_acked_bytes += segment->body.length;
	nopal_raise_SEGMENT_RECEIVED(at.session, segment);
	nopal_release(at, segment, NOPAL_DONE);
	nopal_release(at, segment, NOPAL_DEALLOCATE);
}

/* Task 3. An ack arrived: call arq_arrived() with each segment of which it is the first news.
 * nopal_segment_find(at.session, handle) finds one by its handle. */
static void arq_process(struct nopal_at at, struct nopal_ack *ack, uint64_t highest, uint32_t holes)
{
	(void)at, (void)ack, (void)highest, (void)holes;
	(void)arq_arrived;
}

/* Given: reads an ack, and tells the estimator of the sample that it is. */
static enum nopal_verdict arq_on_ack(struct nopal_at at, struct nopal_segment *segment)
{
	struct arq *self = nopal_state(at);
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint64_t highest = nopal_read(&reader, 4);
	uint32_t holes = (uint32_t)nopal_read(&reader, 4);
	struct nopal_ack ack = { .largest_sent_ns = -1, .cumulative = self->base };
	const struct nopal_segment *sample = NULL;

	if (!nopal_read_complete(&reader) || highest >= self->end)
		return NOPAL_STOP;
	if (highest >= self->base && self->away[highest % ARQ_PLACES].generation)
		sample = nopal_segment_find(at.session, self->away[highest % ARQ_PLACES]);
	if (sample && sample->transmissions == 1) {
		ack.largest = sample->packet_number;
		ack.largest_sent_ns = sample->transmitted_ns;
		ack.largest_is_new = true;
	}
	nopal_raise_ACK_FROM_NET(at.session, &ack);
	arq_process(at, &ack, highest, holes);
	nopal_raise_ACK_PROCESSED(at.session, &ack);
	return NOPAL_STOP;
}

/* -------------------------------------------------------- the peer sends data */

/* Task 2. A segment arrived, perhaps not for the first time. */
static enum nopal_verdict arq_on_from_net(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at, (void)segment;
	return NOPAL_CONTINUE;
}

/* Task 2. A segment arrived for the first time.  Numbers come from the network: shift by 0 to 31 bits
 * alone, whatever they are. */
static enum nopal_verdict arq_on_verified(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at, (void)segment;
	return NOPAL_CONTINUE;
}

/* Task 2. Sends an ack; nopal_write(&writer, number, bytes) adds a number to its body. */
static void arq_tell(struct nopal_at at)
{
	struct nopal_writer writer;
	struct nopal_segment *ack = nopal_control_begin(at, ARQ_ACK, ARQ_ACK_BYTES, &writer);

	if (ack)
		nopal_control_send(at.session, ack, nopal_written(&writer));
}

/* Tasks 2 and 3. All that arrived at this instant has been handled.  Here segments of the queue may
 * leave: nopal_queue_first(at.session, &self->waiting) is the first or NULL, and
 * nopal_queue_pop(&self->waiting) takes it out. */
static enum nopal_verdict arq_on_turn_end(struct nopal_at at, struct nopal_session *subject)
{
	struct arq *self = nopal_state(at);

	(void)subject;
	if (self->owed)
		arq_tell(at);
	return NOPAL_CONTINUE;
}

static int arq_open(struct nopal_at at)
{
	struct arq *self = nopal_state(at);

	self->base = 1;
	self->end = 1;
	return 0;
}

const struct nopal_microprotocol nopal_arq = {
	NOPAL_DESCRIBE(arq, labs, "acknowledge what arrived, keep what did not, and send it again"),
	.provides = NOPAL_ROLES({ "acknowledgement", true }, { "reliability", true }),
	.needs = NOPAL_RELATIONS(
		{ "segment_numbers", "numbers are what it acknowledges" },
		{ "retransmission_timer", "a segment leaves again when it timed out" }),
	.promises = NOPAL_PROMISES({ NOPAL_OUTCOME, NOPAL_RECOVERY, NOPAL_GIVES, NOPAL_AT_TRANSPORT,
				     "the peer acknowledges what arrived" },
				   { NOPAL_DELIVERY, NOPAL_RECOVERY, NOPAL_GIVES, NOPAL_ALL,
				     "a segment that timed out is sent again" },
				   { NOPAL_ORDER, NOPAL_SENDING, NOPAL_LOWERS, 0,
				     "a resend leaves after segments that were sent later" },
				   { NOPAL_PACE, NOPAL_SENDING, NOPAL_GIVES, NOPAL_FIXED_RATE,
				     "a window of segments in a round trip, and no more" }),
	.parameters_size = sizeof(struct arq_parameters),
	.parameters = NOPAL_PARAMETERS(NOPAL_NUMBER(arq, window, "window", COUNT, "8", "1", "32",
						    "segments that may be away")),
	.attributes = NOPAL_ATTRIBUTES([ARQ_NUMBER] = { "segment_number", NOPAL_READ }),
	.shared = NOPAL_SHARED([ARQ_UNMET] = { "reliability_unmet", NOPAL_WRITE, 1,
					       "1: an unseen segment is still needed" }),
	.kinds =
		NOPAL_KINDS([ARQ_ACK] = { "ack", NOPAL_KIND_CONTROL,
					  "the highest number that arrived, and the holes below" }),
	.holds = NOPAL_HOLDS({ "the window has room", NOPAL_SEND, NOPAL_DATA },
			     { "the peer has it", NOPAL_DONE, NOPAL_DATA },
			     { "the peer has it", NOPAL_DEALLOCATE, NOPAL_DATA }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(SEGMENT_TO_NET, arq_on_to_net), NOPAL_ON(SEND_SEGMENT, arq_on_send),
		NOPAL_ON(SEGMENT_TIMEOUT, arq_on_timeout), NOPAL_ON_OWN(ARQ_ACK, arq_on_ack),
		NOPAL_ON(SEGMENT_FROM_NET, arq_on_from_net, .before = "duplicate_filter"),
		NOPAL_ON(SEGMENT_VERIFIED, arq_on_verified, .before = "message_segments"),
		NOPAL_ON(TURN_END, arq_on_turn_end)),
	.raises = NOPAL_RAISES("ACK_FROM_NET", "SEGMENT_RECEIVED", "ACK_PROCESSED",
			       "SEGMENT_RESEND", "SESSION_BROKEN"),
	.state_size = sizeof(struct arq),
	.open = arq_open,
};
