/* SPDX-License-Identifier: MIT */
/*
 * fake_world.h -- a world of the test's own, which notes every train, and answers as the test tells
 * it to.
 *
 *     fake_begin();
 *     endpoint = nopal_endpoint_open(&fake.world, &(struct nopal_address){ 0 }, NULL);
 *     ...
 *     nopal__world_fini(&fake.world);
 */
#ifndef NOPAL_TESTS_FAKE_WORLD_H
#define NOPAL_TESTS_FAKE_WORLD_H

#include "plan/plan.h"
#include "ports/world.h"

enum {
	TRAINS = 4096,
	HEAD = 1 + NOPAL_ID_BYTES, /* of a data datagram without fields */
};

struct noted {
	uint16_t port; /* of the peer */
	uint32_t length, stride, datagrams;
	uint8_t first; /* byte of the first body */
	uint8_t ecn;
	bool fragments;
};

struct fake_world {
	struct nopal_world world; /* first */
	uint64_t draw;
	enum nopal_transmitted answer;
	unsigned takes; /* trains that it takes before it gives `answer` */
	unsigned trains;
	struct noted train[TRAINS];
	uint8_t bytes[NOPAL_TRAIN_BYTES]; /* of the last one */
};
extern struct fake_world fake;

void fake_begin(void);

#endif
