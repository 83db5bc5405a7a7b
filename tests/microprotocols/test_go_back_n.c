/* SPDX-License-Identifier: MIT */
/*
 * Transmissions against a model of Go-Back-N written anew here, for windows 1, 32 and 128 and every
 * way to lose the first ten packets; and what neither moves: acks from outside of the window, a
 * receiver without room, gates, numbers that go round.
 */
#include <stdio.h>
#include <string.h>

#include "support/keeper.h"
#include "stubs.h"
#include "support/test.h"

ALL_TESTS(tests, stubs_register, NULL);

#define BASE	      "transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
#define TAPPED	      BASE "a_tap {}\n"
#define STOP_AND_WAIT BASE "go_back_n { window = 1 }\n"

enum { MESSAGES = 140, MASKED = 10, DEPARTURES = 4096 };
enum {
	DELAY_MS = 10,
	DOUBLINGS = 6,
	WAIT_MS = 53 /* no ack comes when it expires */
};

static struct rig rig;

/* ------------------------------------------------------------------ the model */

/* Transmissions: numbers from 1, times in ms. */
struct transmissions {
	unsigned count;
	struct transmission {
		unsigned number;
		int64_t at_ms;
	} transmission[DEPARTURES];
};

struct model {
	struct transmissions *seen;
	unsigned window, messages, mask;
	unsigned floor, next, expected; /* acked, to leave, taken */
	unsigned vain;
	int64_t now_ms, left_ms[MESSAGES + 1], moved_ms;
	/* arrivals of data and acks to come, in the order of time */
	struct {
		int64_t at_ms;
		bool ack;
		unsigned number;
	} way[2 * DEPARTURES];
	unsigned first, end;
};

static void model_put(struct model *model, bool ack, unsigned number)
{
	model->way[model->end].at_ms = model->now_ms + DELAY_MS;
	model->way[model->end].ack = ack;
	model->way[model->end++].number = number;
}

static void model_transmit(struct model *model, unsigned number)
{
	unsigned place = model->seen->count++;

	model->seen->transmission[place] = (struct transmission){ number, model->now_ms };
	model->left_ms[number] = model->now_ms;
	if (place >= MASKED || !(model->mask >> place & 1))
		model_put(model, false, number);
}

static void model_fill(struct model *model)
{
	while (model->next <= model->messages && model->next < model->floor + model->window)
		model_transmit(model, model->next++);
}

static int64_t model_deadline(const struct model *model)
{
	int64_t since_ms = model->left_ms[model->floor];
	unsigned doublings = model->vain < DOUBLINGS ? model->vain : DOUBLINGS;

	if (model->floor == model->next)
		return INT64_MAX;
	if (since_ms < model->moved_ms)
		since_ms = model->moved_ms;
	return since_ms + (WAIT_MS << doublings);
}

static void model_timed_out(struct model *model)
{
	model->vain++;
	model->moved_ms = model->now_ms;
	for (unsigned n = model->floor; n < model->next; n++)
		model_transmit(model, n);
}

static void model_ack(struct model *model, unsigned number)
{
	if (number <= model->floor || number > model->next)
		return;
	model->floor = number;
	model->vain = 0;
	model->moved_ms = model->now_ms;
	model_fill(model);
}

/* Arrivals of one instant are one turn, and have one ack. */
static void model_arrivals(struct model *model)
{
	bool owed = false;

	for (; model->first < model->end && model->way[model->first].at_ms == model->now_ms;
	     model->first++) {
		if (model->way[model->first].ack) {
			model_ack(model, model->way[model->first].number);
			continue;
		}
		owed = true;
		if (model->way[model->first].number == model->expected)
			model->expected++;
	}
	if (owed)
		model_put(model, true, model->expected);
}

