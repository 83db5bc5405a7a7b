/* SPDX-License-Identifier: MIT */
/*
 * noting_core.h -- a core that only notes what a world gives it, and the worlds that the tests of
 * the simulator share.  It stands in for the real one: one file of a test includes it.
 */
#ifndef NOPAL_TEST_NOTING_CORE_H
#define NOPAL_TEST_NOTING_CORE_H

#include "io/emulator/link_engine.h"
#include "ports/world.h"

enum {
	MAX_NOTES = 20000,
	PORT = 9000,
	NOTED_BYTES = 16,
	UDP_IP = NOPAL__UDP_HEADER_BYTES,
};

struct nopal_endpoint {
	struct nopal_port port;
	unsigned calls;
	bool close_on_receive, echo, keep;
	struct nopal_endpoint *next;
};

struct note {
	int64_t time_ns;
	struct nopal_endpoint *endpoint;
	struct nopal_address from;
	unsigned call; /* which call of the endpoint gave it */
	uint32_t length;
	uint8_t bytes[NOTED_BYTES];
};

extern struct note notes[MAX_NOTES];
extern unsigned note_count;
extern int64_t timer_ns;
extern unsigned wakes;
extern struct nopal_buffer *kept;

struct nopal_port *nopal__endpoint_port(struct nopal_endpoint *endpoint);
enum nopal_transmitted transmit(struct nopal_endpoint *from, const struct nopal_address *to,
				const void *bytes, uint32_t length, uint32_t stride);
void end(struct nopal_world *world);
void words(const char *text, struct nopal_link *ret_link);

/* Two hosts, joined by one link with these words both ways. */
struct nopal_world *pair(const char *text, uint64_t seed, struct nopal_endpoint *ends[2]);
enum nopal_transmitted say(struct nopal_endpoint *from, struct nopal_endpoint *to,
			   const char *text);
void heard(unsigned index, struct nopal_endpoint *at, int64_t time_ns, const char *text);

#endif
