/* SPDX-License-Identifier: MIT */
/* test_wheel -- the timer wheel against a list that is searched. */
#include <nopal/microprotocol.h>
#include "base/wheel.h"
#include "support/test.h"

enum { ENTRIES = 200, STEPS = 60000, TICK_NS = 1 << NOPAL_WHEEL_TICK_SHIFT };

static uint64_t state;

static uint64_t draw(void)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return state >> 11;
}

static int64_t rounded_up(int64_t time_ns)
{
	return (time_ns + TICK_NS - 1) / TICK_NS * TICK_NS;
}

/* The reference: every entry's deadline, and the tick when it can fire. */
struct model {
	struct nopal_wheel wheel;
	struct nopal_wheel_entry entry[ENTRIES];
	bool armed[ENTRIES];
	int64_t deadline_ns[ENTRIES], due_ns[ENTRIES];
	uint64_t order[ENTRIES], arms;
	int64_t now_ns;
};

static bool before(const struct model *m, int a, int b)
{
	if (m->due_ns[a] != m->due_ns[b])
		return m->due_ns[a] < m->due_ns[b];
	if (m->deadline_ns[a] != m->deadline_ns[b])
		return m->deadline_ns[a] < m->deadline_ns[b];
	return m->order[a] < m->order[b];
}

static int first_of(const struct model *m)
{
	int first = -1;

	for (int i = 0; i < ENTRIES; i++)
		if (m->armed[i] && (first < 0 || before(m, i, first)))
			first = i;
	return first;
}

static void arm(struct model *m, int i, int64_t deadline_ns)
{
	int64_t min = m->now_ns / TICK_NS * TICK_NS;

	nopal_wheel_arm(&m->wheel, &m->entry[i], deadline_ns);
	m->armed[i] = true;
	m->deadline_ns[i] = deadline_ns;
	m->due_ns[i] = rounded_up(deadline_ns);
	if (m->due_ns[i] < min)
		m->due_ns[i] = min;
	m->order[i] = m->arms++;
}

static void disarm(struct model *m, int i)
{
	nopal_wheel_disarm(&m->wheel, &m->entry[i]);
	m->armed[i] = false;
}

static void expire_all(struct model *m)
{
	struct nopal_wheel_entry *entry;
	int first;

	while ((entry = nopal_wheel_expire(&m->wheel, m->now_ns)) != NULL) {
		first = first_of(m);
		assert_true(first >= 0);
		assert_ptr_equal(entry, &m->entry[first]);
		assert_true(m->due_ns[first] <= m->now_ns);
		assert_null(entry->at);
		m->armed[first] = false;
		/* Some arm themselves again, in the past too. */
		if (draw() % 4 == 0)
			arm(m, first, m->now_ns + (int64_t)(draw() % 5000) - 100);
	}
	first = first_of(m);
	assert_true(first < 0 || m->due_ns[first] > m->now_ns);
}

static void check_next(const struct model *m)
{
	int first = first_of(m);
	int64_t next = nopal_wheel_next(&m->wheel);

	if (first < 0) {
		assert_true(next == NOPAL_NEVER);
		assert_int_equal(m->wheel.entries, 0);
		return;
	}
	assert_true(next <= m->due_ns[first]);
}

static int64_t some_delay(void)
{
	unsigned bits = (unsigned)(draw() % 44);

	return (int64_t)(draw() & ((UINT64_C(1) << bits) - 1));
}

static void run(uint64_t seed, int64_t start_ns)
{
	static struct model m;

	m = (struct model){ .now_ns = start_ns };
	state = seed;
	nopal_wheel_init(&m.wheel, start_ns);
	for (int step = 0; step < STEPS; step++) {
		int i = (int)(draw() % ENTRIES);

		switch (draw() % 8) {
		case 0:
			disarm(&m, i);
			break;
		case 1: /* as a world does: sleep until the wheel says */
			if (m.wheel.entries)
				m.now_ns = nopal_wheel_next(&m.wheel) > m.now_ns
						   ? nopal_wheel_next(&m.wheel)
						   : m.now_ns;
			expire_all(&m);
			break;
		case 2:
			m.now_ns += some_delay() >> draw() % 16;
			expire_all(&m);
			break;
		default:
			arm(&m, i, m.now_ns + some_delay() - 1000);
		}
		check_next(&m);
	}
}

