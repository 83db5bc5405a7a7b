/* SPDX-License-Identifier: MIT */
/* Peers' compositions, and how they differ from ours. */
#include <stdlib.h>
#include <string.h>

#include "support/failing.h"
#include "wire/wire.h"
#include "support/rig.h"
#include "support/test.h"

enum { PLANS = 3 };

static const char *const configs[PLANS] = {
	"transport_driver {}\nfixed_size {}\n",
	"transport_driver {}\nfixed_size {}\nchecksum {}\n",
	"transport_driver {}\nresize {}\nsequenced_segments {}\n",
};
static struct nopal_plan *plans[PLANS];
static struct nopal_listener_entry entries[PLANS];
static struct nopal_endpoint endpoint;

static int setup(void **state)
{
	(void)state;
	for (int i = 0; i < PLANS; i++)
		plans[i] = rig_plan(configs[i]);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < PLANS; i++)
		nopal_plan_unref(plans[i]);
	return 0;
}

EACH_TEST(setup, teardown);

/* With listeners for these, the last one first. */
static void listen_for(const int *which, int count)
{
	endpoint.listeners = NULL;
	for (int i = 0; i < count; i++) {
		entries[i] = (struct nopal_listener_entry){ .next = endpoint.listeners,
							    .plan = plans[which[i]] };
		endpoint.listeners = &entries[i];
	}
}

static void assert_text(const void *bytes, size_t length, const char *expected)
{
	struct nopal_reader reader = nopal_reader_over(bytes, length);
	char *text = nopal__peer_text(&reader);

	assert_string_equal(text, expected);
	assert_int_equal(nopal_read_left(&reader), 0);
	free(text);
}

TEST(test_a_peers_text_is_printable)
{
	assert_text("", 0, "");
	assert_text("one\ntwo", 7, "one\ntwo");
	assert_text("one\ntwo", 6, "one\ntw");
	assert_text("one\0two", 7, "one");
	assert_text("\x1f ~\x7f\x80\t\r", 7, "? ~????");
}

TEST(test_without_memory_there_is_no_text)
{
	struct nopal_reader reader = nopal_reader_over((const uint8_t *)"abc", 3);
	char *text;

	failing_from(1, false);
	text = nopal__peer_text(&reader);
	assert_int_equal(failing_stop(), 1);
	assert_null(text);
}

static void assert_nearest(const char *theirs, int expected)
{
	const char *name = "none was given";
	char *diff = nopal__nearest_diff(&endpoint, theirs, &name);
	char *own = nopal_canonical_diff(theirs, plans[expected]->info.canonical);

	assert_string_equal(diff, own);
	assert_ptr_equal(name, plans[expected]->info.name);
	free(own);
	free(diff);
}

TEST(test_the_nearest_differs_in_fewest_lines)
{
	static const int orders[][PLANS] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
					     { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };

	for (unsigned i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		listen_for(orders[i], PLANS);
		for (int own = 0; own < PLANS; own++)
			assert_nearest(plans[own]->info.canonical, own);
	}
}

/* Of two that are as near, the one that is found first. */
TEST(test_the_first_of_two_is_the_nearest)
{
	struct nopal_plan *again = rig_plan(configs[1]);
	struct nopal_plan *was = plans[2];

	plans[2] = again;
	listen_for((const int[]){ 1, 2 }, 2);
	assert_nearest(plans[0]->info.canonical, 2);
	plans[2] = was;
	nopal_plan_unref(again);
}

TEST(test_without_listeners_nothing_is_near)
{
	const char *name = "none was given";

	listen_for(NULL, 0);
	assert_null(nopal__nearest_diff(&endpoint, "theirs", &name));
	assert_null(name);
}

TEST(test_a_difference_says_who_has_which_part)
{
	static const char head[] = "the peer runs another composition (- only at the peer, + only "
				   "here):\n";
	char *text = nopal__plans_differ(plans[0]->info.canonical, plans[1]->info.canonical);
	char *diff = nopal_canonical_diff(plans[0]->info.canonical, plans[1]->info.canonical);

	assert_memory_equal(text, head, sizeof(head) - 1);
	assert_string_equal(text + sizeof(head) - 1, diff);
	free(text);
	free(diff);
}

static void try_to_differ(void *context)
{
	char *text = nopal__plans_differ(plans[0]->info.canonical, plans[1]->info.canonical);
	bool failed = failing_stop() > 0;

	(void)context;
	assert_true(text || failed);
	free(text);
}

TEST(test_without_memory_nothing_differs)
{
	assert_true(failing_sweep(try_to_differ, NULL, 1) > 1);
}
