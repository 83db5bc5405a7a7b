/* SPDX-License-Identifier: MIT */
/*
 * sliding_window_fec -- repair segments over the last segments that left.
 *
 * After every `sources` segments a repair leaves: a sum over GF(256) of the last `window` segments,
 * each times a factor that follows from its number and the repair's.  The receiver takes repairs
 * for linear equations and solves them as they come; a loss is repaired as soon as as many repairs
 * as losses have come that are about it, and not only when a block is full.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.C (redundancy); RFC 8681
 *            (random linear codes over a sliding window).
 * Differs:   from RFC 8681: every factor is other than 0, as one loss is then
 *            repaired by any one repair, and is a hash of the two numbers; symbols
 *            are segments, not pieces of a flow.  Two losses and more need
 *            equations that do not depend on each other: one pair in 255 does.
 *            After a pause of 200 ms a new window begins.
 *            As in forward_error_correction a rebuilt segment is the segment, a
 *            policy may set how many repairs are made, and with repair_first a
 *            loss is resent only once no repair can come.
 * Wire:      repair_source is the number of a data segment, and the last one of a repair; repair:
 *            its number 4, sources in it 1, length of the symbol 2, the symbol.
 */
#include "sliding.h"

static void sliding_window_fec_when_flush(struct nopal_at at)
{
	const struct sliding_window_fec *self = nopal_state(at);

	if (self->pending)
		nopal__sliding_repair(at, nopal_raise_SEGMENT_TO_NET);
}

static enum nopal_verdict sliding_window_fec_on_send(struct nopal_at at,
						     struct nopal_segment *segment)
{
	const struct sliding_window_fec_parameters *set = nopal_parameters(at);
	const struct sliding_window_fec *self = nopal_state(at);

	if (segment->transmissions != 1)
		return NOPAL_CONTINUE;
	nopal__sliding_join(at, segment);
	if (self->pending >= set->sources)
		nopal__sliding_repair(at, nopal_queue_SEGMENT_TO_NET);
	else if (self->pending == 1)
		nopal_timer_start(at, SLIDING_FLUSH,
				  at.session->now_ns + nopal__flush_ns(at, set->flush_ns,
								       SLIDING_PLAYOUT_DELAY));
	return NOPAL_CONTINUE;
}

