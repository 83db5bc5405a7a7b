/* SPDX-License-Identifier: MIT */
#include "support/arrivals.h"
#include "support/test.h"

#define MS NOPAL_MILLISECOND

/* A timer fires in the tick of its time, or at the end of it. */
enum { TICK_NS = 1024, MEDIA_HZ = 90000, MESSAGES = 5 };

#define BASE "transport_driver {}\nfixed_size {}\n"
static const char MEDIA[] = BASE "timestamp_jitter { clock = 90000 delay = 60ms }\n";

static struct rig rig;
static struct nopal_at at;
static int64_t zero_ns; /* when the timestamp `zero` is due */
static uint64_t zero;

static void come(uint64_t timestamp)
{
	arrive_with(at, &timestamp, 1);
}

static void begin(const char *config, uint64_t timestamp)
{
	rig_open(&rig, config, NULL);
	at = rig_at(rig.opener.session, "timestamp_jitter");
	rig_pass(&rig, 7 * MS);
	zero = timestamp;
	zero_ns = nopal_world_now(rig.world) + 60 * MS;
	come(timestamp);
}

/* The text is the timestamp: due so much after the first as the clock says, to a tick of the
 * timers, which is shorter than one of the clock. */
static void assert_on_time(uint32_t place, uint64_t timestamp)
{
	int64_t due_ns = zero_ns + (int64_t)(timestamp - zero) * NOPAL_SECOND / MEDIA_HZ;

	assert_delivered(&rig.opener, place, timestamp);
	assert_in_range(rig.opener.delivered_ns[place] - due_ns, 0, TICK_NS + 1);
}

static int64_t counted(const char *name)
{
	return rig_shared(rig.opener.session, name);
}

/* All orders of irregular timestamps; two of them are one and the same. */
TEST(test_all_orders_in_time)
{
	static const uint64_t ticks[MESSAGES] = { 0, 1, 1, 700, 4321 };
	unsigned order[MESSAGES] = { 0, 1, 2, 3, 4 };

	do {
		begin(MEDIA, 5000);
		for (unsigned i = 0; i < MESSAGES; i++) {
			rig_pass(&rig, 3 * MS);
			come(5000 + ticks[order[i]]);
		}
		rig_pass(&rig, NOPAL_SECOND);
		assert_int_equal(rig.opener.delivered, 1 + MESSAGES);
		for (unsigned i = 0; i < MESSAGES; i++)
			assert_on_time(1 + i, 5000 + ticks[i]);
		rig_close(&rig);
	} while (next_order(order, MESSAGES));
}

TEST(test_late_ones)
{
	begin(MEDIA, 90000);
	rig_pass(&rig, 61 * MS);
	come(90000 - 1);
	come(90000 + 9000);
	assert_int_equal(counted("jitter_dropped"), 1);
	rig_pass(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.delivered, 2);
	assert_on_time(1, 99000);
	rig_close(&rig);
	begin(BASE "timestamp_jitter { clock = 90000 late = deliver }\n", 90000);
	rig_pass(&rig, 61 * MS);
	come(90000 - 1);
	assert_int_equal(rig.opener.delivered, 2);
	assert_int_equal(counted("jitter_dropped"), 0);
	assert_int_equal(counted("jitter_late"), 1);
	come(90000 + 9000);
	rig_pass(&rig, NOPAL_SECOND);
	assert_on_time(2, 99000);
	rig_close(&rig);
}

/* The 32 bits wrap around, and the schedule does not wander in a day. */
TEST(test_a_day_of_ticks)
{
	const uint64_t step = 7 * MEDIA_HZ + 1234;
	uint64_t timestamp = UINT32_MAX - 100000;

	begin(MEDIA, timestamp);
	for (int i = 0; i < 10000; i++) {
		int64_t due_ns;

		timestamp += step;
		due_ns = zero_ns + (int64_t)nopal_scale(timestamp - zero, NOPAL_SECOND, MEDIA_HZ);
		rig_pass(&rig, due_ns - 30 * MS - nopal_world_now(rig.world));
		rig.opener.delivered = 0;
		come(timestamp & UINT32_MAX);
		rig_pass(&rig, 40 * MS);
		assert_int_equal(rig.opener.delivered, 1);
		assert_in_range(rig.opener.delivered_ns[0] - due_ns + 1, 0, TICK_NS + 2);
	}
	rig_close(&rig);
}

