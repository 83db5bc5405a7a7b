/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "wire/guard.h"
#include "support/test.h"

enum { ROOM = 8 };
#define WINDOW (10 * NOPAL_SECOND)

static const uint64_t key[2] = { 1, 2 };
static struct nopal_guard *guard;

static int set_up(void **state)
{
	(void)state;
	guard = nopal__guard_new(ROOM, key, 0);
	return guard ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	nopal__guard_free(guard);
	return 0;
}

EACH_TEST(set_up, tear_down);

static enum nopal_guarded ask(uint64_t nonce, int64_t sent_ns, int64_t clock_ns)
{
	return nopal__guard_admit(guard, nonce, sent_ns, clock_ns, WINDOW);
}

TEST(test_a_nonce_is_admitted_once)
{
	assert_int_equal(ask(7, NOPAL_SECOND, NOPAL_SECOND), NOPAL_GUARD_NEW);
	for (int64_t later = 0; later < 300 * NOPAL_SECOND; later += NOPAL_SECOND)
		assert_int_not_equal(ask(7, NOPAL_SECOND, NOPAL_SECOND + later), NOPAL_GUARD_NEW);
	assert_int_equal(ask(8, NOPAL_SECOND, NOPAL_SECOND), NOPAL_GUARD_NEW);
}

TEST(test_a_time_outside_of_the_window_is_late)
{
	const int64_t now = 100 * NOPAL_SECOND;

	assert_int_equal(ask(1, now - WINDOW, now), NOPAL_GUARD_NEW);
	assert_int_equal(ask(2, now - WINDOW - 1, now), NOPAL_GUARD_LATE);
	assert_int_equal(ask(3, now + WINDOW, now), NOPAL_GUARD_NEW);
	assert_int_equal(ask(4, now + WINDOW + 1, now), NOPAL_GUARD_LATE);
}

/* Its messages went by the handshake: a copy that comes when its time has come is refused, too. */
TEST(test_a_request_of_the_future_stays_refused)
{
	assert_int_equal(ask(4, WINDOW + 10, 1), NOPAL_GUARD_LATE);
	assert_int_equal(ask(4, WINDOW + 10, WINDOW), NOPAL_GUARD_LATE);
}

TEST(test_a_full_table_refuses_and_has_room_when_the_time_is_over)
{
	const int64_t now = NOPAL_SECOND;

	for (uint64_t nonce = 1; nonce <= ROOM; nonce++)
		assert_int_equal(ask(nonce, now, now), NOPAL_GUARD_NEW);
	assert_int_equal(ask(100, now + 1, now), NOPAL_GUARD_FULL);
	assert_int_equal(ask(1, now, now), NOPAL_GUARD_SEEN);
	assert_int_equal(ask(101, now + 3 * WINDOW, now + 3 * WINDOW - 1), NOPAL_GUARD_FULL);
	assert_int_equal(ask(102, now + 4 * WINDOW, now + 4 * WINDOW), NOPAL_GUARD_NEW);
}

/* A number that found no room is below the floor: no copy is admitted when there is room again. */
TEST(test_a_request_that_found_no_room_stays_refused)
{
	for (uint64_t nonce = 1; nonce <= ROOM; nonce++)
		assert_int_equal(ask(nonce, (int64_t)nonce, 1), NOPAL_GUARD_NEW);
	assert_int_equal(ask(100, 1 + WINDOW, 1), NOPAL_GUARD_FULL);
	for (int64_t clock = 1; clock < 40 * NOPAL_SECOND; clock += NOPAL_SECOND / 4)
		assert_int_not_equal(ask(100, 1 + WINDOW, clock), NOPAL_GUARD_NEW);
	assert_int_equal(ask(101, 40 * NOPAL_SECOND, 40 * NOPAL_SECOND), NOPAL_GUARD_NEW);
}

/* A model that forgets nothing: no request is admitted twice, and none after it was refused; where
 * nothing is full, each that is within the window is admitted. */
TEST(test_random_requests_are_admitted_as_by_a_guard_with_all_memory)
{
	enum { NONCES = 4096, STEPS = 40000 };
	static bool decided[NONCES];
	static int64_t sent[NONCES];
	uint64_t random = 5;
	int64_t clock = 1;
	unsigned admitted = 0, full = 0;

	for (unsigned step = 0; step < STEPS; step++) {
		enum nopal_guarded guarded;
		unsigned nonce;

		random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
		nonce = (unsigned)(random >> 40) % NONCES;
		clock += (int64_t)(random >> 50) * NOPAL_MILLISECOND / 4;
		if (!sent[nonce])
			sent[nonce] =
				clock + (int64_t)(random % 30) * NOPAL_SECOND - 15 * NOPAL_SECOND;
		guarded = ask(nonce, sent[nonce], clock);
		if (decided[nonce])
			assert_int_not_equal(guarded, NOPAL_GUARD_NEW);
		decided[nonce] = true;
		if (guarded == NOPAL_GUARD_NEW)
			assert_true(llabs(sent[nonce] - clock) <= WINDOW);
		admitted += guarded == NOPAL_GUARD_NEW;
		full += guarded == NOPAL_GUARD_FULL;
	}
	assert_true(admitted > 100 && full > 100);
}

TEST(test_the_clock_begins_with_the_guard)
{
	struct nopal_guard *young = nopal__guard_new(ROOM, key, 50 * NOPAL_SECOND);

	assert_int_equal(nopal__guard_clock(young, 50 * NOPAL_SECOND), 1);
	assert_int_equal(nopal__guard_clock(young, 51 * NOPAL_SECOND), NOPAL_SECOND + 1);
	nopal__guard_free(young);
}
