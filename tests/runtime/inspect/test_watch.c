/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "support/fakes.h"
#include "support/rig.h"
#include "support/test.h"

static struct rig rig;

/* Actions of `m_suspect` at each segment that leaves, or arrives. */
static void (*does)(struct nopal_at at, struct nopal_segment *segment);
static void (*does_there)(struct nopal_at at, struct nopal_segment *segment);
static enum nopal_verdict says;

static enum nopal_verdict suspect_on_to_net(struct nopal_at at, struct nopal_segment *segment)
{
	nopal_release(at, segment, NOPAL_SEND);
	if (does)
		does(at, segment);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict suspect_on_from_net(struct nopal_at at, struct nopal_segment *segment)
{
	if (does_there)
		does_there(at, segment);
	return says;
}

/* Its timer expires four times, and each next time so much later. */
static int64_t again_ns;
static int expiries;

static void suspect_expired(struct nopal_at at)
{
	if (++expiries < 4)
		nopal_timer_start(at, 0, at.session->now_ns + again_ns);
}

static void start_timer(struct nopal_at at, struct nopal_segment *segment)
{
	(void)segment;
	nopal_timer_start(at, 0, at.session->now_ns + 1);
}

FAKE(m_suspect, .holds = FAKE_HOLDS({ "nothing", NOPAL_SEND, NOPAL_DATA, true }),
     .attributes = FAKE_ATTRIBUTES({ .name = "segment_number", .access = NOPAL_READ }),
     .shared = FAKE_SHARED({ "segment_window", NOPAL_READ }),
     .timers = (const struct nopal_timer[]){ { "again", suspect_expired }, { 0 } },
     .bindings = FAKE_BINDINGS(NOPAL_ON(SEGMENT_TO_NET, suspect_on_to_net, .before = "driver"),
			       NOPAL_ON(SEGMENT_FROM_NET, suspect_on_from_net)));

static uint64_t of_suspect[NOPAL_DEED_COUNT];
static uint64_t of_others; /* what is wrong whatever came of it */

static void note(const struct nopal_conduct *conduct, void *user)
{
	(void)user;
	if (strcmp(conduct->microprotocol, "m_suspect") == 0) {
		memcpy(of_suspect, conduct->count, sizeof(of_suspect));
		return;
	}
	for (unsigned i = 0; i <= NOPAL_DEED_LOST; i++)
		of_others += conduct->count[i];
}

/* Five messages, watched; returns how often it did this. */
static uint64_t deeds(enum nopal_deed which)
{
	rig_add(&m_suspect);
	rig_open(&rig,
		 "transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
		 "m_suspect {}\n",
		 &(struct rig_options){ .stay_closed = true });
	assert_int_equal(nopal_watch_start(rig.world, rig.plan, true), 0);
	rig_start(&rig);
	for (int i = 0; i < 5; i++)
		rig_send_bytes(&rig, (size_t)(100 + i));
	rig_run(&rig, NOPAL_SECOND);
	of_others = 0;
	nopal_watch_visit(rig.world, note, NULL);
	return of_suspect[which];
}

static int setup(void **state)
{
	(void)state;
	does = does_there = NULL;
	says = NOPAL_CONTINUE;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	/* the pair would be held against the rules */
	nopal_world_free(rig.world);
	nopal_plan_unref(rig.plan);
	return 0;
}

EACH_TEST(setup, teardown);

TEST(test_watch_of_what_is_right_sees_nothing_wrong)
{
	assert_int_equal(deeds(NOPAL_DEED_BYTES), 0);
	for (unsigned i = 0; i <= NOPAL_DEED_LOST; i++)
		assert_int_equal(of_suspect[i], 0);
	assert_int_equal(of_others, 0);
	assert_int_equal(rig.acceptor.delivered, 5);
}

static void change_byte(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at;
	*(uint8_t *)(uintptr_t)segment->body.bytes ^= 1;
}

TEST(test_watch_of_bytes_that_change_names_who_did_it)
{
	does_there = change_byte;
	assert_int_equal(deeds(NOPAL_DEED_BYTES), 5);
	assert_int_equal(of_others, 0);
}

static void change_number(struct nopal_at at, struct nopal_segment *segment)
{
	nopal_set(at, segment, 0, nopal_get(at, segment, 0) + 10);
	nopal_shared_set(at, 0, 17);
}

TEST(test_watch_of_what_others_own_names_who_wrote)
{
	does = change_number;
	assert_int_equal(deeds(NOPAL_DEED_ATTRIBUTE), 5);
	assert_int_equal(of_suspect[NOPAL_DEED_SHARED], 1);
	assert_int_equal(of_others, 0);
}

static void take_all(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at;
	segment->waiting[NOPAL_SEND] = 0;
}

TEST(test_watch_of_a_hold_that_is_taken_names_who_took_it)
{
	does = take_all;
	assert_int_equal(deeds(NOPAL_DEED_HOLD), 5);
}

static void release_again(struct nopal_at at, struct nopal_segment *segment)
{
	nopal_release(at, segment, NOPAL_SEND);
}

TEST(test_watch_of_two_releases_names_who_did_it)
{
	does = release_again;
	assert_int_equal(deeds(NOPAL_DEED_MISUSE), 5);
	assert_int_equal(nopal_session_counters(rig.opener.session)->misuses, 5);
}

/* Now, and later from the queue. */
static void forge(struct nopal_at at, struct nopal_segment *segment)
{
	nopal_raise_SEGMENT_RECEIVED(at.session, segment);
	nopal_queue_SEGMENT_RECEIVED(at.session, segment);
}

TEST(test_watch_of_an_undeclared_raise_names_who_raised)
{
	does = forge;
	assert_int_equal(deeds(NOPAL_DEED_RAISE), 10);
	assert_int_equal(of_suspect[NOPAL_DEED_RAISED], 10);
	assert_int_equal(of_suspect[NOPAL_DEED_FORGED], 5);
}

TEST(test_watch_of_what_is_stopped_for_good_names_who_did_it)
{
	says = NOPAL_STOP;
	assert_int_equal(deeds(NOPAL_DEED_LOST), 5);
	assert_int_equal(rig.acceptor.delivered, 0);
}

TEST(test_watch_of_a_timer_for_now_names_who_spins)
{
	does = start_timer;
	expiries = 0;
	again_ns = 0;
	assert_int_equal(deeds(NOPAL_DEED_WOKEN), 4);
	assert_int_equal(of_suspect[NOPAL_DEED_SPUN], 3);
}

TEST(test_watch_of_a_timer_for_later_calls_it_no_spinning)
{
	does = start_timer;
	expiries = 0;
	again_ns = 1;
	assert_int_equal(deeds(NOPAL_DEED_WOKEN), 4);
	assert_int_equal(of_suspect[NOPAL_DEED_SPUN], 0);
}

TEST(test_watch_changes_no_run)
{
	static const char config[] = "extends = \"bulk\"\n";
	const struct rig_options options = { .link = "delay 10ms loss 5%", .stay_closed = true };
	uint64_t hash[2];

	for (int watched = 0; watched < 2; watched++) {
		rig_open(&rig, config, &options);
		nopal_trace_start(rig.world, NULL, NOPAL_TRACE_EVENTS);
		if (watched)
			nopal_watch_start(rig.world, rig.plan, true);
		rig_start(&rig);
		for (int i = 0; i < 20; i++)
			rig_send_bytes(&rig, 20000);
		rig_run(&rig, 5 * NOPAL_SECOND);
		hash[watched] = nopal_trace_hash(rig.world);
		if (watched == 0)
			rig_close(&rig);
	}
	assert_true(hash[0] == hash[1]);
}
