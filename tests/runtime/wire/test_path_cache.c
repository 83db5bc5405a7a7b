/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "wire/wire.h"
#include "support/test.h"

enum { ROOM = 4, MANY = 64, STEPS = 200000 };

static const uint64_t secret[2] = { 1, 2 };
static struct nopal_path_cache *cache;

static int setup(void **state)
{
	(void)state;
	cache = nopal__path_cache_new(ROOM, secret);
	return cache ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	nopal__path_cache_free(cache);
	return 0;
}

EACH_TEST(setup, teardown);

static struct nopal_path_pair pair_of(uint8_t local, uint8_t peer)
{
	struct nopal_path_pair pair;

	memset(&pair, 0, sizeof(pair));
	pair.local[15] = local;
	pair.peer[15] = peer;
	return pair;
}

static uint32_t hold(uint8_t peer)
{
	struct nopal_path_pair pair = pair_of(1, peer);

	return nopal__path_cache_hold(cache, &pair);
}

static void write_rtt(uint32_t record, int64_t value, int64_t now_ns)
{
	nopal__path_cache_write(cache, record, NOPAL_PATH_RTT_NS, value, now_ns);
}

/* A session of its own with this peer, which measured something. */
static void visit(uint8_t peer, int64_t rtt_ns)
{
	uint32_t record = hold(peer);

	assert_true(record != 0);
	write_rtt(record, rtt_ns, 0);
	nopal__path_cache_release(cache, record);
}

/* The path's value of the peer; -1: none.  Asking makes it the newest. */
static int64_t known(uint8_t peer)
{
	uint32_t record = hold(peer);
	int64_t value = -1, measured_ns;

	if (!record)
		return -1;
	if (!nopal__path_cache_read(cache, record, NOPAL_PATH_RTT_NS, &value, &measured_ns))
		value = -1;
	nopal__path_cache_release(cache, record);
	return value;
}

TEST(test_a_fact_outlives_its_session_and_knows_its_time)
{
	uint32_t record = hold(2);
	int64_t value, measured_ns;

	write_rtt(record, 70, 1000);
	nopal__path_cache_write(cache, record, NOPAL_PATH_LIMIT_BYTES, 1452, 2000);
	nopal__path_cache_release(cache, record);

	record = hold(2);
	assert_true(nopal__path_cache_read(cache, record, NOPAL_PATH_RTT_NS, &value, &measured_ns));
	assert_int_equal(value, 70);
	assert_int_equal(measured_ns, 1000);
	assert_true(nopal__path_cache_read(cache, record, NOPAL_PATH_LIMIT_BYTES, &value,
					   &measured_ns));
	assert_int_equal(value, 1452);
	assert_int_equal(measured_ns, 2000);
	assert_false(nopal__path_cache_read(cache, record, NOPAL_PATH_BANDWIDTH_BPS, &value,
					    &measured_ns));
	nopal__path_cache_release(cache, record);
}

TEST(test_both_addresses_name_a_record)
{
	struct nopal_path_pair pair = pair_of(9, 2);
	uint32_t first = hold(2), again = hold(2), other;

	assert_int_equal(first, again);
	other = nopal__path_cache_hold(cache, &pair);
	assert_int_not_equal(first, other);
	nopal__path_cache_release(cache, other);
	nopal__path_cache_release(cache, again);
	nopal__path_cache_release(cache, first);
}

TEST(test_the_oldest_idle_record_makes_room)
{
	for (uint8_t peer = 1; peer <= ROOM; peer++)
		visit(peer, peer);
	visit(1, 1); /* the oldest is 2 now */
	visit(9, 9);
	assert_int_equal(known(2), -1);
	/* asking for 2 took a place, though it says nothing: 3 gave it */
	assert_int_equal(known(3), -1);
	assert_int_equal(known(4), 4);
	assert_int_equal(known(1), 1);
	assert_int_equal(known(9), 9);
}

TEST(test_a_held_record_stays)
{
	uint32_t held[ROOM];

	visit(1, 1);
	held[0] = hold(1);
	for (uint8_t peer = 2; peer < MANY; peer++)
		visit(peer, peer);
	assert_int_equal(hold(1), held[0]);
	nopal__path_cache_release(cache, held[0]); /* once of two times */
	for (uint8_t i = 1; i < ROOM; i++)
		held[i] = hold(i + 1);
	assert_int_equal(hold(MANY), 0); /* all are held */
	nopal__path_cache_release(cache, held[1]);
	assert_int_equal(hold(MANY), held[1]);
	nopal__path_cache_release(cache, held[1]);
	nopal__path_cache_release(cache, held[0]);
	assert_int_equal(known(1), 1);
	for (uint8_t i = 2; i < ROOM; i++)
		nopal__path_cache_release(cache, held[i]);
}

TEST(test_who_measured_nothing_takes_nobodys_place)
{
	uint32_t record;

	for (uint8_t peer = 1; peer < ROOM; peer++)
		visit(peer, peer);
	for (uint8_t peer = ROOM; peer < MANY; peer++) {
		record = hold(peer);
		assert_true(record != 0);
		nopal__path_cache_release(cache, record);
	}
	for (uint8_t peer = 1; peer < ROOM; peer++)
		assert_int_equal(known(peer), peer);
}

/* ------------------------------------------- against a table that is a list */

struct plain {
	uint8_t peer; /* 0: free */
	uint32_t holders;
	int64_t value; /* 0: it says nothing */
	uint32_t idle_since;
	uint32_t record;
};
static struct plain plain[ROOM];

static struct plain *plain_find(uint8_t peer)
{
	for (unsigned i = 0; i < ROOM; i++)
		if (plain[i].peer == peer)
			return &plain[i];
	return NULL;
}

static struct plain *plain_room(void)
{
	struct plain *oldest = plain_find(0);

	for (unsigned i = 0; !oldest && i < ROOM; i++)
		if (!plain[i].holders)
			oldest = &plain[i];
	for (unsigned i = 0; oldest && oldest->peer && i < ROOM; i++)
		if (!plain[i].holders && plain[i].idle_since < oldest->idle_since)
			oldest = &plain[i];
	return oldest;
}

static void plain_hold(uint8_t peer)
{
	struct plain *one = plain_find(peer);
	uint32_t record = hold(peer);

	if (!one) {
		one = plain_room();
		if (one)
			*one = (struct plain){ .peer = peer, .record = record };
	}
	assert_int_equal(record, one ? one->record : 0);
	if (one)
		one->holders++;
}

static void plain_release(struct plain *one, uint32_t step)
{
	nopal__path_cache_release(cache, one->record);
	one->idle_since = step;
	if (--one->holders == 0 && !one->value)
		one->peer = 0;
}

static void plain_compare(const struct plain *one)
{
	int64_t value = 0, measured_ns;

	assert_int_equal(
		nopal__path_cache_read(cache, one->record, NOPAL_PATH_RTT_NS, &value, &measured_ns),
		one->value != 0);
	assert_int_equal(value, one->value);
}

TEST(test_it_does_what_a_list_does)
{
	uint32_t random = 1;

	for (uint32_t step = 1; step < STEPS; step++) {
		uint8_t peer;
		struct plain *one;

		random = random * 1103515245 + 12345;
		peer = (uint8_t)(1 + (random >> 16) % (3 * ROOM));
		one = plain_find(peer);
		if (one && one->holders && random >> 31) {
			plain_release(one, step);
			continue;
		}
		plain_hold(peer);
		one = plain_find(peer);
		if (one && (random >> 30 & 1)) {
			one->value = step;
			write_rtt(one->record, step, step);
		}
		if (one)
			plain_compare(one);
	}
}
