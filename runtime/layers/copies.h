/* SPDX-License-Identifier: MIT */
/*
 * copies.h -- copies of one segment, given to destinations: copies.c.
 */
#ifndef NOPAL_COPIES_H
#define NOPAL_COPIES_H

#include "engine/composite.h"

void nopal__copies_leave(struct nopal_composite *composite, struct nopal_segment *segment);
void nopal__copy_done(struct nopal_composite *member, struct nopal_handle above,
		      enum nopal_outcome outcome);
void nopal__copy_settle(struct nopal_composite *member, struct nopal_segment *segment,
			enum nopal_outcome outcome);

#endif
