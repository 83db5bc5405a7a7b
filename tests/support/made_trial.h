/* SPDX-License-Identifier: MIT */
/*
 * made_trial.h -- facts of a trial of a lab that was never run: `made` is the trial.  Times are in
 * microseconds; numbers of messages begin with 1.
 */
#ifndef NOPAL_TEST_MADE_TRIAL_H
#define NOPAL_TEST_MADE_TRIAL_H

#include "lab/lab.h"

extern struct lab_trial made;

void made_begin(const char *name, int hosts);
/* The application of the host sends the next message. */
void made_message(int host, int64_t us);
/* A datagram with (a part of) a message, or with none where it is 0; `arrives_us` < 0: it is lost.
 * Other facts may be changed before the next call. */
struct lab_datagram *made_datagram(int from, int to, int64_t us, int64_t arrives_us,
				   uint32_t message);
void made_delivery(int host, int64_t us, uint32_t message);
void made_step(int64_t us, bool failed, const char *text);

/* Message 1 arrives, and its ack; message 2 is lost and nobody sends it again; message 3 is
 * corrupted, and comes again, twice. */
void made_loss(void);
/* Forty messages; number 12 comes late, and number 31 is overtaken. */
void made_long(void);
/* One host to six others, of which two lose the message. */
void made_group(void);

#endif
