/* SPDX-License-Identifier: MIT */
/*
 * records.h -- what would be in a trace, for a test to look at: the linker's --wrap (records_wrap
 * of tests/meson.build) puts this in the place of nopal__trace.
 *
 *     records_start(rig.world);
 *     rig_send(&rig, "x");
 *     records_stop(rig.world);
 *     assert_non_null(record_of(NOPAL_TRACED_DEPART, NOPAL_KIND_DATA));
 *
 * Sessions are there before it starts.  Include it after cmocka.h.
 */
#ifndef NOPAL_TESTS_RECORDS_H
#define NOPAL_TESTS_RECORDS_H

#include "session/session.h"
#include "support/test.h"

enum { RECORDS = 1024 };

static struct record {
	enum nopal_trace_what what;
	uint32_t session;
	int64_t now_ns;
	uint16_t number;
	uint64_t a, b;
	uint8_t part;
} records[RECORDS];
static unsigned record_count;

void __wrap_nopal__trace(struct nopal_tracer *tracer, int64_t now_ns, uint32_t session,
			 enum nopal_trace_what what, uint8_t part, uint16_t number, uint64_t a,
			 uint64_t b);
void __wrap_nopal__trace(struct nopal_tracer *tracer, int64_t now_ns, uint32_t session,
			 enum nopal_trace_what what, uint8_t part, uint16_t number, uint64_t a,
			 uint64_t b)
{
	(void)tracer;
	assert_true(record_count < RECORDS);
	records[record_count++] = (struct record){ what, session, now_ns, number, a, b, part };
}

static inline void records_start(struct nopal_world *world)
{
	record_count = 0;
	world->tracer = (struct nopal_tracer *)records; /* nobody looks into it */
}

static inline void records_stop(struct nopal_world *world)
{
	world->tracer = NULL;
}

/* The first of them with this number; NULL: there is none. */
static inline const struct record *record_of(enum nopal_trace_what what, unsigned number)
{
	for (unsigned i = 0; i < record_count; i++)
		if (records[i].what == what && records[i].number == number)
			return &records[i];
	return NULL;
}

#endif
