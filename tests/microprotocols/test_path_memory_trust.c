/* SPDX-License-Identifier: MIT */
/*
 * Beliefs of path_memory: nothing that the peer only says, a limit that is probed once more, and
 * a record only while the world has room for it.
 */
#include "wire/wire.h"
#include "support/remembered.h"
#include "support/test.h"

enum {
	UDP = 28,
	FLOOR = 1200 - UDP,
	ETHERNET = 1500 - UDP,
};

static const char SEARCHING[] = RELIABLE "cubic_congestion {}\nmtu_discovery {}\npath_memory {}\n";

/* ------------------------------------------------------- what the peer says */

/* An ack for what never left, far ahead and with an absurd delay: nothing of it is a
 * measurement. */
TEST(test_what_the_peer_says_is_not_remembered)
{
	uint8_t lie[10] = { 0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff };
	uint8_t length[2] = { 0xff, 0x00 };

	remembered_begin(SEARCHING, LINK);
	start();
	for (int i = 0; i < 100 && rig.opener.session; i++) {
		arrive_control(rig.opener.session, "positive_ack", 0, lie, sizeof(lie));
		arrive_control(rig.opener.session, "mtu_discovery", 1, length, sizeof(length));
		rig_run(&rig, NOPAL_MILLISECOND);
	}
	stop();
	start();
	assert_int_equal(shared("known_rtt_ns"), 0);
	assert_int_equal(shared("known_window_bytes"), 0);
	assert_int_equal(shared("known_limit_bytes"), 0);
	stop();
	rig_close(&rig);
}

/* Acks of all that left, before it can have arrived: what is measured by them is wrong, and gets no
 * further than the bounds. */
static void acknowledge_early(uint64_t first)
{
	uint8_t ack[10] = { 0 };
	struct nopal_writer writer = nopal_writer_over(ack, sizeof(ack));
	uint64_t next = nopal_next_packet_number(rig.opener.session);

	nopal_write(&writer, (next - 1) & UINT32_MAX, 4);
	nopal_write(&writer, (first + next - 1) & UINT32_MAX, 4);
	arrive_control(rig.opener.session, "positive_ack", 0, ack, sizeof(ack));
}

TEST(test_a_peer_that_acknowledges_early_gains_no_more)
{
	uint64_t first;

	remembered_begin(CUBIC, LINK);
	start();
	first = (uint64_t)shared("initial_local");
	for (int i = 0; i < 10; i++)
		rig_send_bytes(&rig, FILE_BYTES);
	for (int i = 0; i < 20; i++) {
		rig_run(&rig, 2 * NOPAL_MILLISECOND);
		acknowledge_early(first - 1);
	}
	assert_in_range(shared("smoothed_rtt_ns"), 1, 3 * NOPAL_MILLISECOND);
	nopal_session_abort(rig.opener.session, "it lies");
	rig_run(&rig, NOPAL_SECOND);
	start();
	assert_int_equal(shared("known_window_bytes"), segments(MAX_SEGMENTS));
	assert_int_equal(shared("timeout_ns"), 200 * NOPAL_MILLISECOND);
	stop();
	rig_close(&rig);
}

/* ---------------------------------------------------------------- path limit */

TEST(test_the_limit_is_used_at_once)
{
	struct tapped tapped = { 0 };
	uint32_t longest = 0;

	remembered_begin(SEARCHING, LINK);
	start();
	assert_int_equal(nopal_path_limit(rig.opener.session), FLOOR);
	transfer(FILE_BYTES);
	assert_int_equal(shared("found_limit_bytes"), ETHERNET);
	stop();
	start();
	assert_int_equal(shared("known_limit_bytes"), ETHERNET);
	assert_int_equal(shared("found_limit_bytes"), 0); /* not yet */
	assert_int_equal(nopal_path_limit(rig.opener.session), ETHERNET);
	nopal_sim_tap(rig.world, tapped_note, &tapped);
	rig_send_bytes(&rig, FILE_BYTES);
	for (uint32_t i = 0; i < tapped.count; i++)
		if (tapped.kind[i] == 0 && tapped.length[i] > longest)
			longest = tapped.length[i];
	assert_int_equal(longest, ETHERNET);
	rig_run(&rig, 3 * NOPAL_SECOND);
	assert_int_equal(shared("found_limit_bytes"), ETHERNET);
	stop();
	rig_close(&rig);
}

