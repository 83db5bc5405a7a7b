/* SPDX-License-Identifier: MIT */
#include "support/arrivals.h"
#include "support/test.h"

enum { MESSAGES = 6 };

/* The runtime's timers fire at most one tick late. */
#define TICK_NS	 (2 * NOPAL_MICROSECOND)
#define DELAY_NS (100 * NOPAL_MILLISECOND)

static const char ORDERED[] = "transport_driver {}\nfixed_size {}\n"
			      "sequenced_messages {}\n"
			      "lossy_fifo { delay = 100ms }\n";

static struct rig rig;
static struct nopal_at at;

static void ordered_open(const char *config)
{
	rig_open(&rig, config, NULL);
	at = rig_at(rig.opener.session, "lossy_fifo");
}

/* ---------------------------------------- what should happen, the plain way */

static struct model {
	uint64_t expected;
	struct model_entry {
		uint64_t number;
		int64_t time_ns; /* due; of a delivery: when */
	} waiting[MESSAGES], delivered[MESSAGES];
	uint32_t waits, deliveries;
} model;

static uint32_t model_lowest(void)
{
	uint32_t lowest = 0;

	for (uint32_t i = 1; i < model.waits; i++)
		if (model.waiting[i].number < model.waiting[lowest].number)
			lowest = i;
	return lowest;
}

/* Delivers what waits below `number`, and what follows without a gap. */
static void model_deliver(uint64_t number, int64_t now_ns)
{
	while (model.waits) {
		struct model_entry *entry = &model.waiting[model_lowest()];

		if (entry->number >= number && entry->number != model.expected)
			return;
		model.expected = entry->number + 1;
		model.delivered[model.deliveries++] = (struct model_entry){ entry->number, now_ns };
		*entry = model.waiting[--model.waits];
	}
}

static void model_time(int64_t now_ns)
{
	for (;;) {
		struct model_entry *first = NULL;

		for (uint32_t i = 0; i < model.waits; i++)
			if (model.waiting[i].time_ns <= now_ns &&
			    (!first || model.waiting[i].time_ns < first->time_ns))
				first = &model.waiting[i];
		if (!first)
			return;
		model_deliver(first->number + 1, first->time_ns);
	}
}

static void model_arrive(uint64_t number, int64_t now_ns)
{
	model_time(now_ns);
	if (number < model.expected)
		return;
	model.waiting[model.waits++] = (struct model_entry){ number, now_ns + DELAY_NS };
	model_deliver(0, now_ns);
}

/* ------------------------------------------------------------------- cases */

static void assert_as_model(void)
{
	assert_int_equal(rig.opener.delivered, model.deliveries);
	for (uint32_t i = 0; i < model.deliveries; i++) {
		int64_t late_ns = rig.opener.delivered_ns[i] - model.delivered[i].time_ns;

		assert_delivered(&rig.opener, i, model.delivered[i].number);
		assert_in_range(late_ns, 0, TICK_NS);
	}
}

/* Six messages arrive in this order, `gap_ns` apart, those in `lost` never. */
static void run_case(const unsigned *order, uint64_t base, unsigned lost, int64_t gap_ns)
{
	rig.opener.delivered = model.deliveries = 0;
	for (unsigned i = 0; i < MESSAGES; i++) {
		if (!(lost >> order[i] & 1)) {
			int64_t now_ns = nopal_world_now(rig.world);

			model_arrive(base + order[i], now_ns);
			arrive(at, base + order[i]);
		}
		rig_run(&rig, gap_ns);
	}
	rig_run(&rig, 2 * DELAY_NS);
	model_time(nopal_world_now(rig.world));
	assert_as_model();
}

static void run_all_orders(unsigned masks, int64_t gap_ns)
{
	unsigned order[MESSAGES] = { 0, 1, 2, 3, 4, 5 };
	uint64_t base = 1;

	ordered_open(ORDERED);
	model = (struct model){ .expected = 1 };
	do {
		for (unsigned lost = 0; lost < masks; lost++) {
			run_case(order, base, lost, gap_ns);
			base += MESSAGES;
		}
	} while (next_order(order, MESSAGES));
	assert_int_equal(rig_awake(rig.opener.session)->messages.alive, 0);
	rig_close(&rig);
}

/* Reordering within the delay, and nothing lost: all is delivered in order. */
TEST(test_all_orders_within_the_delay)
{
	run_all_orders(1, 10 * NOPAL_MILLISECOND);
	assert_int_equal(model.deliveries, MESSAGES);
}

/* Gaps that some of the delay overtakes: the model decides which are late. */
TEST(test_all_orders_with_delays)
{
	run_all_orders(1, 37 * NOPAL_MILLISECOND);
	run_all_orders(1, 101 * NOPAL_MILLISECOND);
	run_all_orders(1, 0);
}