TEST(agrees_with_a_searched_list)
{
	for (uint64_t seed = 1; seed <= 3; seed++)
		run(seed, (int64_t)seed * 12345);
}

TEST(agrees_where_the_top_level_wraps)
{
	const int64_t turn_ns = INT64_C(1) << 52;

	run(4, turn_ns - 1000);
	run(5, 3 * turn_ns - (INT64_C(1) << 46) - 7);
}

TEST(fires_at_its_tick_and_not_before)
{
	struct nopal_wheel wheel;
	struct nopal_wheel_entry entry = { 0 };

	nopal_wheel_init(&wheel, 0);
	nopal_wheel_arm(&wheel, &entry, 1025);
	assert_true(nopal_wheel_next(&wheel) == 2048);
	assert_null(nopal_wheel_expire(&wheel, 2047));
	assert_ptr_equal(nopal_wheel_expire(&wheel, 2048), &entry);
	nopal_wheel_arm(&wheel, &entry, 4096);
	assert_true(nopal_wheel_next(&wheel) == 4096);
	assert_null(nopal_wheel_expire(&wheel, 4095));
	assert_ptr_equal(nopal_wheel_expire(&wheel, 4096), &entry);
}

TEST(the_past_fires_at_once_in_order)
{
	struct nopal_wheel wheel;
	struct nopal_wheel_entry entry[3] = { 0 };

	nopal_wheel_init(&wheel, 10240);
	nopal_wheel_arm(&wheel, &entry[0], 900);
	nopal_wheel_arm(&wheel, &entry[1], 800);
	nopal_wheel_arm(&wheel, &entry[2], 900);
	assert_ptr_equal(nopal_wheel_expire(&wheel, 10240), &entry[1]);
	assert_ptr_equal(nopal_wheel_expire(&wheel, 10240), &entry[0]);
	assert_ptr_equal(nopal_wheel_expire(&wheel, 10240), &entry[2]);
	assert_null(nopal_wheel_expire(&wheel, 10240));
}

TEST(far_deadlines_wait_without_a_busy_loop)
{
	const int64_t deadline_ns = INT64_MAX / 4;
	struct nopal_wheel wheel;
	struct nopal_wheel_entry entry = { 0 }, *fired = NULL;
	int64_t now_ns = 5;
	int wakes = 0;

	nopal_wheel_init(&wheel, now_ns);
	nopal_wheel_arm(&wheel, &entry, deadline_ns);
	while (!fired) {
		int64_t next = nopal_wheel_next(&wheel);

		assert_true(next > now_ns);
		now_ns = next;
		fired = nopal_wheel_expire(&wheel, now_ns);
		wakes++;
	}
	assert_true(now_ns == rounded_up(deadline_ns));
	assert_true(wakes < 600);
}

TEST(never_and_disarmed_do_not_fire)
{
	struct nopal_wheel wheel;
	struct nopal_wheel_entry entry = { 0 };

	nopal_wheel_init(&wheel, 0);
	nopal_wheel_disarm(&wheel, &entry);
	nopal_wheel_arm(&wheel, &entry, 5000);
	nopal_wheel_arm(&wheel, &entry, NOPAL_NEVER);
	assert_true(nopal_wheel_next(&wheel) == NOPAL_NEVER);
	assert_null(nopal_wheel_expire(&wheel, INT64_C(1) << 60));
	nopal_wheel_arm(&wheel, &entry, NOPAL_NEVER - 1);
	assert_true(nopal_wheel_next(&wheel) < NOPAL_NEVER);
}

TEST(many_at_one_tick_fire_in_the_order_of_arming)
{
	static struct nopal_wheel wheel;
	static struct nopal_wheel_entry entry[5000];

	nopal_wheel_init(&wheel, 0);
	for (int i = 0; i < 5000; i++)
		nopal_wheel_arm(&wheel, &entry[i], 1000000);
	for (int i = 0; i < 5000; i++)
		assert_ptr_equal(nopal_wheel_expire(&wheel, 2000000), &entry[i]);
	assert_null(nopal_wheel_expire(&wheel, 2000000));
}
