/* SPDX-License-Identifier: MIT */
/* Control of multicast and channel_repair that no honest end would send: nothing breaks but its own
 * session, others get all, and the work is bounded. */
#include "engine/turn.h"
#include "support/many.h"
#include "support/rig.h"
#include "support/test.h"

static struct many many;

/* As in the microprotocols' tables of kinds. */
enum { CHANNEL, PROBE, HEARD };	   /* multicast */
enum { POINT, NAK, REPORT, TOP };  /* channel_repair */
enum { HOSTILE = 1, ROOM = 1200 }; /* whose session it is, of three */

static void begin(void)
{
	many_open(&many, MANY_CHANNEL("", "", "fan_out {}"), 3, "delay 2ms", 1);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 3);
}

/* A body under construction. */
static struct body {
	uint8_t bytes[ROOM];
	uint32_t length;
} body;

static void clear(void)
{
	body.length = 0;
}

static struct nopal_writer behind(void)
{
	return nopal_writer_over(body.bytes + body.length, ROOM - body.length);
}

static void add(uint64_t value, unsigned bytes)
{
	struct nopal_writer writer = behind();

	nopal_write(&writer, value, bytes);
	body.length += nopal_written(&writer);
}

static void add_varint(uint64_t value)
{
	struct nopal_writer writer = behind();

	nopal_write_varint(&writer, value);
	body.length += nopal_written(&writer);
}

/* Sent as the microprotocol would: sealed, and by the session or the channel. */
static void say(struct nopal_session *session, const char *microprotocol, unsigned kind,
		bool multicast)
{
	struct nopal_at part = rig_at(session, microprotocol);
	bool outermost = nopal__turn_begin(many.world);
	struct nopal_segment *segment;
	uint8_t *at;

	nopal__touch(nopal__composite(session));
	segment = nopal_control_new(part, kind, body.length ? body.length : 1, &at);
	assert_non_null(segment);
	if (body.length)
		memcpy(at, body.bytes, body.length);
	if (multicast)
		nopal_control_multicast(session, segment, body.length);
	else
		nopal_control_send(session, segment, body.length);
	nopal__turn_end(many.world, outermost);
}

/* From the hostile destination to the group. */
static void answer(const char *microprotocol, unsigned kind)
{
	if (many.end[HOSTILE].session)
		say(many.end[HOSTILE].session, microprotocol, kind, false);
}

/* The others get what is sent from now on, and got what was. */
static void others_are_well(void)
{
	for (int i = 0; i < 10; i++)
		assert_int_equal(many_send_bytes(&many, 3000, 0), 0);
	many_run(&many, 30 * NOPAL_SECOND);
	for (uint32_t i = 0; i < 3; i++)
		if (i != HOSTILE)
			assert_true(many_has(&many, i, 0, many.sent));
	many_close(&many);
}

static uint64_t transmissions(void)
{
	return nopal_session_counters(many.group)->transmissions;
}

/* While some numbers are out that it says it misses. */
static void send_and_let_miss(uint32_t count)
{
	many_deafen(&many, HOSTILE, true);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(many_send_bytes(&many, 100, 0), 0);
	many_run(&many, 6 * NOPAL_MILLISECOND);
	many_deafen(&many, HOSTILE, false);
}

/* ---------------------------------------------------------------------- naks */

TEST(test_naks_of_everything)
{
	uint64_t before;

	begin();
	send_and_let_miss(50);
	before = transmissions();
	for (int i = 0; i < 20; i++) {
		clear();
		add(0, 8);
		add_varint(INT64_MAX);
		answer("channel_repair", NAK);
		clear();
		add(1, 8);
		add_varint(1);
		for (int r = 0; r < 100; r++) {
			add_varint(0);
			add_varint(1);
		}
		answer("channel_repair", NAK);
	}
	many_run(&many, 3 * NOPAL_MILLISECOND);
	assert_in_range(transmissions() - before, 1, 50); /* each once a round */
	others_are_well();
}

TEST(test_naks_that_make_no_sense)
{
	static const uint64_t numbers[] = { 0,
					    1,
					    2,
					    60,
					    UINT32_MAX,
					    INT64_MAX - 1,
					    INT64_MAX,
					    (uint64_t)INT64_MAX + 1,
					    UINT64_MAX - 1,
					    UINT64_MAX };
	enum { COUNT = sizeof(numbers) / sizeof(numbers[0]) };

	begin();
	send_and_let_miss(20);
	for (int a = 0; a < COUNT; a++)
		for (int b = 0; b < COUNT; b++)
			for (int c = 0; c < COUNT; c++) {
				clear();
				add(numbers[a], 8);
				add_varint(numbers[b]);
				add_varint(numbers[c]);
				add_varint(numbers[(a + c) % COUNT]);
				answer("channel_repair", NAK);
			}
	many_run(&many, NOPAL_SECOND);
	clear();
	answer("channel_repair", NAK); /* nothing at all */
	others_are_well();
}

/* ------------------------------------------------------------------- reports */

static void report(uint64_t floor, uint64_t latest, uint32_t delay_us, uint32_t arrived,
		   uint32_t missing)
{
	clear();
	add(floor, 8);
	add(latest, 8);
	add(delay_us, 4);
	add(arrived, 4);
	add(missing, 4);
	answer("channel_repair", REPORT);
}

/* Copies that the report acknowledges have their outcome, once; the others' are not touched. */
TEST(test_reports_of_what_never_was)
{
	begin();
	send_and_let_miss(20);
	report(UINT64_MAX, UINT64_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX);
	report(0, 1, 0, 0, 0);
	report(INT64_MAX, 5, 0, UINT32_MAX, 0);
	report(1, UINT64_MAX, UINT32_MAX, 0, UINT32_MAX);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 20);
	for (uint32_t m = 0; m < 20; m++)
		assert_int_equal(many.outcome_count[m], 1);
	others_are_well();
}

