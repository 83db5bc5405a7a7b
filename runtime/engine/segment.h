/* SPDX-License-Identifier: MIT */
/*
 * segment.h -- segments, their barriers and transmissions: segment.c.
 */
#ifndef NOPAL_SEGMENT_H
#define NOPAL_SEGMENT_H

#include "engine/composite.h"

struct nopal_segment *nopal__segment_make(struct nopal_composite *composite, uint8_t kind);
/* An outgoing one that passes the barriers; but for its attributes. */
struct nopal_segment *nopal__segment_make_carried(struct nopal_composite *composite, uint8_t kind);
void nopal__segment_hold(struct nopal_composite *composite, struct nopal_segment *segment);
void nopal__segment_free(struct nopal_composite *composite, struct nopal_segment *segment);
/* Finish and free what the barriers and pins allow. */
void nopal__segment_settle_now(struct nopal_composite *composite, struct nopal_segment *segment);
static inline void nopal__segment_settle(struct nopal_composite *composite,
					 struct nopal_segment *segment)
{
	bool due = segment->done ? !segment->waiting[NOPAL_DEALLOCATE] && !segment->pins
				 : (segment->transmissions || segment->last) &&
					   !segment->waiting[NOPAL_DONE];

	if (due) /* what arrives never leaves */
		nopal__segment_settle_now(composite, segment);
}
void nopal__depart(struct nopal_composite *composite, struct nopal_segment *segment);

void nopal__segment_enter(struct nopal_composite *composite, struct nopal_segment *segment);
/* The same, and that was all of it. */
void nopal__segment_arrive(struct nopal_composite *composite, struct nopal_segment *segment);

void nopal__control_note(struct nopal_composite *composite, struct nopal_segment *segment,
			 uint32_t length);

#endif
