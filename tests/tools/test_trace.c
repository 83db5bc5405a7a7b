/* SPDX-License-Identifier: MIT */
/*
 * test_trace -- nopal trace: text, ladder and JSON of a trace that is put together here, and of one
 * that a simulation wrote.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/endpoint_sessions.h"
#include "support/own_file.h"
#include "support/told.h"
#include "support/test.h"

ALL_TESTS(tests, set_up, tear_down);

enum {
	OPENER = 0x1111,
	LISTENER = 0x2222,
	LONE = 0x3333,
	COLUMNS = 100,
	FLIPS = 300,
	ROOM = 1 << 14
};

extern const struct tool tool_trace, tool_why;

static struct told told;
static struct nopal_world world;

static void put(int64_t time_ms, uint32_t session, enum nopal_trace_what what, uint16_t number,
		uint64_t a, uint64_t b)
{
	nopal__trace(world.tracer, time_ms * NOPAL_MILLISECOND, session, what, NOPAL_TRACE_RUNTIME,
		     number, a, b);
}

/* Data 1 arrives; data 2 is lost, said to be lost, and sent again; data 3 arrives twice; an
 * acknowledgement without a number goes back. */
static void write_connection(void)
{
	assert_int_equal(nopal_trace_start(&world, path, NOPAL_TRACE_EVENTS), 0);
	put(0, OPENER, NOPAL_TRACED_SESSION, 9, OPENER, nopal__trace_role(true, 0));
	put(0, OPENER, NOPAL_TRACED_RAISE, NOPAL_SESSION_OPENED, 0, 0);
	put(1, OPENER, NOPAL_TRACED_RAISE, NOPAL_MSG_FROM_USER, 7, 0);
	put(1, OPENER, NOPAL_TRACED_HOLD, NOPAL_SEND, 1, 5);
	put(2, OPENER, NOPAL_TRACED_RELEASE, NOPAL_SEND, 1,
	    nopal__trace_left(4, NOPAL_SEGMENT_TO_NET));
	put(2, OPENER, NOPAL_TRACED_TRANSMIT, 0, 1, 101);
	put(3, OPENER, NOPAL_TRACED_TRANSMIT, 0, 2, 102);
	put(4, OPENER, NOPAL_TRACED_TRANSMIT, 0, 3, 103);
	put(12, LISTENER, NOPAL_TRACED_SESSION, 9, LISTENER, nopal__trace_role(false, OPENER));
	put(12, LISTENER, NOPAL_TRACED_ARRIVE, 0, 50, 101);
	put(13, LISTENER, NOPAL_TRACED_DELIVER, 0, 51, 1000);
	put(14, LISTENER, NOPAL_TRACED_ARRIVE, 0, 52, 103);
	put(14, LISTENER, NOPAL_TRACED_ARRIVE, 0, 53, 103);
	put(14, LISTENER, NOPAL_TRACED_TRANSMIT, 4, 54, 0);
	put(24, OPENER, NOPAL_TRACED_ARRIVE, 4, 8, 0);
	put(24, OPENER, NOPAL_TRACED_RAISE, NOPAL_SEGMENT_LOST, 2, 1);
	put(24, OPENER, NOPAL_TRACED_TRANSMIT, 0, 2, 104);
	put(34, LISTENER, NOPAL_TRACED_ARRIVE, 0, 55, 104);
	put(35, LONE, NOPAL_TRACED_SESSION, 9, LONE, nopal__trace_role(true, 0));
	put(36, LONE, NOPAL_TRACED_NOTE, NOPAL_NOTE_STALE, 3, 0);
	assert_int_equal(nopal_trace_stop(&world), 0);
}

static void run(const char *const *options)
{
	tell(&told, &tool_trace, (const char *[]){ path, NULL }, options);
}

static size_t lines_of(const char *text)
{
	size_t lines = 0;

	while ((text = strchr(text, '\n')) != NULL) {
		lines++;
		text++;
	}
	return lines;
}

static void expect(const char *text)
{
	if (!strstr(told.out, text))
		fail_msg("no `%s` in:\n%s", text, told.out);
}

