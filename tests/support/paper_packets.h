/* SPDX-License-Identifier: MIT */
/*
 * paper_packets.h -- packets with the header of the one-to-many protocol between the two ends of a
 * rig, as they were seen on the way; its fields and its sum are read anew here, with nothing of
 * what is tested.
 */
#ifndef NOPAL_TEST_PAPER_PACKETS_H
#define NOPAL_TEST_PAPER_PACKETS_H

#include <string.h>

#include "support/rig.h"
#include "support/test.h"

enum { PACKETS = 4096, HEADER = 20 };
enum { START = 0x01, END = 0x02, SYN = 0x04, FIN = 0x08, ACK = 0x10 };

static struct packet {
	uint8_t bytes[1500];
	size_t length;
	bool to_acceptor;
} packet[PACKETS];
static unsigned packets;

static struct rig rig;
static struct nopal_address opener, acceptor;

static inline void tap(void *user, int64_t now_ns, const struct nopal_address *from,
		       const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	struct packet *next = &packet[packets++ % PACKETS];

	(void)user, (void)now_ns, (void)from;
	assert_true(length <= sizeof(next->bytes));
	memcpy(next->bytes, bytes, length);
	next->length = length;
	next->to_acceptor = to->port == 2000;
}

/* Nobody has opened yet. */
static inline void prepare(const char *config, const char *link)
{
	packets = 0;
	rig_open(&rig, config, &(struct rig_options){ .stay_closed = true, .link = link });
	nopal_sim_tap(rig.world, tap, NULL);
	nopal_endpoint_local(rig.opener.endpoint, &opener);
	nopal_endpoint_local(rig.acceptor.endpoint, &acceptor);
}

static inline void end(void)
{
	nopal_sim_tap(rig.world, NULL, NULL);
	rig_close(&rig);
}

static inline uint32_t word(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline void put_word(uint8_t *at, uint32_t value)
{
	for (int i = 3; i >= 0; i--, value >>= 8)
		at[i] = (uint8_t)value;
}

/* Word by word, a carry at a time. */
static inline uint32_t complement(const uint8_t *bytes, unsigned words)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < words; i++) {
		uint32_t before = sum;

		sum += word(bytes + 4 * i);
		sum += sum < before;
	}
	return ~sum;
}

#endif
