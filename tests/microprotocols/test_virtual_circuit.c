/* SPDX-License-Identifier: MIT */
#include "plan/plan.h"
#include "support/early_losses.h"
#include "support/segments.h"

#include "../../microprotocols/base/virtual_circuit.h"
#include "support/test.h"

static const char CIRCUIT[] = "transport_driver {}\nfixed_size {}\nvirtual_circuit {}\na_tap {}\n";

enum { CONNECT, ACCEPT, CLOSE, CLOSE_ACK };

static void open_over(struct rig *rig, const char *link)
{
	rig_open(rig, CIRCUIT, &(struct rig_options){ .link = link, .stay_closed = true });
}

TEST(test_both_open_in_two_round_trips)
{
	struct rig rig;

	open_over(&rig, "delay 10ms");
	rig_start(&rig);
	assert_int_equal(rig.opener.opened, 1);
	assert_int_equal(rig.acceptor.opened, 1);
	assert_true(nopal_world_now(rig.world) <= 50 * NOPAL_MILLISECOND);
	assert_int_equal(rig_send(&rig, "hello"), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_string_equal(rig.acceptor.text[0], "hello");
	rig_close(&rig);
}

TEST(test_initial_numbers_agree_and_are_random)
{
	struct rig rig;
	int64_t local;

	rig_open(&rig, CIRCUIT, NULL);
	local = rig_shared(rig.opener.session, "initial_local");
	assert_int_equal(local, rig_shared(rig.acceptor.session, "initial_peer"));
	assert_int_equal(rig_shared(rig.opener.session, "initial_peer"),
			 rig_shared(rig.acceptor.session, "initial_local"));
	rig_close(&rig);
	rig_open(&rig, CIRCUIT, &(struct rig_options){ .seed = 2 });
	assert_int_not_equal(local, rig_shared(rig.opener.session, "initial_local"));
	rig_close(&rig);
}

TEST(test_listener_keeps_nothing_before_the_cookie)
{
	struct rig rig;
	const struct nopal_endpoint_counters *counters;

	open_over(&rig, "fwd: delay 10ms rev: delay 10ms loss 100%");
	rig_start(&rig);
	counters = nopal_endpoint_counters(rig.acceptor.endpoint);
	assert_true(counters->requests > 1);
	assert_true(counters->replies > 1);
	assert_int_equal(counters->accepted, 0);
	assert_int_equal(counters->sessions, 0);
	rig_run(&rig, 60 * NOPAL_SECOND);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_UNREACHABLE);
	rig_close(&rig);
}

TEST(test_reply_is_smaller_than_its_request)
{
	static struct tapped tapped;
	struct rig rig;

	tapped.count = 0;
	open_over(&rig, "delay 10ms");
	nopal_sim_tap(rig.world, tapped_note, &tapped);
	rig_start(&rig);
	assert_int_equal(tapped.kind[0], NOPAL_KIND_CONNECT);
	assert_int_equal(tapped.length[0], 1200);
	assert_int_equal(tapped.kind[1], NOPAL_KIND_REPLY);
	assert_true(tapped.length[1] < 64);
	nopal_sim_tap(rig.world, NULL, NULL);
	rig_close(&rig);
}

/* Every loss pattern of the first datagrams in each direction. */
TEST(test_every_early_loss_is_survived)
{
	for (unsigned mask = 0; mask < 64; mask++) {
		struct rig rig;

		open_over(&rig, early_losses(mask & 7, mask >> 3));
		rig_start(&rig);
		assert_int_equal(rig.opener.opened, 1);
		assert_int_equal(rig.acceptor.opened, 1);
		assert_int_equal(rig_shared(rig.opener.session, "initial_peer"),
				 rig_shared(rig.acceptor.session, "initial_local"));
		rig_finish(&rig);
		assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
		assert_int_equal(rig.acceptor.end, NOPAL_ENDED_WELL);
		rig_close(&rig);
	}
}

static void close_under(const char *link)
{
	struct rig rig;

	rig_open(&rig, CIRCUIT, NULL);
	rig_change_both(&rig, link);
	rig_finish(&rig);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.acceptor.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
	assert_int_equal(rig.acceptor.end, NOPAL_ENDED_WELL);
	assert_int_equal(rig.acceptor.peer_closed, 1);
	assert_int_equal(rig.opener.peer_closed, 1);
	rig_close(&rig);
}