static void model_run(struct model *model)
{
	model_fill(model);
	while (model->floor <= model->messages) {
		int64_t deadline_ms = model_deadline(model);

		if (model->first < model->end && model->way[model->first].at_ms < deadline_ms) {
			model->now_ms = model->way[model->first].at_ms;
			model_arrivals(model);
		} else {
			model->now_ms = deadline_ms;
			model_timed_out(model);
		}
	}
}

static void expect(struct transmissions *seen, unsigned window, unsigned messages, unsigned mask)
{
	static struct model model;

	seen->count = 0;
	model = (struct model){ .seen = seen,
				.window = window,
				.messages = messages,
				.mask = mask,
				.floor = 1,
				.next = 1,
				.expected = 1 };
	model_run(&model);
}

/* ----------------------------------------------------------- against the model */

/* Message and segment take a number each, the message first. */
static void collect(struct transmissions *seen, const struct rig_side *side)
{
	seen->count = 0;
	for (uint32_t i = 0; i < side->events; i++)
		if (side->event[i].event == NOPAL_SEND_SEGMENT && side->event[i].kind == 0)
			seen->transmission[seen->count++] = (struct transmission){
				side->event[i].number,
				side->event[i].time_ns / NOPAL_MILLISECOND,
			};
}

/* Numbers of segments, in the order of their first transmissions, to 1, 2, 3... */
static void renumber(struct transmissions *seen)
{
	uint32_t numbers[MESSAGES + 1] = { 0 };
	unsigned known = 0, at;

	for (unsigned i = 0; i < seen->count; i++) {
		for (at = 0; at < known; at++)
			if (numbers[at] == seen->transmission[i].number)
				break;
		if (at == known) {
			assert_true(known < MESSAGES);
			numbers[known++] = seen->transmission[i].number;
		}
		seen->transmission[i].number = at + 1;
	}
}

static void run_masked(unsigned window, unsigned messages, unsigned mask)
{
	char config[256], link[96];
	int64_t start_ms;

	snprintf(config, sizeof(config),
		 TAPPED "go_back_n { window = %u  timeout = %dms  piggyback = off }\n", window,
		 WAIT_MS);
	snprintf(link, sizeof(link), "fwd: delay %dms loss mask 0x%x rev: delay %dms", DELAY_MS,
		 mask, DELAY_MS);
	rig_open(&rig, config, &(struct rig_options){ .link = link });
	start_ms = nopal_world_now(rig.world) / NOPAL_MILLISECOND;
	assert_int_equal(start_ms, 0);
	for (unsigned i = 0; i < messages; i++)
		assert_int_equal(rig_send(&rig, "x"), 0);
	rig_run(&rig, 20 * NOPAL_SECOND);
}

static void compare(unsigned window, unsigned messages, unsigned mask)
{
	static struct transmissions expected, seen;

	expect(&expected, window, messages, mask);
	run_masked(window, messages, mask);
	collect(&seen, &rig.opener);
	renumber(&seen);
	assert_int_equal(rig.acceptor.delivered, messages);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], messages);
	assert_int_equal(seen.count, expected.count);
	for (unsigned i = 0; i < seen.count; i++) {
		assert_int_equal(seen.transmission[i].number, expected.transmission[i].number);
		assert_int_equal(seen.transmission[i].at_ms, expected.transmission[i].at_ms);
	}
	rig_close(&rig);
}

/* Windows 1, 32 and 128 with as many messages as overlap the window's edge. */
TEST(test_every_loss_of_the_first_ten_packets)
{
	for (unsigned mask = 0; mask < 1u << MASKED; mask++) {
		compare(1, 4, mask);
		compare(32, 36, mask);
		compare(128, MESSAGES, mask);
	}
}

