/* SPDX-License-Identifier: MIT */
/*
 * Nothing is allocated on the packet path: once a bulk session runs, thousands of segments leave,
 * arrive and are acknowledged without one call of malloc, in the core and in the simulated world
 * alike.  The linker puts the counters below before the allocator (--wrap).
 */
#include <stdlib.h>

#include "support/rig.h"
#include "support/test.h"

enum {
	WARM_UP_MS = 20000, /* windows and rings have found their size */
	COUNTED_MS = 3000,
	STEP_MS = 10,
	MESSAGE_BYTES = 60000,
	SEGMENTS_MIN = 1000, /* else the run proves nothing */
};

static uint64_t allocations;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
	allocations++;
	return __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	allocations++;
	return __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
	allocations++;
	return __real_realloc(memory, bytes);
}

static void keep_busy(struct rig *rig, struct nopal_buffer *buffer, int64_t ms)
{
	for (int64_t at = 0; at < ms; at += STEP_MS) {
		while (nopal_send_message(rig->opener.session,
					  &(struct nopal_outgoing){ .buffer = buffer,
								    .length = MESSAGE_BYTES }) == 0)
			continue;
		rig_run(rig, STEP_MS * NOPAL_MILLISECOND);
	}
}

static void quiet_path(const char *config)
{
	struct nopal_buffer *buffer = nopal_buffer_new(MESSAGE_BYTES);
	struct rig *rig = calloc(1, sizeof(*rig));
	uint64_t transmissions, before;

	rig_open(rig, config, &(struct rig_options){ .link = "rate 20mbit delay 10ms limit 60" });
	keep_busy(rig, buffer, WARM_UP_MS);
	transmissions = nopal_session_counters(rig->opener.session)->transmissions;
	before = allocations;
	keep_busy(rig, buffer, COUNTED_MS);
	assert_int_equal(allocations, before);
	assert_true(nopal_session_counters(rig->opener.session)->transmissions >
		    transmissions + SEGMENTS_MIN);
	rig_close(rig);
	nopal_buffer_free(buffer);
	free(rig);
}

TEST(test_the_counters_count)
{
	uint64_t before = allocations;

	free(malloc(1));
	nopal_buffer_free(nopal_buffer_new(1));
	assert_true(allocations > before);
}

TEST(test_bulk)
{
	quiet_path("extends = \"bulk\"\n");
}

TEST(test_bulk_with_cubic)
{
	quiet_path("extends = \"bulk_cubic\"\n");
}

TEST(test_multicast)
{
	quiet_path("extends = \"multicast\"\n");
}
