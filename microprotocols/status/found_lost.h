/* SPDX-License-Identifier: MIT */
/*
 * found_lost.h -- what those who find losses leave on the segments that they found:
 * so it shows afterwards that one was only late, and how late.
 *
 * The two attributes are the first of the part's own.
 */
#ifndef NOPAL_FOUND_LOST_H
#define NOPAL_FOUND_LOST_H

#include "microprotocol.h"

enum { FOUND_LOST_AGAIN, FOUND_LOST_LEFT_NS }; /* attributes */

#define FOUND_LOST_ATTRIBUTES                                                  \
	[FOUND_LOST_AGAIN] = { .name = "found_lost_at",                        \
			       .access = NOPAL_WRITE,                          \
			       .kinds = NOPAL_CARRIED,                         \
			       .doc = "first packet number after its loss "    \
				      "was found" },                           \
	[FOUND_LOST_LEFT_NS] = { .name = "late_left_ns",                       \
				 .access = NOPAL_WRITE,                        \
				 .kinds = NOPAL_CARRIED,                       \
				 .doc = "when what was taken for lost had "    \
					"left; 0 at SEGMENT_RECEIVED: it "     \
					"was" }

/* Its last departure is lost: settles that, and raises SEGMENT_LOST. */
static inline void found_lost(struct nopal_session *session,
			      const struct nopal_part *part,
			      struct nopal_segment *segment)
{
	nopal_set(segment, part, FOUND_LOST_AGAIN,
		  nopal_next_packet_number(session));
	nopal_set(segment, part, FOUND_LOST_LEFT_NS,
		  (uint64_t)segment->departed_ns);
	nopal_segment_settle(session, segment);
	nopal_raise_SEGMENT_LOST(session, segment);
}

#endif