/* The third of four is lost: by hand, as the head comment draws it. */
TEST(test_what_left_after_the_oldest_leaves_again)
{
	static const unsigned expected[] = { 1, 2, 3, 4, 5, 6, 3, 4, 5, 6 };
	static struct transmissions seen;

	run_masked(4, 6, 1 << 2);
	collect(&seen, &rig.opener);
	renumber(&seen);
	assert_int_equal(seen.count, sizeof(expected) / sizeof(expected[0]));
	for (unsigned i = 0; i < seen.count; i++)
		assert_int_equal(seen.transmission[i].number, expected[i]);
	assert_int_equal(seen.transmission[5].at_ms, 2 * DELAY_MS);
	assert_int_equal(seen.transmission[6].at_ms, 2 * DELAY_MS + WAIT_MS);
	rig_close(&rig);
}

/* ---------------------------------------------------------------- the window */

static const struct nopal_counters *counters(void)
{
	return nopal_session_counters(rig.opener.session);
}

TEST(test_no_more_than_the_window_is_outstanding)
{
	static const unsigned windows[] = { 1, 32, 128 };

	for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		char config[128];

		snprintf(config, sizeof(config), BASE "go_back_n { window = %u }\n", windows[i]);
		rig_open(&rig, config, NULL);
		for (int m = 0; m < 300; m++)
			assert_int_equal(rig_send(&rig, "x"), 0);
		assert_int_equal(counters()->datagrams_out, windows[i]);
		rig_run(&rig, 19 * NOPAL_MILLISECOND);
		assert_int_equal(counters()->datagrams_out, windows[i]);
		rig_run(&rig, 10 * NOPAL_SECOND);
		assert_int_equal(rig.acceptor.delivered, 300);
		assert_int_equal(counters()->resends, 0);
		rig_close(&rig);
	}
}

/* Gives the opener an ack of its peer's. */
static void ack_arrives(uint64_t floor)
{
	struct nopal_session *session = rig.opener.session;
	struct nopal_at at = rig_at(session, "go_back_n");
	struct arriving one = arriving_begin(session, nopal_kind(at, 0), NULL, 0);

	nopal_set(at, one.segment, 2, floor & UINT32_MAX);
	arriving_end(&one);
}

TEST(test_acks_outside_of_the_window_are_ignored)
{
	static const uint32_t outside[] = { 0,		1,	    6,		7,	   100,
					    0x7fffffff, 0x80000000, 0x80000001, 0xffffffff };

	rig_open(&rig, TAPPED "go_back_n { window = 4 }\n",
		 &(struct rig_options){ .link = "delay 10ms loss 100%" });
	for (int i = 0; i < 9; i++)
		assert_int_equal(rig_send(&rig, "x"), 0);
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
		ack_arrives(outside[i]);
	assert_int_equal(rig_count(&rig.opener, NOPAL_ACK_FROM_NET), 0);
	assert_int_equal(counters()->datagrams_out, 4);
	ack_arrives(3);
	assert_int_equal(rig_count(&rig.opener, NOPAL_ACK_FROM_NET), 1);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 2);
	assert_int_equal(counters()->datagrams_out, 6);
	ack_arrives(2); /* late */
	ack_arrives(3); /* twice */
	assert_int_equal(rig_count(&rig.opener, NOPAL_ACK_FROM_NET), 1);
	ack_arrives(7); /* all that left */
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 6);
	rig_close(&rig);
}

/* ------------------------------------------------------------------ the timer */

TEST(test_it_gives_up_after_attempts)
{
	rig_open(&rig, BASE "go_back_n { attempts = 3  timeout = 50ms  backoff = 1 }\n",
		 &(struct rig_options){ .link = "delay 10ms loss 100%" });
	rig_send(&rig, "x");
	rig_run(&rig, 51 * NOPAL_MILLISECOND);
	assert_int_equal(counters()->datagrams_out, 2);
	rig_run(&rig, 98 * NOPAL_MILLISECOND);
	assert_int_equal(counters()->datagrams_out, 2);
	rig_run(&rig, 2 * NOPAL_MILLISECOND);
	assert_int_equal(counters()->datagrams_out, 3);
	assert_int_equal(rig.opener.ended, 0);
	rig_run(&rig, 101 * NOPAL_MILLISECOND); /* doubled once, and no more */
	assert_int_equal(rig.opener.end, NOPAL_GAVE_UP);
	rig_close(&rig);
}

