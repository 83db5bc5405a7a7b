/* SPDX-License-Identifier: MIT */
/* test_source_quench -- what is held asks for less, once a round trip, and each quench is one mark
 * at the sender. */
#include "support/keeper.h"
#include "support/test.h"

enum { QUENCH };
enum { MESSAGE = 1000, MARK = 16 << 10 };

#define BASE                                                                                       \
	"transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"                              \
	"positive_ack {} retransmission_timer {}\nwindowed_cc {}\ntcp_congestion {}\n"             \
	"virtual_circuit {}\nkeeper {}\na_tap {}\n"                                                \
	"source_quench { mark = 16KiB  interval = 200ms }\n"
static const char TIMED[] = BASE;
static const char MEASURED[] = BASE "rtt_estimation {}\n";

static uint32_t marks(struct rig *rig)
{
	return rig_count(&rig->opener, NOPAL_CONGESTION_MARKED);
}

/* A message a millisecond. */
static void flow(struct rig *rig, int count)
{
	for (int i = 0; i < count; i++) {
		rig_send_bytes(rig, MESSAGE);
		rig_run(rig, NOPAL_MILLISECOND);
	}
	rig_run(rig, 100 * NOPAL_MILLISECOND);
}

TEST(test_a_reader_that_reads_is_no_reason)
{
	struct rig rig;

	keeper_open(&rig, MEASURED, NULL);
	keeper.reads = true;
	flow(&rig, 1000);
	assert_int_equal(marks(&rig), 0);
	rig_close(&rig);
}

TEST(test_above_the_mark_and_not_below)
{
	struct rig rig;

	keeper_open(&rig, TIMED, NULL);
	flow(&rig, MARK / MESSAGE);
	assert_int_equal(marks(&rig), 0);
	flow(&rig, 1);
	assert_int_equal(marks(&rig), 1);
	assert_int_equal(rig_count(&rig.acceptor, NOPAL_CONGESTION_MARKED), 0);
	/* no data come, nothing is asked, whatever else happens */
	for (int i = 0; i < 10; i++) {
		nopal_send(rig.acceptor.session, "y", 1, 0);
		rig_run(&rig, NOPAL_SECOND);
	}
	assert_int_equal(marks(&rig), 1);
	keeper_read(&rig, 2);
	flow(&rig, 1);
	assert_int_equal(marks(&rig), 1);
	flow(&rig, 1);
	assert_int_equal(marks(&rig), 2);
	rig_close(&rig);
}

TEST(test_the_policy_heeds_it)
{
	struct rig rig;
	int64_t window;

	keeper_open(&rig, TIMED, NULL);
	flow(&rig, MARK / MESSAGE);
	window = rig_shared(rig.opener.session, "congestion_window_bytes");
	flow(&rig, 1);
	assert_int_equal(marks(&rig), 1);
	assert_true(rig_shared(rig.opener.session, "congestion_window_bytes") < window);
	rig_close(&rig);
}

TEST(test_one_a_round_trip)
{
	struct rig rig;

	keeper_open(&rig, TIMED, NULL);
	flow(&rig, 20 + 1000); /* 200 ms each */
	assert_in_range(marks(&rig), 5, 6);
	rig_close(&rig);
	/* the acceptor's own round trip, of what it sends */
	keeper_open(&rig, MEASURED, NULL);
	for (int i = 0; i < 8; i++)
		nopal_send(rig.acceptor.session, "y", 1, 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig_shared(rig.acceptor.session, "smoothed_rtt_ns"),
			 20 * NOPAL_MILLISECOND);
	flow(&rig, 20 + 1000);
	assert_in_range(marks(&rig), 40, 56);
	rig_close(&rig);
}

static void hear(struct rig *rig, uint32_t number, size_t length)
{
	const uint8_t bytes[8] = { (uint8_t)(number >> 24), (uint8_t)(number >> 16),
				   (uint8_t)(number >> 8), (uint8_t)number };

	arrive_control(rig->opener.session, "source_quench", QUENCH, bytes, length);
}

TEST(test_one_that_comes_again_is_no_other)
{
	struct rig rig;

	keeper_open(&rig, TIMED, NULL);
	for (size_t length = 0; length <= 8; length++)
		if (length != 4)
			hear(&rig, 1, length);
	assert_int_equal(marks(&rig), 0);
	hear(&rig, 2, 4);
	hear(&rig, 2, 4);
	hear(&rig, 1, 4);
	assert_int_equal(marks(&rig), 1);
	hear(&rig, 3, 4);
	assert_int_equal(marks(&rig), 2);
	rig_close(&rig);
}

TEST(test_somebody_must_heed_it)
{
	char text[1024];

	assert_true(rig_refused("transport_driver {}\nfixed_size {}\n"
				"source_quench {}\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "congestion_policy"));
}
