/* SPDX-License-Identifier: MIT */
/*
 * forward_error_correction -- send parity so that losses need no resend.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.C: k segments are
 *            followed by n - k parity segments; any k of the n give all k.
 * Differs:   closes an incomplete block after `flush`, or after half the playout
 *            delay where that is shorter, so that parity is not too late to
 *            help; codes over attributes and body as they travel, so that a
 *            rebuilt segment is the segment.  Of the n - k parity segments that
 *            the code has, a block gets as many as a policy says when it begins;
 *            without a policy, all.  A block's shape may not change.
 *            Among many, a segment for one alone is in no block.
 *            A rebuilt segment is acknowledged like one that arrived.  A loss is
 *            resent at once beside the parity, or with repair_first, only once no
 *            repair can come.
 * Wire:      parity: sources of the block 1, symbols of the block 1, length of a symbol 2, a
 *            symbol.
 */
#include "fec.h"

static void forward_error_correction_when_flush(struct nopal_at at)
{
	const struct forward_error_correction *self = nopal_state(at);

	if (self->members)
		nopal__fec_close_block(at, nopal_raise_SEGMENT_TO_NET);
}

static enum nopal_verdict forward_error_correction_on_send(struct nopal_at at,
							   struct nopal_segment *segment)
{
	const struct forward_error_correction_parameters *set = nopal_parameters(at);
	struct forward_error_correction *self = nopal_state(at);

	if (segment->transmissions != 1)
		return NOPAL_CONTINUE;
	if (nopal_has(at, FEC_DESTINATION) && nopal_is_for_one(at.session, segment)) {
		nopal_set(at, segment, FEC_INDEX, FEC_IN_NO_BLOCK);
		nopal_release(at, segment, NOPAL_DEALLOCATE);
		return NOPAL_CONTINUE;
	}
	if (!nopal__fec_join(at, segment))
		nopal_release(at, segment, NOPAL_DEALLOCATE);
	else if (self->members == self->erasure.sources)
		nopal__fec_close_block(at, nopal_queue_SEGMENT_TO_NET);
	else if (self->members == 1)
		nopal_timer_start(at, FEC_FLUSH,
				  at.session->now_ns +
					  nopal__flush_ns(at, set->flush_ns, FEC_PLAYOUT_DELAY));
	return NOPAL_CONTINUE;
}

/* A segment that never left is in no block. */
static enum nopal_verdict forward_error_correction_on_abandoned(struct nopal_at at,
								struct nopal_segment *segment)
{
	if (!segment->transmissions)
		nopal_release(at, segment, NOPAL_DEALLOCATE);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict forward_error_correction_on_data(struct nopal_at at,
							   struct nopal_segment *segment)
{
	struct forward_error_correction *self = nopal_state(at);
	uint64_t index = nopal_get(at, segment, FEC_INDEX);
	struct nopal__block *block;
	uint32_t bytes;

	if (index >= self->erasure.sources)
		return NOPAL_CONTINUE;
	block = nopal__fec_find(at, nopal_get(at, segment, FEC_BLOCK));
	if (!block || nopal__block_has(block, (uint32_t)index) ||
	    (block->sources && index >= block->sources))
		return NOPAL_CONTINUE;
	bytes = nopal__fec_pack(at, segment, block);
	if (bytes)
		nopal__fec_arrived(at, block, (uint32_t)index, bytes);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict forward_error_correction_on_parity(struct nopal_at at,
							     struct nopal_segment *segment)
{
	struct forward_error_correction *self = nopal_state(at);
	uint32_t k = self->erasure.sources, parities = self->erasure.parities;
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint32_t sources = (uint32_t)nopal_read(&reader, 1);
	uint32_t symbols = (uint32_t)nopal_read(&reader, 1);
	uint32_t length = (uint32_t)nopal_read(&reader, FEC_SYMBOL_BYTES);
	const uint8_t *symbol = nopal_read_bytes(&reader, length);
	uint32_t index = (uint32_t)nopal_get(at, segment, FEC_INDEX);
	struct nopal__block *block;

