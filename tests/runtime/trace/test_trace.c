/* SPDX-License-Identifier: MIT */
/*
 * test_trace -- writer and reader together: round trip, cut at every byte, full disk, hostile
 * files, and what the hash depends on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ports/world.h"
#include "trace/trace.h"
#include "support/own_file.h"
#include "support/test.h"

ALL_TESTS(tests, set_up, tear_down);

enum {
	MANY = 10000, /* more records than the writer's buffer holds */
	SOME = 20,
	FLIPS = 4000, /* damaged copies that are read */
	FILE_ROOM = 1 << 16,
};

/* ---------------------------------------------- a plan of our own making */

struct nopal_plan {
	struct nopal_plan_info info;
	size_t parts;
	const struct nopal_part *part;
	int references;
};

static const struct nopal_microprotocol alpha = {
	.name = "alpha",
	.kinds = (const struct nopal_kind[]){ { "ping", NOPAL_KIND_CONTROL, "" },
					      { "pong", NOPAL_KIND_CONTROL, "" },
					      { 0 } },
	.holds = (const struct nopal_hold[]){ { "window", NOPAL_SEND, NOPAL_DATA, false },
					      { "peer has it", NOPAL_DONE, NOPAL_DATA, false },
					      { 0 } },
};
static const struct nopal_microprotocol beta = { .name = "beta" };

static const struct nopal_part parts[] = {
	{ .microprotocol = &beta, .index = 0 },
	{ .microprotocol = &alpha,
	  .index = 1,
	  .kind = { 6, 7 },
	  .hold = { [NOPAL_SEND] = 4, [NOPAL_DONE] = 1u << 31 } },
};
static struct nopal_plan plans[] = { { { .name = "one" }, 2, parts, 1 },
				     { { .name = "two" }, 1, parts, 1 } };

const struct nopal_plan_info *nopal_plan_info(const struct nopal_plan *plan)
{
	return &plan->info;
}

size_t nopal_plan_part_count(const struct nopal_plan *plan)
{
	return plan->parts;
}

const struct nopal_part *nopal_plan_part(const struct nopal_plan *plan, size_t index)
{
	return &plan->part[index];
}

struct nopal_plan *nopal_plan_ref(struct nopal_plan *plan)
{
	plan->references++;
	return plan;
}

void nopal_plan_unref(struct nopal_plan *plan)
{
	plan->references--;
}

/* --------------------------------------------------------------- helpers */

static struct nopal_trace_record record_at(int i)
{
	return (struct nopal_trace_record){
		.time_ns = (int64_t)i * 1000003 - 5,
		.session = UINT32_MAX - (uint32_t)i,
		.what = (uint8_t)(NOPAL_TRACED_SESSION + i % 10),
		.part = (uint8_t)i,
		.number = (uint16_t)(i * 7),
		.a = (uint64_t)i << 33 | 1,
		.b = UINT64_MAX - (uint64_t)i,
	};
}

static void put(struct nopal_world *world, const struct nopal_trace_record *r)
{
	nopal__trace(world->tracer, r->time_ns, r->session, r->what, r->part, r->number, r->a,
		     r->b);
}

static void put_all(struct nopal_world *world, int count)
{
	for (int i = 0; i < count; i++) {
		struct nopal_trace_record record = record_at(i);

		if (i == count / 2)
			nopal__trace_plan(world->tracer, &plans[1]);
		put(world, &record);
	}
}

/* Writes a trace to `path`; returns its hash. */
static uint64_t write_trace(const char *file, enum nopal_trace_detail detail, int count,
			    int *ret_error)
{
	struct nopal_world world = { 0 };
	uint64_t hash;
	int error;

	assert_int_equal(nopal_trace_start(&world, file, detail), 0);
	assert_int_equal(nopal__trace_plan(world.tracer, &plans[0]), 0);
	put_all(&world, count);
	assert_int_equal(nopal__trace_plan(world.tracer, &plans[1]), 1);
	assert_int_equal(nopal__trace_plan(world.tracer, &plans[0]), 0);
	hash = nopal_trace_hash(&world);
	error = nopal_trace_stop(&world);
	assert_null(world.tracer);
	assert_int_equal(plans[0].references, 1);
	assert_int_equal(plans[1].references, 1);
	if (ret_error)
		*ret_error = error;
	else
		assert_int_equal(error, 0);
	return hash;
}

static struct nopal_trace_reader *open_trace(void)
{
	struct nopal_problems problems = { 0 };
	struct nopal_trace_reader *reader;

	reader = nopal_trace_open(path, &problems);
	assert_int_equal(reader == NULL, problems.errors > 0);
	nopal_problems_fini(&problems);
	return reader;
}

static size_t load(uint8_t *bytes, size_t room)
{
	FILE *file = fopen(path, "rb");
	size_t length;

	assert_non_null(file);
	length = fread(bytes, 1, room, file);
	assert_true(length < room);
	fclose(file);
	return length;
}

static void store(const uint8_t *bytes, size_t length)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	fclose(file);
}

