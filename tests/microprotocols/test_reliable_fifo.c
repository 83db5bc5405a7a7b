/* SPDX-License-Identifier: MIT */
#include <nopal/microprotocol.h>
#include <nopal/nopal.h>
#include "engine/pool.h"
#include "support/arrivals.h"
#include "support/test.h"

enum { MESSAGES = 6 };

static const char ORDERED[] = "transport_driver {}\nfixed_size {}\n"
			      "sequenced_messages {}\nreliable_fifo {}\n";

struct ordered {
	struct rig rig;
	struct nopal_at at;
};

static struct ordered it;

static void ordered_open(const char *config)
{
	rig_open(&it.rig, config, NULL);
	it.at = rig_at(it.rig.opener.session, "reliable_fifo");
}

/* How many of the first numbers are among the first `count` of `order`. */
static uint32_t prefix(const unsigned *order, unsigned count)
{
	bool there[MESSAGES] = { false };
	uint32_t length = 0;

	for (unsigned i = 0; i < count; i++)
		there[order[i]] = true;
	while (length < MESSAGES && there[length])
		length++;
	return length;
}

/* Every order: after each arrival exactly the complete prefix is delivered. */
TEST(test_all_orders)
{
	unsigned order[MESSAGES] = { 0, 1, 2, 3, 4, 5 };
	uint64_t base = 1;

	ordered_open(ORDERED);
	do {
		it.rig.opener.delivered = 0;
		for (unsigned i = 0; i < MESSAGES; i++) {
			arrive(it.at, base + order[i]);
			assert_int_equal(it.rig.opener.delivered, prefix(order, i + 1));
		}
		for (uint32_t i = 0; i < MESSAGES; i++)
			assert_delivered(&it.rig.opener, i, base + i);
		base += MESSAGES;
	} while (next_order(order, MESSAGES));
	assert_int_equal(rig_awake(it.rig.opener.session)->messages.alive, 0);
	rig_close(&it.rig);
}

/* The same, and each message comes again after each arrival. */
TEST(test_duplicates_are_discarded)
{
	unsigned order[MESSAGES] = { 0, 1, 2, 3, 4, 5 };
	uint64_t base = 1;

	ordered_open(ORDERED);
	do {
		it.rig.opener.delivered = 0;
		for (unsigned i = 0; i < MESSAGES; i++)
			for (unsigned again = 0; again <= i; again++)
				arrive(it.at, base + order[i - again]);
		assert_int_equal(it.rig.opener.delivered, MESSAGES);
		base += MESSAGES;
	} while (next_order(order, MESSAGES));
	assert_int_equal(nopal_session_counters(it.rig.opener.session)->messages_discarded,
			 720 * 15);
	assert_int_equal(rig_awake(it.rig.opener.session)->messages.alive, 0);
	rig_close(&it.rig);
}

/* Messages of several segments cover more than one number. */
TEST(test_ranges_follow_each_other)
{
	ordered_open(ORDERED);
	arrive_at(it.at, 8, 9);
	arrive_at(it.at, 4, 8);
	assert_int_equal(it.rig.opener.delivered, 0);
	arrive_at(it.at, 1, 4);
	assert_int_equal(it.rig.opener.delivered, 3);
	assert_delivered(&it.rig.opener, 2, 8);
	rig_close(&it.rig);
}

TEST(test_a_message_without_a_number_is_discarded)
{
	ordered_open(ORDERED);
	arrive_at(it.at, 0, 0);
	arrive_at(it.at, 1, 1);
	arrive_at(it.at, 3, 2);
	assert_int_equal(it.rig.opener.delivered, 0);
	assert_int_equal(rig_awake(it.rig.opener.session)->messages.alive, 0);
	arrive(it.at, 1);
	assert_int_equal(it.rig.opener.delivered, 1);
	rig_close(&it.rig);
}

TEST(test_what_waits_is_bounded)
{
	ordered_open("transport_driver {}\nfixed_size {}\nsequenced_messages {}\n"
		     "reliable_fifo { waiting = 3 }\n");
	for (uint64_t number = 2; number <= 4; number++)
		arrive(it.at, number);
	assert_int_equal(it.rig.opener.ended, 0);
	arrive(it.at, 5);
	assert_int_equal(it.rig.opener.ended, 1);
	assert_int_equal(it.rig.opener.end, NOPAL_RESOURCE);
	assert_int_equal(it.rig.opener.delivered, 0);
	rig_close(&it.rig);
}