TEST(text_is_a_line_a_record)
{
	write_connection();
	run(NULL);
	assert_int_equal(told.code, TOOL_GOOD);
	assert_int_equal(lines_of(told.out), 20);
	expect("s1   session  ?, role opener, id 00001111\n");
	expect("s2   session  ?, role listener, id 00002222, peer 00001111\n");
	expect("0.001000000 s1   raise    MSG_FROM_USER, message 7, depth 0\n");
	expect("s1   hold     send, segment 1, waits bit 0; bit 2\n");
	expect("s1   release  send, segment 1, by runtime, left bit 2, in SEGMENT_TO_NET\n");
	expect("s1   leave    data, segment 2, packet 104\n");
	expect("s2   deliver  message 51, bytes 1000\n");
	expect("s3   note     stale handle, by runtime, number 3\n");
}

TEST(filters_leave_out)
{
	write_connection();
	run((const char *[]){ "session", "2", NULL });
	assert_int_equal(lines_of(told.out), 7);
	run((const char *[]){ "session", "00002222", NULL });
	assert_int_equal(lines_of(told.out), 7);
	run((const char *[]){ "from", "12ms", "until", "14ms", NULL });
	assert_int_equal(lines_of(told.out), 3);
	run((const char *[]){ "session", "nine", NULL });
	assert_int_equal(told.code, TOOL_BAD_INPUT);
}

TEST(the_ladder_matches_transmissions_and_arrivals)
{
	write_connection();
	run((const char *[]){ "to", "seq", NULL });
	assert_int_equal(told.code, TOOL_GOOD);
	expect("data 1 --------------->    0.002000");
	expect("data 2 --------x           0.003000");
	expect("0.012000 ---------------> data 1\n");
	expect("deliver message 51\n");
	expect("0.014000 ---------------> data 3\n");
	expect("0.014000 ---------------> data 3 (again)\n");
	expect("0.014000 <--------------- kind 4\n");
	expect("kind 4 <---------------    0.024000");
	expect(" lost 2 ");
	expect("data 2 (resend) --------------->    0.024000");
	expect("0.034000 ---------------> data 2\n");
	assert_null(strstr(told.out, "stale"));
}

TEST(the_ladder_fits_its_columns)
{
	write_connection();
	run((const char *[]){ "to", "seq", NULL });
	for (const char *at = told.out; *at; at = strchr(at, '\n') + 1)
		assert_true(strcspn(at, "\n") <= COLUMNS);
	run((const char *[]){ "to", "seq", "until", "4ms", NULL });
	assert_int_equal(lines_of(told.out), 1 + 3); /* with its head */
}

TEST(one_side_is_no_ladder)
{
	write_connection();
	run((const char *[]){ "to", "seq", "session", "3", NULL });
	assert_int_equal(told.code, TOOL_BAD_INPUT);
	assert_non_null(strstr(told.err, "both its sides"));
}

TEST(json_is_an_object_a_line)
{
	write_connection();
	run((const char *[]){ "to", "json", NULL });
	assert_int_equal(told.code, TOOL_GOOD);
	assert_int_equal(lines_of(told.out), 20);
	expect("{\"time_ns\":3000000,\"session\":1,\"what\":\"leave\",\"kind\":\"data\",\"segment\":2,\"packet\":102}\n");
	run((const char *[]){ "to", "xml", NULL });
	assert_int_equal(told.code, TOOL_BAD_INPUT);
}

TEST(damage_is_said_and_the_rest_is_told)
{
	FILE *file;

	write_connection();
	file = fopen(path, "r+b");
	assert_non_null(file);
	fseek(file, -(NOPAL_TRACE_RECORD_BYTES - 12), SEEK_END);
	fputc(200, file); /* no such record */
	fclose(file);
	run(NULL);
	assert_int_equal(told.code, TOOL_FAILED);
	assert_int_equal(lines_of(told.out), 19);
	assert_non_null(strstr(told.err, "damaged after 19 records"));
	unlink(path);
	run(NULL);
	assert_int_equal(told.code, TOOL_BAD_INPUT);
}