/* Reads to the end; returns the records, or the error. */
static int count_records(struct nopal_trace_reader *reader)
{
	struct nopal_trace_record record;
	int records = 0, more;

	while ((more = nopal_trace_next(reader, &record)) > 0)
		records++;
	assert_int_equal(nopal_trace_next(reader, &record), more);
	return more < 0 ? more : records;
}

/* All names that a tool could ask for. */
static void ask_names(const struct nopal_trace_reader *reader)
{
	for (unsigned plan = 0; plan < 4; plan++) {
		nopal_trace_plan_name(reader, plan);
		for (unsigned i = 0; i < 300; i++) {
			nopal_trace_part_name(reader, plan, i);
			nopal_trace_kind_name(reader, plan, i);
			nopal_trace_hold_name(reader, plan, i % 6, i / 6);
		}
	}
	for (unsigned event = 0; event < 70000; event += 50)
		nopal_trace_event_name(reader, event);
}

/* ----------------------------------------------------------------- tests */

TEST(what_was_written_is_read)
{
	struct nopal_trace_reader *reader;
	struct nopal_trace_record got, expected;

	write_trace(path, NOPAL_TRACE_EVENTS, MANY, NULL);
	reader = open_trace();
	assert_non_null(reader);
	for (int i = 0; i < MANY; i++) {
		expected = record_at(i);
		assert_int_equal(nopal_trace_next(reader, &got), 1);
		assert_true(got.time_ns == expected.time_ns);
		assert_int_equal(got.session, expected.session);
		assert_int_equal(got.what, expected.what);
		assert_int_equal(got.part, expected.part);
		assert_int_equal(got.number, expected.number);
		assert_true(got.a == expected.a && got.b == expected.b);
	}
	assert_int_equal(nopal_trace_next(reader, &got), 0);
	nopal_trace_close(reader);
}

TEST(names_are_in_the_file)
{
	struct nopal_trace_reader *r;

	write_trace(path, NOPAL_TRACE_EVENTS, SOME, NULL);
	r = open_trace();
	assert_int_equal(count_records(r), SOME);
	assert_string_equal(nopal_trace_event_name(r, NOPAL_SEGMENT_LOST), "SEGMENT_LOST");
	assert_null(nopal_trace_event_name(r, NOPAL_CUSTOM));
	assert_string_equal(nopal_trace_plan_name(r, 0), "one");
	assert_string_equal(nopal_trace_plan_name(r, 1), "two");
	assert_null(nopal_trace_plan_name(r, 2));
	assert_string_equal(nopal_trace_part_name(r, 0, 0), "beta");
	assert_string_equal(nopal_trace_part_name(r, 0, 1), "alpha");
	assert_null(nopal_trace_part_name(r, 1, 1));
	assert_string_equal(nopal_trace_kind_name(r, 0, 0), "data");
	assert_string_equal(nopal_trace_kind_name(r, 0, 3), "reply");
	assert_string_equal(nopal_trace_kind_name(r, 0, 6), "ping");
	assert_string_equal(nopal_trace_kind_name(r, 0, 7), "pong");
	assert_null(nopal_trace_kind_name(r, 1, 7));
	assert_string_equal(nopal_trace_hold_name(r, 0, NOPAL_SEND, 2), "alpha: window");
	assert_string_equal(nopal_trace_hold_name(r, 0, NOPAL_DONE, 31), "alpha: peer has it");
	assert_null(nopal_trace_hold_name(r, 0, NOPAL_DEALLOCATE, 0));
	nopal_trace_close(r);
}

TEST(a_cut_file_is_read_up_to_the_cut)
{
	static uint8_t bytes[FILE_ROOM];
	size_t length, records = 0;

	write_trace(path, NOPAL_TRACE_EVENTS, SOME, NULL);
	length = load(bytes, sizeof(bytes));
	for (size_t cut = 0; cut <= length; cut++) {
		struct nopal_trace_reader *reader;
		int count;

		store(bytes, cut);
		reader = open_trace();
		assert_int_equal(reader != NULL, cut >= NOPAL_TRACE_HEAD_BYTES);
		if (!reader)
			continue;
		count = count_records(reader);
		assert_true(count >= 0 && (size_t)count >= records);
		records = (size_t)count;
		ask_names(reader);
		nopal_trace_close(reader);
	}
	assert_int_equal(records, SOME);
}

TEST(damage_is_said_and_harms_nobody)
{
	static uint8_t bytes[FILE_ROOM];
	uint64_t seed = 17;
	size_t length;
	int damaged = 0;

	write_trace(path, NOPAL_TRACE_EVENTS, SOME, NULL);
	length = load(bytes, sizeof(bytes));
	for (int i = 0; i < FLIPS; i++) {
		struct nopal_trace_reader *reader;
		size_t at;
		uint8_t was;

		seed = seed * UINT64_C(6364136223846793005) + 1;
		at = (size_t)(seed >> 33) % length;
		was = bytes[at];
		bytes[at] = (uint8_t)(seed >> 24);
		store(bytes, length);
		reader = open_trace();
		if (reader) {
			damaged += count_records(reader) == -EIO;
			ask_names(reader);
		}
		nopal_trace_close(reader);
		bytes[at] = was;
	}
	assert_true(damaged > 0);
}

