/* SPDX-License-Identifier: MIT */
/*
 * lab.h -- a pair of sessions with the microprotocol `lab`: its handlers of SEGMENT_LOST write a
 * letter each, that of SEGMENT_TIMEOUT queues and raises it between brackets, and that of
 * SEGMENT_RESEND raises itself for ever.
 *
 * `segment` waits in the opener's session.
 */
#ifndef NOPAL_TESTS_LAB_H
#define NOPAL_TESTS_LAB_H

#include "support/own_rig.h"

extern char seen[64];
extern bool stop_at_b;

void letter(char c);
enum nopal_verdict lab_on_lost_a(struct nopal_at at, struct nopal_segment *segment);
enum nopal_verdict lab_on_lost_b(struct nopal_at at, struct nopal_segment *segment);

extern struct nopal_segment *segment;

int lab_setup(void **state);

#endif
