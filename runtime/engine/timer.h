/* SPDX-License-Identifier: MIT */
/*
 * timer.h -- timers of a session and of the runtime: timer.c.
 */
#ifndef NOPAL_TIMER_H
#define NOPAL_TIMER_H

#include "engine/composite.h"

/* Makes sure that the session wakes no later than this. */
void nopal__wake_by(struct nopal_composite *composite, int64_t deadline_ns);
void nopal__timers_run(struct nopal_composite *composite);
void nopal__watchdog_start(struct nopal_composite *composite);
/* Nothing is under way. */
void nopal__watchdog_stop(struct nopal_composite *composite);
/* For a session that anybody's datagram may open: it ends with its peer's silence. */
void nopal__silence_watch(struct nopal_composite *composite);

/* Between two looks at a session of which something is under way. */
#define NOPAL_WATCH_NS (500 * NOPAL_MILLISECOND)

#endif