TEST(what_is_no_trace_is_refused)
{
	store((const uint8_t *)"NOPALTRC\2\0\0\0\40\0\0\0", 16);
	assert_null(open_trace());
	store((const uint8_t *)"NOPALTRC\1\0\0\0\41\0\0\0", 16);
	assert_null(open_trace());
	store((const uint8_t *)"PNG and something", 17);
	assert_null(open_trace());
	store((const uint8_t *)"", 0);
	assert_null(open_trace());
	unlink(path);
	assert_null(open_trace());
}

TEST(names_cannot_steer_a_terminal)
{
	struct nopal_trace_reader *reader;

	plans[0].info.name = "a\033[2Jb\n";
	write_trace(path, NOPAL_TRACE_EVENTS, SOME, NULL);
	plans[0].info.name = "one";
	reader = open_trace();
	count_records(reader);
	assert_string_equal(nopal_trace_plan_name(reader, 0), "a?[2Jb?");
	nopal_trace_close(reader);
}

TEST(a_full_disk_is_told_at_the_end)
{
	int error = 0;
	uint64_t hash, full;

	if (access("/dev/full", W_OK) < 0)
		skip();
	hash = write_trace(NULL, NOPAL_TRACE_EVENTS, MANY, NULL);
	full = write_trace("/dev/full", NOPAL_TRACE_EVENTS, MANY, &error);
	assert_int_equal(error, -ENOSPC);
	assert_true(hash == full);
}

TEST(a_bad_path_is_told_at_the_start)
{
	struct nopal_world world = { 0 };

	assert_int_equal(nopal_trace_start(&world, "/nonexistent/file", NOPAL_TRACE_EVENTS),
			 -ENOENT);
	assert_null(world.tracer);
	assert_int_equal(nopal_trace_stop(&world), 0);
	assert_int_equal(nopal_trace_hash(&world), 0);
	assert_int_equal(nopal_trace_start(&world, NULL, NOPAL_TRACE_OFF), 0);
	assert_null(world.tracer);
	assert_int_equal(nopal_trace_start(&world, NULL, NOPAL_TRACE_PACKETS), 0);
	assert_int_equal(nopal_trace_start(&world, NULL, NOPAL_TRACE_PACKETS), -EALREADY);
	assert_int_equal(nopal_trace_stop(&world), 0);
}

TEST(the_hash_is_of_the_records_alone)
{
	uint64_t hash;

	for (int i = 0; i < 2; i++) {
		enum nopal_trace_detail detail = i ? NOPAL_TRACE_EVENTS : NOPAL_TRACE_PACKETS;

		hash = write_trace(NULL, detail, MANY, NULL);
		assert_true(hash == write_trace(path, detail, MANY, NULL));
		assert_true(hash != write_trace(path, detail, MANY - 2, NULL));
	}
}

/* Seeds are compared between machines and releases. */
TEST(the_hash_stays)
{
	assert_true(write_trace(NULL, NOPAL_TRACE_EVENTS, SOME, NULL) ==
		    UINT64_C(0xbd2df7c03b348e18));
}

static uint64_t hash_of(const struct nopal_trace_record *first,
			const struct nopal_trace_record *second)
{
	struct nopal_world world = { 0 };
	uint64_t hash;

	nopal_trace_start(&world, NULL, NOPAL_TRACE_EVENTS);
	put(&world, first);
	put(&world, second);
	hash = nopal_trace_hash(&world);
	nopal_trace_stop(&world);
	return hash;
}

TEST(every_field_and_the_order_count)
{
	struct nopal_trace_record x = record_at(1), y = record_at(2), z;
	uint64_t hash = hash_of(&x, &y);

	assert_true(hash != hash_of(&y, &x));
	z = y, z.time_ns ^= INT64_C(1) << 62;
	assert_true(hash != hash_of(&x, &z));
	z = y, z.session++;
	assert_true(hash != hash_of(&x, &z));
	z = y, z.part++;
	assert_true(hash != hash_of(&x, &z));
	z = y, z.number++;
	assert_true(hash != hash_of(&x, &z));
	z = y, z.a ^= UINT64_C(1) << 63;
	assert_true(hash != hash_of(&x, &z));
	z = y, z.b++;
	assert_true(hash != hash_of(&x, &z));
	z = y, z.a = y.b, z.b = y.a;
	assert_true(hash != hash_of(&x, &z));
}

TEST(packets_leave_out_events)
{
	struct nopal_trace_reader *reader;
	struct nopal_trace_record record;
	int records = 0;

	write_trace(path, NOPAL_TRACE_PACKETS, SOME, NULL);
	reader = open_trace();
	for (; nopal_trace_next(reader, &record) > 0; records++)
		assert_true(record.what != NOPAL_TRACED_RAISE && record.what != NOPAL_TRACED_HOLD &&
			    record.what != NOPAL_TRACED_TIMER);
	assert_int_equal(records, SOME / 2);
	nopal_trace_close(reader);
	nopal__trace(NULL, 0, 0, NOPAL_TRACED_NOTE, 0, 0, 0, 0);
}
