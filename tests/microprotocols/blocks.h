/* SPDX-License-Identifier: MIT */
/*
 * blocks.h -- messages that fill blocks of forward_error_correction: sent by the
 * opener of a captured pair, recognised at the acceptor.
 */
#ifndef NOPAL_TEST_BLOCKS_H
#define NOPAL_TEST_BLOCKS_H

#include <stdio.h>

#include "capture.h"

static struct capture net;
static uint32_t round_number;

static inline const char *fec_config(int n, int k, const char *more)
{
	static char text[1024];

	snprintf(text, sizeof(text),
		 "transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
		 "forward_error_correction { n = %d  k = %d  code = %s }\n%s",
		 n, k, n - k == 1 ? "xor" : "cauchy", more);
	return text;
}

static inline size_t length_of(uint32_t i)
{
	return 40 + (round_number * 37 + i * 113) % 900;
}

static inline const char *text_of(uint32_t i)
{
	static char text[RIG_TEXT];

	snprintf(text, sizeof(text), "%u of round %u", i, round_number);
	return text;
}

/* Sends `count` messages of various lengths and takes what comes of it. */
static inline void send_block(uint32_t count)
{
	uint8_t bytes[1500];

	round_number++;
	net.count = 0;
	net.rig.acceptor.delivered = 0;
	for (uint32_t i = 0; i < count; i++) {
		for (size_t at = 0; at < length_of(i); at++)
			bytes[at] = (uint8_t)(at * at + i * 31 + round_number);
		memset(bytes, 0, RIG_TEXT);
		strcpy((char *)bytes, text_of(i));
		assert_int_equal(nopal_send(net.rig.opener.session, bytes,
					    length_of(i), 0),
				 0);
	}
}

static inline bool is_delivered(uint32_t i)
{
	bool found = false;

	for (uint32_t at = 0; at < net.rig.acceptor.delivered; at++)
		if (strcmp(net.rig.acceptor.text[at], text_of(i)) == 0) {
			assert_false(found);
			assert_int_equal(net.rig.acceptor.length[at],
					 length_of(i));
			found = true;
		}
	return found;
}

#endif