static size_t exchange(uint8_t *bytes, size_t length, const char *mode)
{
	FILE *file = fopen(path, mode);

	assert_non_null(file);
	length = *mode == 'r' ? fread(bytes, 1, length, file) : fwrite(bytes, 1, length, file);
	fclose(file);
	return length;
}

static void use_in_every_way(void)
{
	static const char *const forms[] = { "text", "seq", "json" };

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		run((const char *[]){ "to", forms[i], NULL });
		assert_true(told.code <= TOOL_BAD_INPUT);
	}
	tell(&told, &tool_why, (const char *[]){ path, "1", NULL }, NULL);
	assert_true(told.code <= TOOL_BAD_INPUT);
}

TEST(hostile_files_harm_nobody)
{
	static uint8_t bytes[ROOM];
	uint64_t seed = 23;
	size_t length;

	write_connection();
	length = exchange(bytes, ROOM, "rb");
	assert_true(length < ROOM);
	for (int i = 0; i < FLIPS; i++) {
		size_t at;
		uint8_t was;

		seed = seed * UINT64_C(6364136223846793005) + 1;
		/* Names are many bytes, records are where the sense is. */
		at = length - 1 - (size_t)(seed >> 33) % (length >> i % 3);
		was = bytes[at];
		bytes[at] = (uint8_t)(i % 2 ? seed >> 24 : was ^ 1u << i % 8);
		exchange(bytes, length, "wb");
		use_in_every_way();
		bytes[at] = was;
	}
}

/* ---------------------------------------------------------- a simulation */

static struct nopal_plan *plan_of(const char *text)
{
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;

	plan = nopal_plan_parse(text, "test", NULL, &problems);
	nopal_problems_print(&problems, stderr);
	nopal_problems_fini(&problems);
	assert_non_null(plan);
	return plan;
}

static struct nopal_session *simulate(struct nopal_world *sim, struct nopal_plan *plan)
{
	static const struct nopal_callbacks quiet = { 0 };
	struct nopal_link link = { .delay_ns = 10 * NOPAL_MILLISECOND };
	struct nopal_endpoint *there;
	struct nopal_address address;
	struct nopal_session *session;
	int a = nopal_sim_host(sim), b = nopal_sim_host(sim);

	assert_true(nopal_sim_connect(sim, a, b, &link, &link) >= 0);
	there = nopal_sim_endpoint(sim, b, 2000);
	assert_int_equal(
		nopal_endpoint_allow(there, plan, NOPAL_ALLOW_CONNECTIONLESS, &quiet, NULL), 0);
	nopal_sim_address(b, 2000, &address);
	session = nopal_open(nopal_sim_endpoint(sim, a, 1000), plan, &address, &quiet, NULL);
	assert_non_null(session);
	return session;
}

TEST(a_simulation_is_told_with_its_names)
{
	struct nopal_plan *plan = plan_of("transport_driver {}\nfixed_size {}\n");
	struct nopal_world *sim = nopal_sim_new(1);
	struct nopal_session *session;

	assert_int_equal(nopal_trace_start(sim, path, NOPAL_TRACE_EVENTS), 0);
	session = simulate(sim, plan);
	for (int i = 0; i < 3; i++)
		assert_int_equal(nopal_send(session, "hello", 5, 0), 0);
	nopal_sim_run(sim, NOPAL_SECOND);
	nopal_world_free(sim); /* ends the trace too */
	nopal_plan_unref(plan);
	run(NULL);
	assert_int_equal(told.code, TOOL_GOOD);
	expect("waits transport_driver: ");
	expect("send, segment 2, by transport_driver, left nobody");
	run((const char *[]){ "to", "seq", NULL });
	assert_int_equal(told.code, TOOL_GOOD);
	expect("data 2 --------------->    0.000000\n");
	/* No packet numbers travel here: nothing says which one arrived. */
	expect("0.010000 ---------------> data\n");
	assert_null(strstr(told.out, "--x"));
}
