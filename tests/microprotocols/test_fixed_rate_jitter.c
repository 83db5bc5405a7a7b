/* SPDX-License-Identifier: MIT */
#include "support/arrivals.h"
#include "support/test.h"

#define MS NOPAL_MILLISECOND

/* A timer fires in the tick of its time, or at the end of it. */
enum { TICK_NS = 1024, MESSAGES = 5 };

#define BASE                                                                                       \
	"transport_driver {}\nfixed_size {}\nsequenced_messages {}\n"                              \
	"check_fifo {}\n"
static const char JITTER[] = BASE "fixed_rate_jitter { interval = 20ms delay = 60ms }\n";

static struct rig rig;
static struct nopal_at at;
static int64_t zero_ns; /* when the message with the number 100 is due */

static void jitter_open(const char *config)
{
	rig_open(&rig, config, NULL);
	at = rig_at(rig.opener.session, "check_fifo");
}

static void come(uint64_t number)
{
	arrive(at, number);
}

/* The schedule begins: 100 comes now, and is due 60 ms later. */
static void begin(const char *config)
{
	jitter_open(config);
	rig_pass(&rig, 7 * MS);
	zero_ns = nopal_world_now(rig.world) + 60 * MS;
	come(100);
}

static int64_t due_ns(uint64_t number)
{
	return zero_ns + ((int64_t)number - 100) * 20 * MS;
}

static void assert_on_time(uint32_t place, uint64_t number)
{
	assert_delivered(&rig.opener, place, number);
	assert_in_range(rig.opener.delivered_ns[place] - due_ns(number), 0, TICK_NS);
}

static int64_t dropped(void)
{
	return rig_shared(rig.opener.session, "jitter_dropped");
}

/* All orders of five messages, all in time: each in its place. */
TEST(test_all_orders_in_time)
{
	unsigned order[MESSAGES] = { 0, 1, 2, 3, 4 };

	do {
		begin(JITTER);
		for (unsigned i = 0; i < MESSAGES; i++) {
			rig_pass(&rig, 3 * MS);
			come(101 + order[i]);
		}
		rig_pass(&rig, NOPAL_SECOND);
		assert_int_equal(rig.opener.delivered, 1 + MESSAGES);
		for (unsigned i = 0; i <= MESSAGES; i++)
			assert_on_time(i, 100 + i);
		assert_int_equal(dropped(), 0);
		rig_close(&rig);
	} while (next_order(order, MESSAGES));
}

/* All losses: the places of what is missing stay empty. */
TEST(test_all_losses)
{
	for (unsigned mask = 0; mask < 1u << MESSAGES; mask++) {
		uint32_t count = 1;

		begin(JITTER);
		for (unsigned i = 0; i < MESSAGES; i++)
			if (mask >> i & 1)
				come(101 + i);
		rig_pass(&rig, NOPAL_SECOND);
		for (unsigned i = 0; i < MESSAGES; i++)
			if (mask >> i & 1)
				assert_on_time(count++, 101 + i);
		assert_int_equal(rig.opener.delivered, count);
		rig_close(&rig);
	}
}

/* A message that comes before the first number has a place too, if it is in time. */
TEST(test_the_first_may_be_overtaken)
{
	begin(JITTER);
	come(98);
	come(97); /* due at this very moment */
	come(96); /* too late */
	assert_int_equal(dropped(), 1);
	rig_pass(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.delivered, 3);
	assert_on_time(1, 98);
	assert_on_time(2, 100);
	rig_close(&rig);
}

TEST(test_late_ones_are_dropped_and_counted)
{
	begin(JITTER);
	come(102);
	rig_pass(&rig, 81 * MS); /* the place of 101 is past by 1 ms */
	come(101);
	come(103);
	rig_pass(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.delivered, 3);
	assert_on_time(0, 100);
	assert_on_time(1, 102);
	assert_on_time(2, 103);
	assert_int_equal(dropped(), 1);
	assert_int_equal(rig_awake(rig.opener.session)->messages.alive, 0);
	rig_close(&rig);
}

TEST(test_duplicates_have_no_place)
{
	begin(JITTER);
	come(101);
	come(100);
	come(101);
	assert_int_equal(dropped(), 0);
	rig_pass(&rig, NOPAL_SECOND);
	come(101);
	assert_int_equal(rig.opener.delivered, 2);
	assert_int_equal(dropped(), 1);
	rig_close(&rig);
}

TEST(test_the_buffer_is_bounded)
{
	begin(BASE "fixed_rate_jitter { waiting = 3 }\n");
	for (uint64_t number = 101; number < 106; number++)
		come(number);
	assert_int_equal(rig_awake(rig.opener.session)->messages.alive, 3);
	assert_int_equal(dropped(), 3);
	rig_pass(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.delivered, 3);
	assert_on_time(2, 102);
	rig_close(&rig);
}

