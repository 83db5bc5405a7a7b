/* SPDX-License-Identifier: MIT */
/*
 * event.h -- raising events, queued and delayed ones: event.c.
 */
#ifndef NOPAL_EVENT_H
#define NOPAL_EVENT_H

#include "engine/composite.h"

void nopal__run_deferred(struct nopal_composite *composite, const struct nopal_deferred *deferred);
void nopal__drain_queue(struct nopal_composite *composite);
void nopal__note(struct nopal_composite *composite, enum nopal_trace_note note, uint64_t a,
		 uint64_t b);

#endif
