/* SPDX-License-Identifier: MIT */
/*
 * The paper's experiment (section 5.1, tables 1 to 3) in virtual time: a file goes to a server in
 * pieces, and comes back.  Windows of 1, 32 and 128 packets, the pieces and waits of the tables;
 * the link is ours, 10 ms there and back.
 *
 * The shape is what must hold: twice the file takes twice the time; a larger window takes less; and
 * every byte is as it was, with losses, too.
 */
#include <stdio.h>

#include "load/echo.h"
#include "support/rig.h"
#include "support/test.h"

enum { KIB = 1024, MIB = 1024 * KIB };

/* The paper's ways, as a config: a packet is a piece with its header. */
static const char config_text[] = "transport_driver {}\n"
				  "resize { mtu = %uB }\n"
				  "sequenced_segments {}\n"
				  "go_back_n { window = %u  timeout = %ums }\n"
				  "one_to_many {}\n"
				  "reliable_fifo {}\n";

struct table {
	unsigned payload, window, wait_ms;
};
static const struct table table_1 = { 1024, 32, 50 };
static const struct table table_2 = { 8096, 128, 10 };
static const struct table table_3 = { 8096, 1, 10 };

/* How long it takes until all is back, in ns of virtual time. */
static int64_t transfer(const struct table *table, uint32_t size, const char *words)
{
	struct side_place place = { .seed = 1 };
	struct echo echo = { .protocol = SIDE_CONFIG,
			     .piece = table->payload,
			     .size = size,
			     .patience_ns = 100 * NOPAL_SECOND };
	struct nopal_problems problems = { 0 };
	char config[512];

	snprintf(config, sizeof(config), config_text, table->payload + 20 + 28, table->window,
		 table->wait_ms);
	echo.plan = rig_plan(config);
	assert_int_equal(nopal_plan_info(echo.plan)->body_bytes, table->payload);
	assert_true(nopal_link_parse(words, &place.forward, &place.reverse, &problems) >= 0);
	nopal_problems_fini(&problems);
	assert_true(echo_run(&echo, &place));
	assert_true(echo.done);
	nopal_plan_unref(echo.plan);
	return echo.took_ns;
}

/* Pieces of 1024 bytes in windows of so many; the echo of 1 MiB. */
static int64_t in_window(unsigned window)
{
	const struct table table = { 1024, window, 50 };

	return transfer(&table, MIB, "rate 100mbit delay 5ms limit 1000");
}

TEST(test_a_larger_window_takes_less)
{
	int64_t one = in_window(1), few = in_window(32), many = in_window(128);

	/* 1024 pieces, each of them a round trip of 10 ms */
	assert_in_range(one / NOPAL_MILLISECOND, 10 * 1024, 11 * 1024);
	assert_true(few * 25 < one);
	assert_true(many * 2 < few);
}

/* Twice the file, twice the time, but for the first round trip. */
static void is_linear(const struct table *table, const char *words)
{
	int64_t before = transfer(table, 4 * MIB, words);

	for (uint32_t size = 8 * MIB; size <= 16 * MIB; size *= 2) {
		int64_t after = transfer(table, size, words);

		assert_in_range(after * 100 / before, 180, 205);
		before = after;
	}
}

/* Packets of 8096 bytes need no fragments here, as they did over the paper's radio; and the link
 * empties a window before its wait is over: acks are behind the data of their own side. */
TEST(test_time_is_linear_in_size)
{
	is_linear(&table_1, "rate 25mbit delay 1ms limit 1000");
	is_linear(&table_2, "rate 2gbit delay 1ms limit 1000 mtu 9000");
	is_linear(&table_3, "rate 25mbit delay 1ms limit 1000 mtu 9000");
}

/* Go-Back-N is right where packets are lost, and slow. */
TEST(test_all_comes_back_through_losses)
{
	static const struct table tables[] = { { 1024, 1, 50 },
					       { 1024, 32, 50 },
					       { 1024, 128, 50 } };

	for (size_t i = 0; i < 3; i++) {
		int64_t calm = transfer(&tables[i], MIB / 4, "rate 100mbit delay 5ms limit 1000");
		int64_t lossy = transfer(&tables[i], MIB / 4,
					 "rate 100mbit delay 5ms loss 2% duplicate 2% reorder 2%");

		assert_true(lossy > calm);
	}
}
