/* SPDX-License-Identifier: MIT */
/*
 * capture.h -- the datagrams that the opener of a rig sends are taken off the network and given to
 * the acceptor one by one, in any order, changed or not.
 */
#ifndef NOPAL_TEST_CAPTURE_H
#define NOPAL_TEST_CAPTURE_H

#include "support/rig.h"

enum { CAPTURE_DATAGRAMS = 64, CAPTURE_BYTES = 2048 };

struct capture {
	struct rig rig;
	struct nopal_address opener, acceptor;
	uint32_t count;
	struct captured {
		uint8_t bytes[CAPTURE_BYTES];
		size_t length;
		int64_t time_ns;
	} datagram[CAPTURE_DATAGRAMS];
};

void capture_note(void *user, int64_t now_ns, const struct nopal_address *from,
		  const struct nopal_address *to, const uint8_t *bytes, size_t length);

/* Opens a pair that know each other; from then on nothing gets through. */
void capture_open(struct capture *capture, const char *config);
void capture_close(struct capture *capture);
void capture_give(struct capture *capture, const uint8_t *bytes, size_t length);
void capture_pass(struct capture *capture, uint32_t place);

#endif
