/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "support/paper_packets.h"
#include "support/test.h"

struct packet packet[PACKETS];
unsigned packets;

struct nopal_address opener, acceptor;

static void tap(void *user, int64_t now_ns, const struct nopal_address *from,
		const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	struct packet *next = &packet[packets++ % PACKETS];

	(void)user, (void)now_ns, (void)from;
	assert_true(length <= sizeof(next->bytes));
	memcpy(next->bytes, bytes, length);
	next->length = length;
	next->to_acceptor = to->port == 2000;
}

void prepare(const char *config, const char *link)
{
	packets = 0;
	rig_open(&rig, config, &(struct rig_options){ .stay_closed = true, .link = link });
	nopal_sim_tap(rig.world, tap, NULL);
	nopal_endpoint_local(rig.opener.endpoint, &opener);
	nopal_endpoint_local(rig.acceptor.endpoint, &acceptor);
}

void paper_end(void)
{
	nopal_sim_tap(rig.world, NULL, NULL);
	rig_close(&rig);
}

uint32_t word(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

void put_word(uint8_t *at, uint32_t value)
{
	for (int i = 3; i >= 0; i--, value >>= 8)
		at[i] = (uint8_t)value;
}

uint32_t complement(const uint8_t *bytes, unsigned words)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < words; i++) {
		uint32_t before = sum;

		sum += word(bytes + 4 * i);
		sum += sum < before;
	}
	return ~sum;
}