TEST(test_all_orders_and_all_losses)
{
	run_all_orders(1u << MESSAGES, 23 * NOPAL_MILLISECOND);
}

/* ------------------------------------------------------------ one at a time */

TEST(test_a_late_message_is_discarded)
{
	ordered_open(ORDERED);
	arrive(at, 2);
	assert_int_equal(rig.opener.delivered, 0);
	rig_run(&rig, DELAY_NS - NOPAL_MILLISECOND);
	assert_int_equal(rig.opener.delivered, 0);
	rig_run(&rig, 2 * NOPAL_MILLISECOND);
	assert_int_equal(rig.opener.delivered, 1);
	arrive(at, 1);
	arrive(at, 2);
	assert_int_equal(rig_awake(rig.opener.session)->messages.alive, 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.delivered, 1);
	assert_int_equal(nopal_session_counters(rig.opener.session)->messages_discarded, 2);
	rig_close(&rig);
}

TEST(test_a_duplicate_that_waits_is_discarded)
{
	ordered_open(ORDERED);
	arrive(at, 3);
	arrive(at, 2);
	arrive(at, 3);
	arrive(at, 2);
	arrive(at, 1);
	assert_int_equal(rig.opener.delivered, 3);
	assert_int_equal(rig_awake(rig.opener.session)->messages.alive, 0);
	rig_close(&rig);
}

TEST(test_what_overlaps_is_discarded)
{
	ordered_open(ORDERED);
	arrive_at(at, 3, 6);
	arrive_at(at, 4, 5);
	arrive_at(at, 0, 0);
	arrive_at(at, 1, 3);
	assert_int_equal(rig.opener.delivered, 2);
	assert_delivered(&rig.opener, 1, 3);
	arrive_at(at, 6, 7);
	assert_int_equal(rig.opener.delivered, 3);
	assert_int_equal(rig_awake(rig.opener.session)->messages.alive, 0);
	rig_close(&rig);
}

TEST(test_when_full_the_first_gap_is_given_up)
{
	ordered_open("transport_driver {}\nfixed_size {}\nsequenced_messages {}\n"
		     "lossy_fifo { waiting = 3 }\n");
	arrive(at, 3);
	arrive(at, 4);
	arrive(at, 7);
	assert_int_equal(rig.opener.delivered, 0);
	arrive(at, 9);
	assert_int_equal(rig.opener.delivered, 2);
	assert_delivered(&rig.opener, 1, 4);
	arrive(at, 5);
	arrive(at, 6);
	assert_int_equal(rig.opener.delivered, 5);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.delivered, 6);
	rig_close(&rig);
}

TEST(test_what_waits_goes_when_the_peer_closed)
{
	ordered_open(ORDERED);
	arrive(at, 5);
	arrive(at, 3);
	nopal_raise_PEER_CLOSED(rig.opener.session, rig.opener.session);
	assert_int_equal(rig.opener.delivered, 2);
	assert_delivered(&rig.opener, 0, 3);
	assert_delivered(&rig.opener, 1, 5);
	rig_close(&rig);
}

TEST(test_the_delay_is_shared)
{
	ordered_open("transport_driver {}\nfixed_size {}\nsequenced_messages {}\n"
		     "lossy_fifo { delay = 42ms }\n");
	assert_int_equal(rig_shared(rig.opener.session, "playout_delay_ns"),
			 42 * NOPAL_MILLISECOND);
	rig_close(&rig);
}

/* Whatever a link does, deliveries increase, and nothing is held for long. */
TEST(test_deliveries_increase_across_a_link)
{
	const struct rig_options options = {
		.link = "delay 30ms 25ms loss 10% duplicate 5%",
		.seed = 3,
	};
	char text[RIG_TEXT];
	long last = -1;

	rig_open(&rig, ORDERED, &options);
	for (int i = 0; i < 500; i++) {
		snprintf(text, sizeof(text), "%d", i);
		assert_int_equal(rig_send(&rig, text), 0);
		rig_run(&rig, 5 * NOPAL_MILLISECOND);
	}
	rig_run(&rig, NOPAL_SECOND);
	assert_true(rig.acceptor.delivered > 400);
	for (uint32_t i = 0; i < rig.acceptor.delivered; i++) {
		long number = strtol(rig.acceptor.text[i], NULL, 10);

		assert_true(number > last);
		last = number;
	}
	rig_close(&rig);
}

TEST(test_excludes_reliability)
{
	char text[4096];

	assert_true(rig_refused("transport_driver {}\nfixed_size {}\n"
				"sequenced_segments {}\nlossy_fifo {}\nretransmit {}\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "lossy"));
}