static enum nopal_verdict sliding_window_fec_on_settled(struct nopal_at at,
							struct nopal_segment *segment)
{
	(void)segment;
	if (nopal_shared_get(at, SLIDING_RESENDS_WAIT))
		nopal__sliding_settle(at);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict sliding_window_fec_on_close(struct nopal_at at,
						      struct nopal_session *subject)
{
	(void)subject;
	sliding_window_fec_when_flush(at);
	return NOPAL_CONTINUE;
}

static int sliding_window_fec_open(struct nopal_at at)
{
	const struct sliding_window_fec_parameters *set = nopal_parameters(at);
	struct sliding_window_fec *self = nopal_state(at);

	self->room = nopal__symbol_room(at.session);
	nopal_shared_set(at, SLIDING_BLOCK_SEGMENTS, set->sources);
	return 0;
}

static void sliding_window_fec_idle(struct nopal_at at)
{
	nopal__sliding_sender_idle(at);
	nopal__sliding_receiver_idle(at);
}

static void sliding_window_fec_validate(const void *parameters, struct nopal_problems *problems)
{
	const struct sliding_window_fec_parameters *set = parameters;

	if (set->window < set->sources)
		nopal_problem(problems, "window", "some segments would be in no repair",
			      "make window at least sources");
}

const struct nopal_microprotocol nopal_sliding_window_fec = {
	NOPAL_DESCRIBE(sliding_window_fec, reliability,
		       "repair segments over the last segments that left"),
	.provides = NOPAL_ROLES({ "redundancy", true }),
	.needs =
		NOPAL_RELATIONS({ "segment_numbers",
				  "a rebuilt segment and its late original must be known as one" }),
	.promises =
		NOPAL_PROMISES({ NOPAL_DELIVERY, NOPAL_RECOVERY, NOPAL_GIVES, NOPAL_REPAIRED,
				 "repair segments repair losses of a window", .bound = "flush" },
			       { NOPAL_ORDER, NOPAL_SENDING, NOPAL_LOWERS, 0,
				 "a rebuilt segment comes after later ones",
				 .unless = NOPAL_DELIVERY, .unless_has = NOPAL_ALL }),
	.parameters_size = sizeof(struct sliding_window_fec_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(sliding_window_fec, sources, "sources", COUNT, "4", "1", "128",
			     "segments between repairs"),
		NOPAL_NUMBER(sliding_window_fec, repairs, "repairs", COUNT, "1", "1", "16",
			     "repairs that are made at a time, at most"),
		NOPAL_NUMBER(sliding_window_fec, window, "window", COUNT, "20", "1", "128",
			     "segments that a repair is about", .wire = true),
		NOPAL_NUMBER(sliding_window_fec, flush_ns, "flush", TIME, "20ms", "1ms", "100ms",
			     "age at which fewer than `sources` get repairs")),
	.validate = sliding_window_fec_validate,
	.attributes = NOPAL_ATTRIBUTES(
		[SLIDING_SOURCE] = { "repair_source", NOPAL_WRITE,
				     "counts segments that repairs are about",
				     .wire_bytes = SLIDING_SOURCE_BYTES, .kinds = NOPAL_CARRIED,
				     .serial = true },
		[SLIDING_CUMULATIVE_ACK] = { "cumulative_ack", NOPAL_READ_OPTIONAL },
		[SLIDING_REPAIR_GROUP] = { "repair_group", NOPAL_WRITE,
					   "group of segments that repairs it; 0: none" }),
	.shared = NOPAL_SHARED(
		[SLIDING_PLAYOUT_DELAY] = { "playout_delay_ns", NOPAL_READ_OPTIONAL, 0,
					    "bounds flush" },
		[SLIDING_BLOCK_SEGMENTS] = { "block_segments", NOPAL_WRITE, 1,
					     "sources between repairs" },
		[SLIDING_PARITY_SEGMENTS] = { "parity_segments", NOPAL_READ_OPTIONAL, 255,
					      "repairs from now on, at most `repairs`" },
		[SLIDING_RESENDS_WAIT] = { "resends_wait", NOPAL_READ_OPTIONAL, 0,
					   "1: a segment that may be repaired is not resent" },
		[SLIDING_GROUPS_SETTLED] = { "repair_groups_settled", NOPAL_WRITE, 0,
					     "up to this no repair is on its way" }),
	.kinds = NOPAL_KINDS([SLIDING_REPAIR] = { "repair", NOPAL_KIND_CARRIED,
						  "a sum of the last data segments",
						  .around = SLIDING_HEAD_BYTES +
							    NOPAL__SYMBOL_LENGTH_BYTES }),
	.timers = NOPAL_TIMERS([SLIDING_FLUSH] = { "flush", sliding_window_fec_when_flush }),
	.bindings = NOPAL_BINDINGS(
		/* Repairs leave before the connection says that there is no more, and nothing is
		 * coded twice that arrives twice. */
		NOPAL_ON(SEND_SEGMENT, sliding_window_fec_on_send),
		NOPAL_ON(SEGMENT_FROM_NET, nopal__sliding_on_data, .after = "duplicate_filter"),
		NOPAL_ON_OWN(SLIDING_REPAIR, nopal__sliding_on_repair),
		NOPAL_ON(SEGMENT_DONE, sliding_window_fec_on_settled,
			 .kinds = NOPAL_OWN_KIND + SLIDING_REPAIR),
		NOPAL_ON(CLOSE_SESSION, sliding_window_fec_on_close, .before = "connection")),
	.raises = NOPAL_RAISES("SEGMENT_TO_NET", "SEGMENT_FROM_NET"),
	.state_size = sizeof(struct sliding_window_fec),
	.open = sliding_window_fec_open,
	.idle = sliding_window_fec_idle,
};