static void give_up_below(uint64_t order)
{
	struct nopal_forward forward = { .order = order };

	nopal_raise_FORWARD_RECEIVED(it.rig.opener.session, &forward);
}

/* Of six messages those in the mask came, and nothing below `end` will come: what came is delivered
 * up to there, and what follows without a gap. */
static void check_given_up(unsigned mask, unsigned end)
{
	uint32_t count = 0, at = 0;

	ordered_open(ORDERED);
	for (unsigned i = MESSAGES; i-- > 0;)
		if (mask >> i & 1)
			arrive(it.at, 1 + i);
	give_up_below(1 + end);
	for (; at < MESSAGES && (at < end || mask >> at & 1); at++)
		if (mask >> at & 1)
			assert_delivered(&it.rig.opener, count++, 1 + at);
	assert_int_equal(it.rig.opener.delivered, count);
	arrive(it.at, 1 + at);
	assert_delivered(&it.rig.opener, count, 1 + at);
	rig_close(&it.rig);
}

TEST(test_what_was_given_up_is_skipped)
{
	for (unsigned mask = 0; mask < 1u << MESSAGES; mask++)
		for (unsigned end = 0; end <= MESSAGES; end++)
			check_given_up(mask, end);
}

/* Many that wait, far apart, leave in order when the peer closes. */
TEST(test_nothing_is_waited_for_after_the_close)
{
	enum { MANY = 500, STEP = 7, APART = 1000003 };
	uint64_t last = 0;

	ordered_open(ORDERED);
	for (unsigned i = 0; i < MANY; i++)
		arrive(it.at, 2 + (uint64_t)APART * (i * STEP % MANY));
	assert_int_equal(it.rig.opener.delivered, 0);
	nopal_raise_PEER_CLOSED(it.rig.opener.session, it.rig.opener.session);
	assert_int_equal(it.rig.opener.delivered, MANY);
	for (uint32_t i = 0; i < MANY; i++) {
		uint64_t number = strtoull(it.rig.opener.text[i], NULL, 10);

		assert_true(number > last);
		last = number;
	}
	assert_int_equal(rig_awake(it.rig.opener.session)->messages.alive, 0);
	rig_close(&it.rig);
}

/* Somebody else may discard what waits here. */
TEST(test_what_was_discarded_is_not_waited_for)
{
	struct nopal_message *message;

	ordered_open(ORDERED);
	arrive(it.at, 2);
	message = nopal__pool_oldest(&rig_awake(it.rig.opener.session)->messages);
	arrive(it.at, 3);
	nopal_message_discard(it.rig.opener.session, message);
	arrive(it.at, 1);
	assert_int_equal(it.rig.opener.delivered, 2);
	assert_delivered(&it.rig.opener, 1, 3);
	rig_close(&it.rig);
}

/* On a link that reorders and duplicates, and over either numbering. */
static void cross(const char *config)
{
	const struct rig_options options = {
		.link = "delay 20ms 10ms duplicate 10%",
		.seed = 7,
	};
	char text[RIG_TEXT];

	rig_open(&it.rig, config, &options);
	for (int i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), "%d", i);
		assert_int_equal(rig_send(&it.rig, text), 0);
		rig_run(&it.rig, NOPAL_MILLISECOND);
	}
	rig_run(&it.rig, NOPAL_SECOND);
	assert_int_equal(it.rig.acceptor.delivered, 200);
	for (uint32_t i = 0; i < 200; i++)
		assert_delivered(&it.rig.acceptor, i, i);
	rig_close(&it.rig);
}

TEST(test_order_across_a_link)
{
	cross("transport_driver {}\nfixed_size {}\nsequenced_messages {}\n"
	      "reliable_fifo {}\n");
	cross("transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
	      "reliable_fifo {}\n");
	cross("transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
	      "sequenced_messages {}\nreliable_fifo {}\n");
	cross("virtual_circuit {}\ntransport_driver {}\nfixed_size {}\n"
	      "sequenced_segments {}\nsequenced_messages {}\nreliable_fifo {}\n");
}

TEST(test_needs_numbers)
{
	char text[1024];

	assert_true(rig_refused("transport_driver {}\nfixed_size {}\nreliable_fifo {}\n", text,
				sizeof(text)));
	assert_non_null(strstr(text, "reliable_fifo"));
}
