/* SPDX-License-Identifier: MIT */
/*
 * remembered.h -- sessions one after the other between the two hosts of a rig, for tests of what
 * the later ones know.
 */
#ifndef NOPAL_TEST_REMEMBERED_H
#define NOPAL_TEST_REMEMBERED_H

#include "segments.h"
#include "support/test.h"

enum {
	FILE_BYTES = 200000,
	FIRST_SEGMENTS = 10,
	MOST_SEGMENTS = 64,
	ROUNDS_MOST = 1000,
};

#define RELIABLE                                                                                   \
	"transport_driver {}\nresize {}\nvirtual_circuit {}\n"                                     \
	"sequenced_segments {}\npositive_ack {}\nduplicate_ack {}\n"                               \
	"rtt_estimation {}\nretransmit {}\nwindowed_flow {}\nreliable_fifo "                       \
	"{}\n"                                                                                     \
	"windowed_cc {}\n"

static const char CUBIC[] = RELIABLE "cubic_congestion {}\npath_memory {}\n";
static const char LINK[] = "rate 20mbit delay 50ms limit 1000";

static struct rig rig;

static inline void begin(const char *config, const char *link)
{
	rig_open(&rig, config, &(struct rig_options){ .link = link, .stay_closed = true });
}

static inline void start(void)
{
	rig.opener.opened = rig.acceptor.opened = 0;
	rig_start(&rig);
	assert_int_equal(rig.acceptor.opened, 1);
}

static inline void stop(void)
{
	rig_finish(&rig);
	assert_null(rig.opener.session);
	assert_null(rig.acceptor.session);
}

/* Round trips from the first byte until the last one has arrived, rounded up. */
static inline int64_t transfer(size_t length)
{
	int64_t began_ns = nopal_world_now(rig.world), left = ROUNDS_MOST;
	uint32_t before = rig.acceptor.delivered;

	rig_send_bytes(&rig, length);
	while (rig.acceptor.delivered == before && left-- > 0)
		rig_run(&rig, 10 * NOPAL_MILLISECOND);
	assert_int_equal(rig.acceptor.delivered, before + 1);
	return (nopal_world_now(rig.world) - began_ns) / (100 * NOPAL_MILLISECOND) + 1;
}

static inline int64_t session_of(size_t length)
{
	int64_t rounds;

	start();
	rounds = transfer(length);
	stop();
	return rounds;
}

static inline int64_t shared(const char *name)
{
	return rig_shared(rig.opener.session, name);
}

static inline int64_t segments(int64_t count)
{
	return count * nopal_body_most(rig.opener.session);
}

#endif
