/* SPDX-License-Identifier: MIT */
/*
 * idle.h -- a session to which nothing happens takes a few bytes: idle.c.
 */
#ifndef NOPAL_IDLE_H
#define NOPAL_IDLE_H

#include "engine/composite.h"

/* Nothing happened for so long: a session is idle. */
#define NOPAL_IDLE_NS (250 * NOPAL_MILLISECOND)

/* Resumes an idle session, or any layer of its stack; false: there is no memory, and the session
 * has ended. */
bool nopal__resume(struct nopal_composite *composite);
/* Something happens: sees to it that a walk follows. */
void nopal__idle_watch(struct nopal_world *world);
void nopal__idle_walk(struct nopal_world *world);

#endif
