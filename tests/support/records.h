/* SPDX-License-Identifier: MIT */
/*
 * records.h -- what would be in a trace, for a test to look at: the linker's --wrap (records_wrap
 * of tests/meson.build) puts this in the place of nopal__trace.
 *
 *     records_start(rig.world);
 *     rig_send(&rig, "x");
 *     records_stop(rig.world);
 *     assert_non_null(record_of(NOPAL_TRACED_TRANSMIT, NOPAL_KIND_DATA));
 *
 * Sessions are there before it starts.
 */
#ifndef NOPAL_TESTS_RECORDS_H
#define NOPAL_TESTS_RECORDS_H

#include "ports/world.h"
#include "support/test.h"

enum { RECORDS = 1024 };

struct record {
	enum nopal_trace_what what;
	uint32_t session;
	int64_t now_ns;
	uint16_t number;
	uint64_t a, b;
	uint8_t part;
};
extern struct record records[RECORDS];
extern unsigned record_count;

void records_start(struct nopal_world *world);
void records_stop(struct nopal_world *world);

/* The first of them with this number; NULL: there is none. */
const struct record *record_of(enum nopal_trace_what what, unsigned number);

#endif