/* A path longer than the fixed wait: measured, nothing leaves twice for nothing. */
TEST(test_a_measured_wait_replaces_the_fixed_one)
{
	static const char fixed[] = STOP_AND_WAIT;
	static const char measured[] = STOP_AND_WAIT "rtt_estimation {}\n";
	const struct rig_options options = { .link = "delay 40ms" };

	rig_open(&rig, fixed, &options);
	for (int i = 0; i < 20; i++)
		rig_send(&rig, "x");
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 20);
	assert_int_equal(counters()->resends, 20);
	rig_close(&rig);
	rig_open(&rig, measured, &options);
	for (int i = 0; i < 20; i++)
		rig_send(&rig, "x");
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 20);
	assert_int_equal(counters()->resends, 0);
	rig_close(&rig);
}

/* -------------------------------------------------------- others at the barrier */

/* A segment that waits for a gate is asked for once, and is not timed out. */
TEST(test_a_gate_sees_each_resend)
{
	struct nopal_segment *segment;

	rig_open(&rig, TAPPED "go_back_n {}\nstub_gate {}\n",
		 &(struct rig_options){ .link = "delay 10ms loss 100%" });
	rig_send(&rig, "x");
	segment = stub_segment(&rig);
	assert_int_equal(segment->transmissions, 0);
	stub_open_gate(&rig, segment);
	assert_int_equal(segment->transmissions, 1);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(segment->transmissions, 1);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_TIMEOUT), 1);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_RESEND), 1);
	stub_open_gate(&rig, segment);
	assert_int_equal(segment->transmissions, 2);
	rig_close(&rig);
}

/* From the lost one on, once, and at once. */
TEST(test_what_is_found_lost_goes_back)
{
	static const unsigned expected[] = { 1, 2, 3, 4, 3, 4 };
	static struct transmissions seen;

	rig_open(&rig, TAPPED "go_back_n {}\n",
		 &(struct rig_options){ .link = "delay 10ms loss 100%" });
	for (int i = 0; i < 4; i++)
		rig_send(&rig, "x");
	STUB_RAISE(&rig, SEGMENT_LOST, rig_segment(rig.opener.session, 6));
	collect(&seen, &rig.opener);
	renumber(&seen);
	assert_int_equal(seen.count, 6);
	for (unsigned i = 0; i < seen.count; i++)
		assert_int_equal(seen.transmission[i].number, expected[i]);
	rig_close(&rig);
}

/* ---------------------------------------------------------------- the receiver */

/* Unread messages are not taken, and acknowledged no further. */
TEST(test_a_receiver_without_room_takes_nothing)
{
	keeper_open(&rig,
		    BASE "keeper {}\n"
			 "go_back_n { buffer = 8B  attempts = 1000 }\n",
		    NULL);
	for (int i = 0; i < 6; i++)
		rig_send(&rig, "four");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 2);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 2);
	keeper_read(&rig, 1);
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 3);
	while (rig.acceptor.delivered < 6) {
		keeper_read(&rig, 2);
		rig_run(&rig, 10 * NOPAL_SECOND);
	}
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 6);
	keeper_read(&rig, KEEPER_ROOM);
	rig_close(&rig);
}

/* Out of sequence, twice, and again: one ack a turn, always the same. */
TEST(test_the_ack_of_what_is_not_next_is_repeated)
{
	static struct tapped tapped;
	uint8_t ack;

	memset(&tapped, 0, sizeof(tapped));
	rig_open(&rig, BASE "go_back_n { timeout = 1s }\n",
		 &(struct rig_options){ .link = "fwd: delay 10ms loss mask 0x2 rev: delay 10ms" });
	nopal_sim_tap(rig.world, tapped_note, &tapped);
	for (int i = 0; i < 5; i++) {
		rig_send(&rig, "x");
		rig_run(&rig, NOPAL_MILLISECOND);
	}
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	ack = rig_part(rig.opener.session, "go_back_n")->kind[0];
	assert_int_equal(tapped_count(&tapped, ack), 4);
	assert_int_equal(rig.acceptor.delivered, 1);
	rig_run(&rig, 2 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 5);
	nopal_sim_tap(rig.world, NULL, NULL);
	rig_close(&rig);
}