TEST(test_the_buffer_is_bounded)
{
	begin(BASE "timestamp_jitter { clock = 90000 waiting = 3 }\n", 1000);
	for (uint64_t i = 1; i < 6; i++)
		come(1000 + i);
	assert_int_equal(rig_awake(rig.opener.session)->messages.alive, 3);
	assert_int_equal(counted("jitter_dropped"), 3);
	rig_pass(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.delivered, 3);
	rig_close(&rig);
}

/* A clock that jumps ahead, or back: nothing waits for ever, and after so many a new schedule
 * begins. */
TEST(test_jumps)
{
	for (int back = 0; back < 2; back++) {
		uint64_t far = back ? UINT32_MAX / 2 + 5 : 100 * MEDIA_HZ;

		begin(BASE "timestamp_jitter { clock = 90000 restart = 3 }\n", 1000);
		come(far);
		come(far + 900);
		assert_int_equal(counted("jitter_dropped"), 2);
		zero_ns = nopal_world_now(rig.world) + 60 * MS;
		zero = far + 1800;
		come(far + 1800);
		come(far + 2700);
		rig_pass(&rig, NOPAL_SECOND);
		assert_int_equal(counted("jitter_dropped"), 2);
		assert_int_equal(rig.opener.delivered, 3);
		rig_close(&rig);
	}
}