TEST(test_close_survives_every_early_loss)
{
	for (unsigned mask = 0; mask < 64; mask++)
		close_under(early_losses(mask & 7, mask >> 3));
}

TEST(test_simultaneous_close_ends_well)
{
	struct rig rig;

	rig_open(&rig, CIRCUIT, NULL);
	nopal_session_close(rig.opener.session);
	nopal_session_close(rig.acceptor.session);
	rig_run(&rig, 5 * NOPAL_SECOND);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
	assert_int_equal(rig.acceptor.end, NOPAL_ENDED_WELL);
	rig_close(&rig);
}

TEST(test_close_towards_nobody_is_bounded)
{
	struct rig rig;

	rig_open(&rig, CIRCUIT, NULL);
	rig_change(&rig, "loss 100%");
	nopal_session_close(rig.opener.session);
	rig_run(&rig, 30 * NOPAL_SECOND);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_PEER_LOST);
	rig_close(&rig);
}

/* The opener vanishes after its cookie: the half-open session goes too. */
TEST(test_half_open_session_is_given_up)
{
	struct rig rig;

	open_over(&rig, "fwd: delay 10ms loss mask 0xfffffffffffffffc rev: "
			"delay 10ms loss mask 0xfffffffffffffffe");
	rig_start(&rig);
	assert_int_equal(rig.acceptor.opened, 1);
	assert_int_equal(rig.opener.opened, 0);
	rig_run(&rig, 30 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.ended, 1);
	assert_int_equal(rig.acceptor.end, NOPAL_UNREACHABLE);
	rig_close(&rig);
}

/* A close of another connection, truncated, too long, or with flags that do not exist changes
 * nothing. */
TEST(test_interop_closes_change_nothing)
{
	uint8_t bytes[HANDSHAKE_CLOSE_BYTES + 1] = { 0 };
	struct rig rig;

	rig_open(&rig, CIRCUIT, NULL);
	for (size_t length = 0; length <= sizeof(bytes); length++) {
		arrive_control(rig.opener.session, "virtual_circuit", CLOSE, bytes, length);
		arrive_control(rig.opener.session, "virtual_circuit", CLOSE_ACK, bytes, length);
		arrive_control(rig.acceptor.session, "virtual_circuit", ACCEPT, bytes, length);
		arrive_control(rig.opener.session, "virtual_circuit", ACCEPT, bytes, length);
		arrive_control(rig.acceptor.session, "virtual_circuit", CONNECT, bytes, length);
	}
	rig_run(&rig, 20 * NOPAL_SECOND);
	assert_int_equal(rig.opener.peer_closed, 0);
	assert_int_equal(rig.opener.ended, 0);
	assert_int_equal(rig.acceptor.ended, 0);
	rig_close(&rig);
}

static void arrive_cookie(struct rig *rig, uint64_t nonce)
{
	const struct handshake_connect cookie = { .nonce = nonce, .cookie = 11, .cookie_epoch = 3 };
	uint8_t bytes[32];
	struct nopal_writer writer = nopal_writer_over(bytes, sizeof(bytes));
	struct arriving one;

	handshake_write_cookie(&writer, &cookie);
	one = arriving_begin(rig->opener.session, NOPAL_KIND_REPLY, bytes, nopal_written(&writer));
	arriving_end(&one);
}

/* A cookie for another connection is not shown, and not answered. */
TEST(test_a_cookie_of_another_peer_changes_nothing)
{
	const struct virtual_circuit *circuit;
	struct rig rig;

	open_over(&rig, "delay 10ms loss 100%");
	rig_start(&rig);
	circuit = rig_state(rig.opener.session, "virtual_circuit");
	arrive_cookie(&rig, circuit->connect.nonce + 1);
	assert_int_equal(circuit->connect.cookie_given, 0);
	assert_int_equal(circuit->cookies, 0);
	arrive_cookie(&rig, circuit->connect.nonce);
	assert_int_equal(circuit->connect.cookie, 11);
	assert_int_equal(circuit->cookies, 1);
	rig_close(&rig);
}