/* An arrival makes room for a transmission: no ack leaves alone but the first and the last. */
TEST(test_acks_ride_on_data)
{
	static struct tapped tapped;
	uint8_t ack;

	rig_begin(&rig, STOP_AND_WAIT);
	rig_run(&rig, NOPAL_SECOND);
	ack = rig_part(rig.opener.session, "go_back_n")->kind[0];
	memset(&tapped, 0, sizeof(tapped));
	nopal_sim_tap(rig.world, tapped_note, &tapped);
	for (int i = 0; i < 10; i++)
		rig_send(&rig, "there");
	rig_run(&rig, 10 * NOPAL_MILLISECOND);
	for (int i = 0; i < 10; i++)
		nopal_send(rig.acceptor.session, "back", 4, 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 11);
	assert_int_equal(rig.opener.delivered, 10);
	assert_int_equal(tapped_count(&tapped, ack), 2);
	nopal_sim_tap(rig.world, NULL, NULL);
	rig_close(&rig);
}

/* ---------------------------------------------------------------- the numbers */

enum { NUMBERS_LOCAL, NUMBERS_PEER };

/* Numbers of both directions begin a little before 2^32. */
static int near_the_end_open(struct nopal_at at)
{
	nopal_shared_set(at, NUMBERS_LOCAL, INT64_C(0xfffffff8));
	nopal_shared_set(at, NUMBERS_PEER, INT64_C(0xfffffff8));
	return 0;
}

static const struct nopal_microprotocol near_the_end = {
	.abi = NOPAL_ABI,
	.name = "near_the_end",
	.family = "check",
	.summary = "numbers begin a little before they go round",
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
	.shared = (const struct nopal_shared[]){ { "initial_local", NOPAL_WRITE, 1, "our first" },
						 { "initial_peer", NOPAL_WRITE, 1,
						   "the peer's first" },
						 { 0 } },
	.open = near_the_end_open,
};

TEST(test_numbers_go_round)
{
	rig_add(&near_the_end);
	rig_open(&rig,
		 BASE "near_the_end {}\ngo_back_n { window = 32 }\n"
		      "reliable_fifo {}\n",
		 &(struct rig_options){ .link = "delay 10ms loss 10%" });
	for (int i = 0; i < 200; i++) {
		char text[RIG_TEXT];

		snprintf(text, sizeof(text), "%d", i);
		assert_int_equal(rig_send(&rig, text), 0);
	}
	rig_run(&rig, 60 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 200);
	assert_string_equal(rig.acceptor.text[199], "199");
	for (int i = 0; i < 20; i++)
		nopal_send(rig.acceptor.session, "back", 4, 0);
	rig_run(&rig, 60 * NOPAL_SECOND);
	assert_int_equal(rig.opener.delivered, 20);
	rig_close(&rig);
}

/* ------------------------------------------------------------------ the config */

TEST(test_who_does_not_fit_is_refused)
{
	static const char *const others[] = { "retransmit {}\n", "positive_ack {}\n",
					      "forward_error_correction {}\n" };
	char text[4096];

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		char config[256];

		snprintf(config, sizeof(config), BASE "go_back_n {}\n%s", others[i]);
		assert_true(rig_refused(config, text, sizeof(text)));
		assert_non_null(strstr(text, "go_back_n"));
	}
	assert_true(rig_refused(BASE "go_back_n { window = 2147483649 }\n", text, sizeof(text)));
}