/* Without numbers, too: its messages would overtake those that wait. */
TEST(test_a_new_schedule_begins_behind_what_waits)
{
	begin(BASE "timestamp_jitter { clock = 90000 restart = 1 }\n", 90000);
	come(90000 + 4 * 90000);
	come(90000 + 100 * 90000);
	come(90000 + 101 * 90000);
	rig_pass(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(rig.opener.delivered, 4);
	assert_delivered(&rig.opener, 1, 90000 + 4 * 90000);
	assert_delivered(&rig.opener, 2, 90000 + 100 * 90000);
	assert_delivered(&rig.opener, 3, 90000 + 101 * 90000);
	rig_close(&rig);
}

TEST(test_what_waits_goes_when_the_peer_closed)
{
	begin(MEDIA, 1000);
	come(3000);
	come(2000);
	nopal_raise_PEER_CLOSED(rig.opener.session, rig.opener.session);
	assert_int_equal(rig.opener.delivered, 3);
	assert_delivered(&rig.opener, 1, 2000);
	rig_close(&rig);
}

static void come_as(uint64_t number, uint64_t timestamp)
{
	const uint64_t values[] = { timestamp, 0, number };

	arrive_with(at, values, 3);
}

/* Messages that were sent before and wait go first: the order may have let both go. */
TEST(test_timestamps_that_go_back_keep_the_order)
{
	static const uint64_t order[] = { 90000, 99000, 91800, 80000, 70000 };

	rig_open(&rig,
		 BASE "sequenced_messages {}\n"
		      "timestamp_jitter { clock = 90000 late = deliver }\n",
		 NULL);
	at = rig_at(rig.opener.session, "timestamp_jitter");
	come_as(10, 90000);
	come_as(12, 99000);
	come_as(13, 91800);
	come_as(14, 80000); /* late, and behind what waits */
	assert_int_equal(rig.opener.delivered, 0);
	rig_pass(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.delivered, 4);
	come_as(11, 70000); /* its successors went: at once */
	assert_int_equal(rig.opener.delivered, 5);
	for (uint32_t i = 0; i < 5; i++)
		assert_delivered(&rig.opener, i, order[i]);
	rig_close(&rig);
}

/* ----------------------------------------------------------- across a network */

enum { MANY = 400 };

static uint64_t draw(uint64_t *random)
{
	*random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *random >> 40;
}

/* Sends at irregular times, with timestamps of the application's own or without; each delivery is
 * as far from the first as the timestamps are. */
static void cross(const char *config, const char *link, unsigned hz, uint32_t min)
{
	static int64_t mark_ns[MANY];
	uint64_t random = 7, ticks = 1000;
	long first = -1;

	rig_open(&rig, config, &(struct rig_options){ .link = link });
	for (int i = 0; i < MANY; i++) {
		struct nopal_property property = { nopal_property(rig.plan, "timestamp"), ticks };
		char text[RIG_TEXT];
		int length = snprintf(text, sizeof(text), "%d", i);
		int64_t gap_ns = (int64_t)(draw(&random) % 40) * MS;

		assert_true(property.which);
		mark_ns[i] = hz ? (int64_t)(ticks * NOPAL_SECOND / hz) : nopal_world_now(rig.world);
		assert_int_equal(nopal_send_message(
					 rig.opener.session,
					 &(struct nopal_outgoing){ .bytes = text,
								   .length = (size_t)length,
								   .properties = &property,
								   .property_count = hz ? 1 : 0 }),
				 0);
		rig_run(&rig, gap_ns);
		ticks += draw(&random) % (hz / 25 + 1);
	}
	rig_run(&rig, 2 * NOPAL_SECOND);

	assert_true(rig.acceptor.delivered >= min);
	for (uint32_t i = 0; i < rig.acceptor.delivered; i++) {
		long number = strtol(rig.acceptor.text[i], NULL, 10);
		int64_t tick_ns = NOPAL_SECOND / (hz ? hz : 1000000) + TICK_NS;

		if (!i)
			first = number;
		assert_in_range(rig.acceptor.delivered_ns[i] - rig.acceptor.delivered_ns[0] -
					(mark_ns[number] - mark_ns[first]) + tick_ns,
				0, 2 * tick_ns);
	}
	rig_close(&rig);
}

TEST(test_the_senders_intervals)
{
	cross(BASE "timestamp_jitter { delay = 90ms }\n", "delay 50ms 40ms loss 5%", 0,
	      MANY * 9 / 10);
	cross(BASE "timestamp_jitter { delay = 20ms restart = 65536 }\n",
	      "delay 50ms 40ms loss 5% duplicate 5%", 0, MANY / 4);
	cross(BASE "sequenced_messages {}\nsequenced_segments {}\n"
		   "lossy_fifo { delay = 80ms }\n"
		   "forward_error_correction { n = 4 k = 3 flush = 80ms }\n"
		   "timestamp_jitter { delay = 200ms }\ncheck_fifo {}\n",
	      "delay 50ms 20ms loss 4%", 0, MANY * 97 / 100);
}

/* A resent message comes after the time of those behind it: it is delivered late, and they are
 * after it. */
TEST(test_late_and_in_order)
{
	rig_open(&rig,
		 BASE "sequenced_messages {}\nsequenced_segments {}\n"
		      "retransmit {}\npositive_ack { selective = on } retransmission_timer {}\n"
		      "duplicate_ack {}\nrtt_estimation {}\nreliable_fifo {}\n"
		      "timestamp_jitter { delay = 20ms late = deliver }\n"
		      "check_fifo {}\n",
		 &(struct rig_options){ .link = "delay 20ms loss 10%" });
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(rig_send(&rig, "x"), 0);
		rig_run(&rig, 10 * MS);
	}
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, MANY);
	assert_true(rig_shared(rig.acceptor.session, "jitter_late") > 0);
	rig_close(&rig);
}

/* Pictures of a film that is sent faster or slower than it runs. */
TEST(test_the_mediums_own_clock)
{
	cross(BASE "timestamp_jitter { clock = 90000 delay = 2s }\n", "delay 50ms 40ms loss 5%",
	      MEDIA_HZ, MANY / 2);
	cross(BASE "timestamp_jitter { clock = 8000 delay = 2s }\n", "delay 50ms 40ms", 8000,
	      MANY / 2);
}

TEST(test_refuses_company)
{
	char text[2048];

	assert_true(rig_refused("transport_driver {}\ncoalesce {}\n"
				"sequenced_messages {}\ntimestamp_jitter {}\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "first message"));
	assert_true(rig_refused("transport_driver {}\nfixed_size {}\n"
				"sequenced_messages {}\ntimestamp_jitter {}\n"
				"fixed_rate_jitter {}\n",
				text, sizeof(text)));
}