	if (!nopal_read_complete(&reader) || length <= NOPAL__SYMBOL_LENGTH_BYTES || !sources ||
	    sources > k || symbols <= sources || symbols > sources + parities || index < k ||
	    index >= k + symbols - sources)
		return NOPAL_CONTINUE;
	block = nopal__fec_find(at, nopal_get(at, segment, FEC_BLOCK));
	if (!block || length > block->room || nopal__block_has(block, index) ||
	    !nopal__block_agree(block, sources, symbols - sources, length))
		return NOPAL_CONTINUE;
	memcpy(nopal__block_symbol(block, block->arrived), symbol, length);
	nopal__fec_arrived(at, block, index, length);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict forward_error_correction_on_settled(struct nopal_at at,
							      struct nopal_segment *segment)
{
	(void)segment;
	if (nopal_shared_get(at, FEC_RESENDS_WAIT))
		nopal__fec_settle(at);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict forward_error_correction_on_close(struct nopal_at at,
							    struct nopal_session *subject)
{
	(void)subject;
	forward_error_correction_when_flush(at);
	return NOPAL_CONTINUE;
}

static int forward_error_correction_open(struct nopal_at at)
{
	const struct forward_error_correction_parameters *set = nopal_parameters(at);
	struct forward_error_correction *self = nopal_state(at);

	self->number = FEC_FIRST_BLOCK;
	self->room = nopal__symbol_room(at.session);
	nopal__erasure_init(&self->erasure, (int)set->code, (uint32_t)set->k,
			    (uint32_t)(set->n - set->k), NULL);
	nopal_shared_set(at, FEC_BLOCK_SEGMENTS, set->k);
	return 0;
}

static void forward_error_correction_idle(struct nopal_at at)
{
	nopal__fec_sender_idle(at);
	nopal__fec_receiver_idle(at);
}

static void forward_error_correction_validate(const void *parameters,
					      struct nopal_problems *problems)
{
	const struct forward_error_correction_parameters *set = parameters;

