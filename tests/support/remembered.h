/* SPDX-License-Identifier: MIT */
/*
 * remembered.h -- sessions one after the other between the two hosts of a rig, for tests of what
 * the later ones know.
 */
#ifndef NOPAL_TEST_REMEMBERED_H
#define NOPAL_TEST_REMEMBERED_H

#include "support/segments.h"
#include "support/own_rig.h"

enum {
	FILE_BYTES = 200000,
	FIRST_SEGMENTS = 10,
	MAX_SEGMENTS = 64,
	ROUNDS_MAX = 1000,
};

#define RELIABLE                                                                                   \
	"transport_driver {}\nresize {}\nvirtual_circuit {}\n"                                     \
	"sequenced_segments {}\npositive_ack {} retransmission_timer {}\nduplicate_ack {}\n"       \
	"rtt_estimation {}\nretransmit {}\nwindowed_flow {}\nreliable_fifo "                       \
	"{}\n"                                                                                     \
	"windowed_cc {}\n"

extern const char CUBIC[];
extern const char LINK[];

void remembered_begin(const char *config, const char *link);
void start(void);
void stop(void);

/* Round trips from the first byte until the last one has arrived, rounded up. */
int64_t transfer(size_t length);
int64_t session_of(size_t length);
int64_t shared(const char *name);
int64_t segments(int64_t count);

#endif
