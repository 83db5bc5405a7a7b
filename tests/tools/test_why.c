/* SPDX-License-Identifier: MIT */
/* test_why -- nopal why: who held a segment, how long, and until when. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ports/world.h"
#include "trace/trace.h"
#include "support/own_file.h"
#include "support/told.h"
#include "support/test.h"

ALL_TESTS(tests, set_up, tear_down);

enum { SESSION = 0x1111, OTHER = 0x2222, WINDOW = 2, RESEND = 3 };

extern const struct tool tool_why;

static struct told told;
static struct nopal_world world;

static void put_of(uint32_t session, int64_t time_ms, uint8_t part, enum nopal_trace_what what,
		   uint16_t number, uint64_t a, uint64_t b)
{
	nopal__trace(world.tracer, time_ms * NOPAL_MILLISECOND, session, what, part, number, a, b);
}

static void put(int64_t time_ms, enum nopal_trace_what what, uint16_t number, uint64_t b)
{
	put_of(SESSION, time_ms, NOPAL_TRACE_RUNTIME, what, number, 10, b);
}

static void release(int64_t time_ms, uint8_t part, enum nopal_barrier barrier, uint32_t left,
		    enum nopal_event event)
{
	put_of(SESSION, time_ms, part, NOPAL_TRACED_RELEASE, (uint16_t)barrier, 10,
	       nopal__trace_left(left, event));
}

static void begin(enum nopal_trace_detail detail)
{
	assert_int_equal(nopal_trace_start(&world, path, detail), 0);
	put_of(SESSION, 0, NOPAL_TRACE_RUNTIME, NOPAL_TRACED_SESSION, 9, SESSION,
	       nopal__trace_role(true, 0));
	put_of(OTHER, 0, NOPAL_TRACE_RUNTIME, NOPAL_TRACED_SESSION, 9, OTHER,
	       nopal__trace_role(false, SESSION));
}

/* Segment 10: bit 0 of send is the window's, bit 1 is the one that resends. */
static void write_life(bool with_end)
{
	begin(NOPAL_TRACE_EVENTS);
	put(1, NOPAL_TRACED_HOLD, NOPAL_SEND, 3);
	put(1, NOPAL_TRACED_HOLD, NOPAL_DONE, 2);
	put(1, NOPAL_TRACED_RAISE, NOPAL_SEGMENT_TO_NET, 1);
	release(1, RESEND, NOPAL_SEND, 1, NOPAL_SEGMENT_TO_NET);
	put_of(SESSION, 5, NOPAL_TRACE_RUNTIME, NOPAL_TRACED_RAISE, NOPAL_TURN_END, 0, 0);
	release(5, WINDOW, NOPAL_SEND, 0, NOPAL_NO_EVENT);
	put(5, NOPAL_TRACED_TRANSMIT, 0, 77);
	put(5, NOPAL_TRACED_HOLD, NOPAL_SEND, 3);
	put(30, NOPAL_TRACED_RAISE, NOPAL_SEGMENT_LOST, 1);
	release(30, RESEND, NOPAL_SEND, 1, NOPAL_SEGMENT_LOST);
	release(31, WINDOW, NOPAL_SEND, 0, NOPAL_TURN_END);
	put(31, NOPAL_TRACED_TRANSMIT, 0, 90);
	put_of(OTHER, 32, NOPAL_TRACE_RUNTIME, NOPAL_TRACED_ARRIVE, 0, 4, 90);
	if (with_end) {
		put(61, NOPAL_TRACED_RAISE, NOPAL_SEGMENT_RECEIVED, 1);
		release(61, RESEND, NOPAL_DONE, 0, NOPAL_SEGMENT_RECEIVED);
		put(61, NOPAL_TRACED_FREE, 0, 0);
	}
	assert_int_equal(nopal_trace_stop(&world), 0);
}

static void ask(const char *number, const char *const *options)
{
	tell(&told, &tool_why, (const char *[]){ path, number, NULL }, options);
}

static void expect(const char *text)
{
	if (!strstr(told.out, text))
		fail_msg("no `%s` in:\n%s", text, told.out);
}

TEST(a_life_is_told)
{
	write_life(true);
	ask("10", NULL);
	assert_int_equal(told.code, TOOL_GOOD);
	expect("segment 10 of s1 (00001111, opener)\n");
	expect("0.001000000         0 ns  send waits for bit 0; bit 1\n");
	expect("send released by part 3 after 0 ns, in SEGMENT_TO_NET; left: bit 0\n");
	/* Without its event, the last raise of the session stands for it. */
	expect("0.005000000     4.000 ms  send released by part 2 after 4.000 ms, in TURN_END; "
	       "left: nobody\n");
	expect("data leaves, packet 77\n");
	expect("SEGMENT_LOST\n");
	expect("data leaves again, packet 90\n");
	expect("SEGMENT_RECEIVED\n");
	expect("60.000 ms  freed\n");
}

TEST(holders_are_added_up)
{
	write_life(true);
	ask("10", NULL);
	expect("send           30.000 ms      2  bit 0\n");
	expect("send           25.000 ms      2  bit 1\n");
	expect("done           60.000 ms      1  bit 1\n");
	expect("longest before it left: bit 0; it held send for 26.000 ms, until TURN_END\n");
	expect("longest: bit 1; it held done for 60.000 ms, until SEGMENT_RECEIVED\n");
}

TEST(who_still_holds_at_the_end_is_named)
{
	write_life(false);
	ask("10", NULL);
	assert_int_equal(told.code, TOOL_GOOD);
	expect("done           31.000 ms      1  bit 1 (still holds)\n");
	expect("longest: bit 1; it held done for 31.000 ms, and still holds at "
	       "the end of the trace\n");
}

TEST(an_unknown_number_has_near_ones)
{
	write_life(true);
	ask("7", NULL);
	assert_int_equal(told.code, TOOL_BAD_INPUT);
	assert_non_null(strstr(told.err, "no segment 7"));
	assert_non_null(strstr(told.err, "nearest are 4 and 10"));
	ask("99", NULL);
	assert_non_null(strstr(told.err, "nearest is 10"));
	ask("10", (const char *[]){ "session", "2", NULL });
	assert_int_equal(told.code, TOOL_BAD_INPUT);
	ask("4", (const char *[]){ "session", "2", NULL });
	assert_int_equal(told.code, TOOL_GOOD);
	expect("data arrives, packet 90\n");
	ask("ten", NULL);
	assert_int_equal(told.code, TOOL_BAD_INPUT);
}

TEST(packets_alone_are_said_to_lack_holds)
{
	begin(NOPAL_TRACE_PACKETS);
	put(1, NOPAL_TRACED_TRANSMIT, 0, 3);
	assert_int_equal(nopal_trace_stop(&world), 0);
	ask("10", NULL);
	assert_int_equal(told.code, TOOL_GOOD);
	expect("it has packets alone\n");
}
