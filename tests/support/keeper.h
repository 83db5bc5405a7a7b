/* SPDX-License-Identifier: MIT */
/*
 * keeper.h -- an application that does not read: the microprotocol `keeper` keeps every message
 * that is delivered to the acceptor, until the test reads.
 *
 *     keeper_open(&rig, "transport_driver {} fixed_size {} ...", &options);
 *     rig_send(&rig, "x"), rig_run(&rig, NOPAL_SECOND);
 *     assert_int_equal(keeper.held_bytes, 1);
 *     keeper_read(&rig, 1);
 */
#ifndef NOPAL_TEST_KEEPER_H
#define NOPAL_TEST_KEEPER_H

#include "support/segments.h"
#include "support/test.h"

enum { KEEPER_ROOM = 8192 };

struct keeper {
	struct nopal_message *message[KEEPER_ROOM];
	uint32_t first, end; /* what is kept */
	uint64_t held_bytes, max_bytes;
	bool reads; /* keeps nothing */
};
extern struct keeper keeper;

void keeper_open(struct rig *rig, const char *config, const struct rig_options *options);

/* The application reads so many messages, or all there are. */
void keeper_read(struct rig *rig, uint32_t count);

/* Sends `count` messages of so many bytes, as room comes, and runs until all are delivered or the
 * time is over; the application reads `reads` messages every 10 ms. */
void keeper_push(struct rig *rig, uint32_t count, size_t length, uint32_t reads, int64_t max_ns);

#endif