TEST(test_the_limit_is_what_is_probed_first)
{
	struct tapped tapped = { 0 };
	uint32_t first = 0;
	uint8_t probe;

	remembered_begin(SEARCHING, "rate 20mbit delay 50ms limit 1000 mtu 1400");
	start();
	transfer(FILE_BYTES);
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(shared("found_limit_bytes"), 1400 - UDP);
	stop();
	start();
	probe = rig_part(rig.opener.session, "mtu_discovery")->kind[0];
	nopal_sim_tap(rig.world, tapped_note, &tapped);
	rig_send(&rig, "x");
	while (first < tapped.count && tapped.kind[first] != probe)
		first++;
	assert_in_range(first, 0, tapped.count - 1);
	assert_int_equal(tapped.length[first], 1400 - UDP);
	stop();
	rig_close(&rig);
}

TEST(test_a_path_that_shrank_since_is_noticed)
{
	remembered_begin(SEARCHING, LINK);
	session_of(FILE_BYTES);
	rig_change_both(&rig, "rate 20mbit delay 50ms limit 1000 mtu 1300");
	start();
	assert_int_equal(nopal_path_limit(rig.opener.session), ETHERNET);
	transfer(FILE_BYTES);
	rig_run(&rig, 30 * NOPAL_SECOND);
	rig_awake(rig.opener.session);
	assert_in_range(nopal_path_limit(rig.opener.session), FLOOR, 1300 - UDP);
	stop();
	start();
	assert_in_range(shared("known_limit_bytes"), FLOOR, 1300 - UDP);
	stop();
	rig_close(&rig);
}

/* ----------------------------------------------------- records of the world */

static struct nopal_path_pair pair(void)
{
	struct nopal_path_pair pair;
	struct nopal_address address;

	nopal_sim_address(0, 0, &address);
	memcpy(pair.local, address.ip, sizeof(pair.local));
	nopal_sim_address(1, 0, &address);
	memcpy(pair.peer, address.ip, sizeof(pair.peer));
	return pair;
}

/* Others take all records there are, one after the other. */
static void crowd_out(void)
{
	struct nopal_path_pair other = { { 0 }, { 0 } };

	for (uint32_t i = 1; i <= NOPAL_PATH_RECORDS; i++) {
		struct nopal_path_cache *cache = rig.world->path_cache;
		uint32_t record;

		memcpy(other.peer, &i, sizeof(i));
		record = nopal__path_cache_hold(cache, &other);
		if (!record)
			return;
		nopal__path_cache_write(cache, record, NOPAL_PATH_RTT_NS, 1, 0);
		nopal__path_cache_release(cache, record);
	}
}

TEST(test_a_living_session_keeps_its_record)
{
	struct nopal_path_pair ours = pair();
	struct nopal_path_cache *cache;
	uint32_t record;
	int64_t value, measured_ns;

	remembered_begin(CUBIC, LINK);
	session_of(FILE_BYTES);
	start();
	crowd_out();
	cache = rig.world->path_cache;
	record = nopal__path_cache_hold(cache, &ours);
	assert_true(nopal__path_cache_read(cache, record, NOPAL_PATH_RTT_NS, &value, &measured_ns));
	nopal__path_cache_release(cache, record);
	stop();
	crowd_out();
	start();
	assert_int_equal(shared("known_rtt_ns"), 0);
	stop();
	rig_close(&rig);
}