	if (set->k >= set->n)
		nopal_problem(problems, "k", "a block of n segments has no parity among them",
			      "set k below n");
	else if (set->code == NOPAL__XOR && set->n - set->k != 1)
		nopal_problem(problems, "code", "xor makes exactly one parity segment of a block",
			      "set k = n - 1, or code = cauchy");
	if (set->code == NOPAL__CAUCHY && !nopal__erasure_has_cauchy())
		nopal_problem(problems, "code", "this build has no cauchy code",
			      "build with ISA-L, or set code = xor and k = n - 1");
}

const struct nopal_microprotocol nopal_forward_error_correction = {
	NOPAL_DESCRIBE(forward_error_correction, reliability,
		       "send parity so that losses need no resend"),
	.many = true,
	.wire_version = 1 /* 0: every block had n - k parity segments */,
	.provides = NOPAL_ROLES({ "redundancy", true }),
	.standard = "redundancy",
	.needs =
		NOPAL_RELATIONS({ "segment_numbers",
				  "a rebuilt segment and its late original must be known as one" }),
	.promises = NOPAL_PROMISES({ NOPAL_DELIVERY, NOPAL_RECOVERY, NOPAL_GIVES, NOPAL_REPAIRED,
				     "parity repairs losses of a block", .bound = "flush" },
				   { NOPAL_ORDER, NOPAL_SENDING, NOPAL_LOWERS, 0,
				     "a rebuilt segment comes after later ones",
				     .unless = NOPAL_DELIVERY, .unless_has = NOPAL_ALL }),
	.parameters_size = sizeof(struct forward_error_correction_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(forward_error_correction, n, "n", COUNT, "5", "2", "255",
			     "segments of a block, parity included, at most", .wire = true),
		NOPAL_NUMBER(forward_error_correction, k, "k", COUNT, "4", "1", "254",
			     "data segments of a block", .wire = true),
		NOPAL_WORDS(forward_error_correction, code, "code", "xor", "xor|cauchy",
			    "xor for one parity segment, or cauchy", .wire = true),
		NOPAL_NUMBER(forward_error_correction, flush_ns, "flush", TIME, "20ms", "1ms",
			     "10s", "age at which an incomplete block is closed"),
		NOPAL_NUMBER(forward_error_correction, blocks, "blocks", COUNT, "64", "1", "1024",
			     "blocks that the receiver keeps")),
	.validate = forward_error_correction_validate,
	.attributes = NOPAL_ATTRIBUTES(
		[FEC_BLOCK] = { "fec_block", NOPAL_WRITE, "block that the segment belongs to",
				.wire_bytes = FEC_BLOCK_BYTES, .kinds = NOPAL_CARRIED,
				.serial = true },
		[FEC_INDEX] = { "fec_index", NOPAL_WRITE,
				"its place in the block; parity from k on", .wire_bytes = 1,
				.kinds = NOPAL_CARRIED },
		[FEC_CUMULATIVE_ACK] = { "cumulative_ack", NOPAL_READ_OPTIONAL },
		[FEC_REPAIR_GROUP] = { "repair_group", NOPAL_WRITE,
				       "group of segments that repairs it; 0: none" },
		[FEC_DESTINATION] = { "destination", NOPAL_READ_OPTIONAL }),
	.shared = NOPAL_SHARED(
		[FEC_PLAYOUT_DELAY] = { "playout_delay_ns", NOPAL_READ_OPTIONAL, 0,
					"bounds flush" },
		[FEC_BLOCK_SEGMENTS] = { "block_segments", NOPAL_WRITE, 1, "sources of a block" },
		[FEC_PARITY_SEGMENTS] = { "parity_segments", NOPAL_READ_OPTIONAL,
					  NOPAL__ERASURE_MAX, "parity that blocks to come get" },
		[FEC_RESENDS_WAIT] = { "resends_wait", NOPAL_READ_OPTIONAL, 0,
				       "1: a segment that may be repaired is not resent" },
		[FEC_GROUPS_SETTLED] = { "repair_groups_settled", NOPAL_WRITE, 0,
					 "of blocks up to this no parity will come" }),
	.kinds = NOPAL_KINDS([FEC_PARITY] = { "parity", NOPAL_KIND_CARRIED,
					      "redundancy of a block of data segments",
					      .around = FEC_HEAD_BYTES +
							NOPAL__SYMBOL_LENGTH_BYTES }),
	.holds = NOPAL_HOLDS({ "parity is made of its block", NOPAL_DEALLOCATE, NOPAL_DATA }),
	.timers = NOPAL_TIMERS([FEC_FLUSH] = { "flush", forward_error_correction_when_flush }),
	.bindings = NOPAL_BINDINGS(
		/* Parity leaves before the connection says that there is no more, and nothing is
		 * coded twice that arrives twice. */
		NOPAL_ON(SEND_SEGMENT, forward_error_correction_on_send),
		NOPAL_ON(SEGMENT_ABANDONED, forward_error_correction_on_abandoned),
		NOPAL_ON(SEGMENT_FROM_NET, forward_error_correction_on_data,
			 .after = "duplicate_filter"),
		NOPAL_ON_OWN(FEC_PARITY, forward_error_correction_on_parity),
		NOPAL_ON(SEGMENT_DONE, forward_error_correction_on_settled,
			 .kinds = NOPAL_OWN_KIND + FEC_PARITY),
		NOPAL_ON(CLOSE_SESSION, forward_error_correction_on_close, .before = "connection")),
	.raises = NOPAL_RAISES("SEGMENT_TO_NET", "SEGMENT_FROM_NET"),
	.state_size = sizeof(struct forward_error_correction),
	.open = forward_error_correction_open,
	.idle = forward_error_correction_idle,
};