/* Texts are of three bytes. */
TEST(test_the_bytes_are_bounded)
{
	begin(BASE "fixed_rate_jitter { interval = 1ms buffer = 1KiB }\n");
	for (uint64_t number = 101; number < 500; number++)
		come(number);
	assert_int_equal(rig_awake(rig.opener.session)->messages.alive, 1024 / 3);
	assert_true(dropped() > 0);
	rig_pass(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(rig.opener.delivered, 1024 / 3);
	rig_close(&rig);
}

/* A sender that paused, and one that jumped: after so many strays, a new schedule. */
TEST(test_strays_begin_a_new_schedule)
{
	begin(BASE "fixed_rate_jitter { restart = 3 }\n");
	rig_pass(&rig, 2 * NOPAL_SECOND);
	for (uint64_t number = 101; number < 107; number++) {
		if (number == 103)
			zero_ns = nopal_world_now(rig.world) + 60 * MS - 3 * 20 * MS;
		come(number);
		rig_pass(&rig, 20 * MS);
	}
	rig_pass(&rig, NOPAL_SECOND);
	assert_int_equal(dropped(), 2);
	assert_int_equal(rig.opener.delivered, 5);
	for (uint32_t i = 1; i < 5; i++)
		assert_on_time(i, 102 + i);
	come(UINT64_C(1) << 40);
	come(200000);
	come(1); /* as old as it looks */
	assert_int_equal(dropped(), 5);
	come(200000);
	assert_int_equal(dropped(), 5);
	rig_close(&rig);
}

/* A message older than one that came is no sign of a pause. */
TEST(test_what_was_overtaken_begins_nothing)
{
	begin(BASE "fixed_rate_jitter { restart = 3 }\n");
	for (uint64_t number = 90; number < 97; number++)
		come(number);
	assert_int_equal(dropped(), 7);
	come(101);
	rig_pass(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.delivered, 2);
	assert_on_time(0, 100);
	assert_on_time(1, 101);
	rig_close(&rig);
}

/* The old schedule reaches so far that the sender's next messages have no place:
 * the new one begins behind it, and what belongs between the two goes there. */
TEST(test_a_new_schedule_is_behind_the_old_one)
{
	static const uint64_t order[] = { 100, 340, 603, 650, 651 };

	begin(BASE "fixed_rate_jitter { restart = 3 }\n");
	come(340); /* due in 4860 ms */
	for (uint64_t number = 601; number < 604; number++)
		come(number);
	come(650); /* too far away */
	assert_int_equal(dropped(), 3);
	rig_pass(&rig, NOPAL_SECOND);
	come(330); /* by the new schedule due long ago */
	come(650);
	come(651);
	assert_int_equal(dropped(), 4);
	rig_pass(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(rig.opener.delivered, 5);
	for (uint32_t i = 0; i < 5; i++)
		assert_delivered(&rig.opener, i, order[i]);
	assert_on_time(1, 340);
	rig_close(&rig);
}

/* Any length of session: the schedule does not wander. */
TEST(test_a_day_later)
{
	enum { DAY = 24 * 60 * 60 * 50, STEP = 10000 };

	begin(JITTER);
	rig_pass(&rig, NOPAL_SECOND);
	for (uint64_t number = 100 + 50; number < DAY; number += STEP) {
		rig.opener.delivered = 0;
		come(number);
		rig_pass(&rig, (int64_t)STEP * 20 * MS);
		assert_int_equal(rig.opener.delivered, 1);
		assert_on_time(0, number);
	}
	rig_close(&rig);
}

TEST(test_what_waits_goes_when_the_peer_closed)
{
	begin(JITTER);
	come(102);
	come(101);
	nopal_raise_PEER_CLOSED(rig.opener.session, rig.opener.session);
	assert_int_equal(rig.opener.delivered, 3);
	assert_delivered(&rig.opener, 1, 101);
	rig_close(&rig);
}

/* ----------------------------------------------------------- across a network */

enum { MANY = 400 };

/* Sends one message in 20 ms; on the other side each is an exact number of intervals behind the
 * first, and most arrive. */
static void cross(const char *config, const char *link, uint32_t min)
{
	long first = -1;

	rig_open(&rig, config, &(struct rig_options){ .link = link });
	for (int i = 0; i < MANY; i++) {
		char text[RIG_TEXT];

		snprintf(text, sizeof(text), "%d", i);
		assert_int_equal(rig_send(&rig, text), 0);
		rig_run(&rig, 20 * MS);
	}
	rig_run(&rig, NOPAL_SECOND);
	assert_true(rig.acceptor.delivered >= min);
	for (uint32_t i = 0; i < rig.acceptor.delivered; i++) {
		long number = strtol(rig.acceptor.text[i], NULL, 10);

		if (!i)
			first = number;
		assert_in_range(rig.acceptor.delivered_ns[i] - rig.acceptor.delivered_ns[0] -
					(number - first) * 20 * MS + TICK_NS,
				0, 2 * TICK_NS);
	}
	rig_close(&rig);
}

TEST(test_across_a_network)
{
	cross(JITTER, "delay 50ms 40ms loss 5% duplicate 3%", MANY * 8 / 10);
	cross(JITTER, "delay 30ms 100ms distribution normal", MANY / 4);
}

TEST(test_with_order_and_parity)
{
	cross(BASE "sequenced_segments {}\nlossy_fifo { delay = 40ms }\n"
		   "fixed_rate_jitter { interval = 20ms delay = 120ms }\n",
	      "delay 30ms 15ms loss 5%", MANY * 9 / 10);
	cross(BASE "sequenced_segments {}\nlossy_fifo { delay = 110ms }\n"
		   "forward_error_correction { n = 4 k = 3 flush = 100ms }\n"
		   "fixed_rate_jitter { interval = 20ms delay = 150ms }\n",
	      "delay 30ms 15ms loss 3%", MANY * 97 / 100);
	cross(BASE
	      "sequenced_segments {}\npositive_ack { selective = on } retransmission_timer {}\n"
	      "duplicate_ack {}\nretransmit {}\nreliable_fifo {}\n"
	      "fixed_rate_jitter { interval = 20ms delay = 400ms }\n",
	      "delay 30ms loss 5%", MANY * 95 / 100);
}

TEST(test_needs_message_numbers)
{
	char text[2048];

	assert_true(rig_refused("transport_driver {}\nfixed_size {}\n"
				"sequenced_segments {}\nfixed_rate_jitter {}\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "places in time"));
}
