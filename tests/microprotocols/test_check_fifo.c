/* SPDX-License-Identifier: MIT */
#include "support/arrivals.h"
#include "support/test.h"

static const char UNORDERED[] = "transport_driver {}\nfixed_size {}\n"
				"sequenced_messages {}\ncheck_fifo {}\n";

static struct rig rig;
static struct nopal_at at;

static void unordered_open(void)
{
	rig_open(&rig, UNORDERED, NULL);
	at = rig_at(rig.opener.session, "check_fifo");
}

static void assert_fired(const struct rig_side *side, const char *what)
{
	assert_int_equal(side->ended, 1);
	assert_int_equal(side->end, NOPAL_RUNTIME_LIMIT);
	assert_non_null(strstr(side->end_text, "check_fifo"));
	assert_non_null(strstr(side->end_text, what));
}

TEST(test_increasing_numbers_pass)
{
	unordered_open();
	arrive_at(at, 1, 2);
	arrive_at(at, 2, 7);
	arrive_at(at, 7, 8);
	arrive_at(at, 100, 101); /* gaps are no disorder */
	assert_int_equal(rig.opener.ended, 0);
	rig_close(&rig);
}

TEST(test_disorder_is_seen)
{
	unordered_open();
	arrive(at, 2);
	arrive(at, 1);
	assert_fired(&rig.opener, "out of order");
	rig_close(&rig);
}

TEST(test_a_duplicate_is_seen)
{
	unordered_open();
	arrive(at, 2);
	arrive(at, 2);
	assert_fired(&rig.opener, "twice");
	rig_close(&rig);
}

TEST(test_an_overlap_is_seen)
{
	unordered_open();
	arrive_at(at, 2, 5);
	arrive_at(at, 4, 6);
	assert_fired(&rig.opener, "out of order");
	rig_close(&rig);
}

TEST(test_a_message_without_a_number_is_seen)
{
	unordered_open();
	arrive_at(at, 0, 0);
	assert_fired(&rig.opener, "without a number");
	rig_close(&rig);
}

/* Nobody orders, and the link does not either. */
TEST(test_a_link_that_reorders)
{
	const struct rig_options options = { .link = "delay 20ms 10ms", .seed = 5 };

	rig_open(&rig, UNORDERED, &options);
	for (int i = 0; i < 50 && rig.opener.session; i++) {
		rig_send(&rig, "x");
		rig_run(&rig, NOPAL_MILLISECOND);
	}
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.end, NOPAL_RUNTIME_LIMIT);
	assert_int_equal(rig.opener.end, NOPAL_RUNTIME_LIMIT);
	rig_close(&rig);
}

/* The orders keep what they promise. */
TEST(test_orders_pass)
{
	static const char *const configs[] = {
		"transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
		"check_fifo {}\nreliable_fifo {}\n",
		"transport_driver {}\nfixed_size {}\nsequenced_messages {}\n"
		"check_fifo {}\nlossy_fifo { delay = 5ms }\n",
	};
	const struct rig_options options = {
		.link = "delay 20ms 10ms duplicate 10%",
		.seed = 5,
	};

	for (size_t c = 0; c < sizeof(configs) / sizeof(configs[0]); c++) {
		rig_open(&rig, configs[c], &options);
		for (int i = 0; i < 200; i++) {
			rig_send(&rig, "x");
			rig_run(&rig, NOPAL_MILLISECOND);
		}
		rig_run(&rig, NOPAL_SECOND);
		assert_int_equal(rig.acceptor.ended, 0);
		assert_true(rig.acceptor.delivered > 50);
		rig_close(&rig);
	}
}