TEST(test_data_before_the_accept_is_stopped)
{
	struct arriving one;
	struct rig rig;

	open_over(&rig, "delay 10ms loss 100%");
	rig_start(&rig);
	one = arriving_begin(rig.opener.session, NOPAL_KIND_DATA, "x", 1);
	arriving_end(&one);
	assert_int_equal(rig.opener.delivered, 0);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_VERIFIED), 0);
	rig_close(&rig);
}

/* ----------------------------------------------------------- bytes and back */

static size_t written(uint8_t *bytes, size_t room, const struct handshake_connect *connect)
{
	struct nopal_writer writer = nopal_writer_over(bytes, room);

	handshake_write_known(&writer, "text", 0, connect);
	handshake_write_proof(&writer, connect);
	assert_false(writer.full);
	return nopal_written(&writer);
}

static bool reads(const uint8_t *bytes, size_t length)
{
	uint8_t *exact = malloc(length ? length : 1);
	struct handshake_connect connect;
	struct nopal_reader known;
	bool good;

	memcpy(exact, bytes, length);
	good = handshake_read_connect(nopal_reader_over(exact, length), 0, &connect, &known);
	free(exact);
	return good;
}

TEST(test_connect_is_read_in_one_form_only)
{
	const struct handshake_connect connect = {
		.nonce = 7, .initial = 9, .cookie_given = 1, .cookie_epoch = 3, .cookie = 11
	};
	const size_t fields = 5 + HANDSHAKE_FIELDS_BYTES;
	uint8_t bytes[128];
	size_t length = written(bytes, sizeof(bytes), &connect);

	assert_int_equal(length, sizeof(bytes));
	assert_true(reads(bytes, length));
	for (size_t cut = 0; cut < fields; cut++)
		assert_false(reads(bytes, cut));
	for (size_t cut = fields; cut <= length; cut++)
		assert_true(reads(bytes, cut));
	bytes[length - 1] = 1;
	assert_false(reads(bytes, length));
}

TEST(test_no_cookie_has_one_form)
{
	struct handshake_connect connect = { .nonce = 7, .initial = 9 };
	uint8_t bytes[128];

	assert_true(reads(bytes, written(bytes, sizeof(bytes), &connect)));
	connect.cookie = 1;
	assert_false(reads(bytes, written(bytes, sizeof(bytes), &connect)));
	connect.cookie_given = 2;
	assert_false(reads(bytes, written(bytes, sizeof(bytes), &connect)));
	connect.cookie_given = 1;
	assert_true(reads(bytes, written(bytes, sizeof(bytes), &connect)));
	connect.initial = 0;
	assert_false(reads(bytes, written(bytes, sizeof(bytes), &connect)));
}

/* The runtime's keyed hash needs an endpoint; this test asks admission through one, at both sides
 * of an epoch's end. */
TEST(test_cookie_lives_for_its_epoch_and_the_next)
{
	static const int64_t waits_ns[] = { 0, 7 * NOPAL_SECOND, 9 * NOPAL_SECOND };

	for (size_t i = 0; i < sizeof(waits_ns) / sizeof(waits_ns[0]); i++) {
		struct rig rig;

		open_over(&rig, "fwd: delay 10ms rev: delay 10ms");
		rig_run(&rig, waits_ns[i] + 8 * NOPAL_SECOND - 15 * NOPAL_MILLISECOND);
		rig_start(&rig); /* asked before, shown after the end */
		assert_int_equal(rig.opener.opened, 1);
		assert_int_equal(nopal_endpoint_counters(rig.acceptor.endpoint)->replies, 1);
		rig_close(&rig);
	}
}

TEST(test_refusal_shows_the_difference)
{
	static const char other[] = "transport_driver {}\nfixed_size {}\n"
				    "virtual_circuit {}\n"
				    "sequenced_messages {}\na_tap {}\n";
	struct rig rig;
	struct nopal_plan *plan, *ours;

	open_over(&rig, "delay 10ms");
	plan = rig_plan(other);
	ours = rig.plan;
	rig.plan = plan;
	rig_start(&rig);
	rig.plan = ours;
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_REFUSED);
	assert_non_null(strstr(rig.opener.end_text, "sequenced_messages"));
	nopal_plan_unref(plan);
	rig_close(&rig);
}

TEST(test_retry_beyond_its_bound_is_refused)
{
	char text[1024];

	assert_true(rig_refused("transport_driver {}\nfixed_size {}\n"
				"virtual_circuit { retry = 5s }\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "retry_most"));
}
