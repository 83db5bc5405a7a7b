/* SPDX-License-Identifier: MIT */
/*
 * loss_epoch.h -- one reduction a round trip, however much of it gets lost.
 *
 * All that was out when a window was reduced left at the window before: its losses say nothing new.
 * An epoch lasts until all of that is resolved, and until then the window does not grow.  A mark of
 * congestion (RFC 3168, section 6.1.2) counts as a loss, but names no packet: within an epoch it
 * belongs to it.
 */
#ifndef NOPAL_LOSS_EPOCH_H
#define NOPAL_LOSS_EPOCH_H

#include <nopal/microprotocol.h>

enum { LOSS_EPOCH_MIN_SEGMENTS = 2 }; /* RFC 5681, equation 4 */

struct loss_epoch {
	uint64_t reduced_at;   /* packets below were out at the reduction */
	uint64_t timed_out_at; /* packets below were out at the timeout */
	bool recovering;
};

static inline void loss_epoch_begin(struct nopal_session *session, struct loss_epoch *epoch)
{
	epoch->reduced_at = nopal_next_packet_number(session);
	epoch->recovering = true;
}

/* Was the segment not yet out when the window was reduced? */
static inline bool loss_epoch_is_new(const struct loss_epoch *epoch,
				     const struct nopal_segment *segment)
{
	return segment->packet_number >= epoch->reduced_at;
}

/* True: the loss begins an epoch, and the window has to be reduced. */
static inline bool loss_epoch_lost(struct nopal_session *session, struct loss_epoch *epoch,
				   const struct nopal_segment *segment)
{
	if (!loss_epoch_is_new(epoch, segment))
		return false;
	loss_epoch_begin(session, epoch);
	return true;
}

/* True: the mark begins an epoch, and the window has to be reduced.  There is nothing to take from
 * the least one, as it is after a timeout. */
static inline bool loss_epoch_marked(struct nopal_session *session, struct loss_epoch *epoch,
				     int64_t window_bytes)
{
	if (nopal_oldest_transmission(session) < epoch->reduced_at ||
	    window_bytes < LOSS_EPOCH_MIN_SEGMENTS * (int64_t)nopal_body_limit(session))
		return false;
	loss_epoch_begin(session, epoch);
	return true;
}

/* True: the first of what one timeout finds timed out.  It ends a recovery: there is no window left
 * to recover. */
static inline bool loss_epoch_timed_out(struct nopal_session *session, struct loss_epoch *epoch,
					const struct nopal_segment *segment)
{
	if (segment->packet_number < epoch->timed_out_at)
		return false;
	epoch->reduced_at = nopal_next_packet_number(session);
	epoch->timed_out_at = epoch->reduced_at;
	epoch->recovering = false;
	return true;
}

static inline bool loss_epoch_is_resolved(struct nopal_session *session,
					  const struct loss_epoch *epoch)
{
	return nopal_oldest_transmission(session) >= epoch->reduced_at;
}

/* No window is reduced below it. */
static inline int64_t loss_epoch_min(const struct nopal_session *session, int64_t window_bytes)
{
	int64_t min = LOSS_EPOCH_MIN_SEGMENTS * (int64_t)nopal_body_limit(session);

	return window_bytes > min ? window_bytes : min;
}

#endif