TEST(test_reports_from_one_that_does_not_hear)
{
	many_open(&many, MANY_CHANNEL("", "", "fan_out {} rate_cc {} slowest_receiver {}"), 3,
		  "delay 2ms", 1);
	many_deafen(&many, HOSTILE, true);
	many_run(&many, 60 * NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 2);
	report(UINT64_MAX, 1, 0, 0, UINT32_MAX);
	send_and_let_miss(5);
	report(UINT64_MAX, 1, 0, 0, UINT32_MAX);
	others_are_well();
}

/* ---------------------------------------- what only the one that speaks may say */

TEST(test_destinations_that_speak)
{
	begin();
	send_and_let_miss(5);
	clear();
	add(7, 8);
	add(7, 8);
	answer("channel_repair", POINT);
	answer("channel_repair", TOP);
	clear();
	add(1, 4);
	answer("multicast", CHANNEL);
	clear();
	answer("multicast", PROBE);
	for (int i = 0; i < 100; i++)
		answer("multicast", HEARD);
	many_run(&many, NOPAL_SECOND);
	others_are_well();
}

/* ----------------------------------------------------- a sender that is hostile */

TEST(test_points_and_tops_and_probes)
{
	static const uint64_t numbers[] = {
		0, 1, 5, 1000, 262144, 262145, UINT32_MAX, INT64_MAX, UINT64_MAX - 1, UINT64_MAX
	};
	enum { COUNT = sizeof(numbers) / sizeof(numbers[0]) };

	begin();
	for (int a = 0; a < COUNT; a++)
		for (int b = 0; b < COUNT; b++) {
			clear();
			add(numbers[a], 8);
			say(many.group, "channel_repair", TOP, true);
			add(numbers[b], 8);
			say(many.group, "channel_repair", POINT, false);
			say(many.group, "channel_repair", TOP, true);
			say(many.group, "channel_repair", TOP, false);
			add_varint(numbers[b]);
			add_varint(numbers[a]);
			say(many.group, "channel_repair", TOP, true);
			say(many.group, "multicast", CHANNEL, false);
			say(many.group, "multicast", PROBE, true);
			many_run(&many, 20 * NOPAL_MILLISECOND);
		}
	for (uint32_t cut = 0; cut < 24; cut++) {
		clear();
		body.length = cut;
		say(many.group, "channel_repair", TOP, true);
		say(many.group, "channel_repair", POINT, false);
		say(many.group, "multicast", CHANNEL, false);
		many_run(&many, 20 * NOPAL_MILLISECOND);
	}
	many_run(&many, 10 * NOPAL_SECOND);
	many_close(&many);
}

/* A destination that its session asks for the channel has not heard it. */
TEST(test_probes_beside_the_channel)
{
	many_open(&many, MANY_CHANNEL("", "", "fan_out {}"), 3, "delay 2ms", 1);
	many_deafen(&many, HOSTILE, true);
	many_run(&many, 60 * NOPAL_SECOND);
	clear();
	say(many.group, "multicast", PROBE, false);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 2);
	others_are_well();
}

/* The point of one that has none yet is anywhere: it hears nothing, and lives. */
TEST(test_first_points)
{
	static const uint64_t numbers[] = { 0, 1, INT64_MAX, UINT64_MAX - 1, UINT64_MAX };
	enum { COUNT = sizeof(numbers) / sizeof(numbers[0]) };

	for (int a = 0; a < COUNT; a++)
		for (int b = 0; b < COUNT; b++) {
			many_prepare(&many, MANY_CHANNEL("", "", "fan_out {}"), 1, "delay 2ms", 1);
			assert_true(many_add(&many, 0) > 0);
			/* before the group knows that it has opened */
			while (!many.end[0].session)
				nopal_sim_step(many.world);
			clear();
			add(numbers[a], 8);
			add(numbers[b], 8);
			say(many.group, "channel_repair", POINT, false);
			many_run(&many, NOPAL_SECOND);
			for (int i = 0; many.group && i < 5; i++)
				many_send_bytes(&many, 100, 0);
			many_run(&many, 10 * NOPAL_SECOND);
			many_close(&many);
		}
}

/* -------------------------------------------------------------------- at random */

static uint64_t random_state = 1;

static uint32_t draw(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state % below);
}

static void random_body(void)
{
	body.length = draw(48);
	for (uint32_t i = 0; i < body.length; i++)
		body.bytes[i] = (uint8_t)(draw(3) ? 0 : draw(256));
}

TEST(test_anything_from_a_destination)
{
	begin();
	for (int i = 0; i < 3000; i++) {
		random_body();
		if (draw(4))
			answer("channel_repair", draw(4));
		else
			answer("multicast", draw(3));
		if (i % 16 == 0)
			send_and_let_miss(i % 160 ? 0 : 3);
	}
	many_run(&many, 10 * NOPAL_SECOND);
	others_are_well();
}

TEST(test_anything_from_the_group)
{
	begin();
	for (int i = 0; i < 3000 && many.group; i++) {
		random_body();
		if (draw(4))
			say(many.group, "channel_repair", draw(4), draw(2));
		else
			say(many.group, "multicast", draw(3), draw(2));
		if (i % 16 == 0)
			many_run(&many, 5 * NOPAL_MILLISECOND);
		if (i % 64 == 0)
			many_send_bytes(&many, 100, 0);
	}
	many_run(&many, 10 * NOPAL_SECOND);
	many_close(&many);
}
