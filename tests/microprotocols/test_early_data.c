/* SPDX-License-Identifier: MIT */
/*
 * Messages in the first datagram of a session: when they arrive, which may, what is lost, doubled
 * and reordered of the first datagrams, and datagrams that somebody recorded and sends again.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/early.h"
#include "support/rendezvous.h"

#define BASE                                                                                       \
	"transport_driver {}\nresize {}\nvirtual_circuit {}\nsequenced_segments {}\n"              \
	"positive_ack {}\nrtt_estimation {}\nretransmission_timer {}\nretransmit {}\n"             \
	"reliable_fifo {}\n"
static const char EARLY[] = BASE "early_data {}\n";

static struct early early;

static int close_early(void **state)
{
	(void)state;
	early_close(&early);
	return 0;
}

EACH_TEST(NULL, close_early);

static const struct nopal_endpoint_counters *counters(void)
{
	return nopal_endpoint_counters(early.rig.acceptor.endpoint);
}

static void once(const char *const *texts, uint32_t count)
{
	assert_int_equal(early.rig.acceptor.delivered, count);
	for (uint32_t i = 0; i < count; i++)
		assert_string_equal(early.rig.acceptor.text[i], texts[i]);
}

/* One more session, with an early message. */
static void again(const char *text, int64_t duration_ns)
{
	early_again(&early);
	early_send(&early, text, true);
	rig_run(&early.rig, duration_ns);
}

/* ---------------------------------------------------------------- how early */

/* Nanoseconds from the opening to the delivery of a message, at 10 ms one way. */
static int64_t delivered_after(const char *config, bool marked)
{
	int64_t begun_ns;

	early_open(&early, config);
	begun_ns = nopal_world_now(early.rig.world);
	early_again(&early);
	early_send(&early, "hello", marked);
	rig_run(&early.rig, NOPAL_SECOND);
	once((const char *[]){ "hello" }, 1);
	assert_int_equal(early.rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 1);
	return early.rig.acceptor.delivered_ns[0] - begun_ns;
}

/* Request, cookie, request, answer, message: five ways.  With early data: one. */
TEST(test_an_early_message_arrives_two_round_trips_earlier)
{
	assert_int_equal(delivered_after(EARLY, false) / NOPAL_MILLISECOND, 50);
	assert_int_equal(delivered_after(EARLY, true) / NOPAL_MILLISECOND, 10);
	assert_int_equal(
		delivered_after(BASE "early_data { all = on }\n", false) / NOPAL_MILLISECOND, 10);
}

TEST(test_the_first_session_has_no_ticket)
{
	rig_open(&early.rig, EARLY, &(struct rig_options){ .stay_closed = true });
	again("hello", NOPAL_SECOND);
	once((const char *[]){ "hello" }, 1);
	assert_int_equal(early.rig.acceptor.delivered_ns[0] / NOPAL_MILLISECOND, 50);
	assert_int_equal(counters()->early_admitted, 0);
}

/* None overtakes one that was sent before it. */
TEST(test_messages_behind_one_that_waits_wait_too)
{
	int64_t begun_ns;

	early_open(&early, EARLY);
	begun_ns = nopal_world_now(early.rig.world);
	early_again(&early);
	early_send(&early, "a", true);
	early_send(&early, "b", false);
	early_send(&early, "c", true);
	rig_run(&early.rig, NOPAL_SECOND);
	once((const char *[]){ "a", "b", "c" }, 3);
	assert_int_equal((early.rig.acceptor.delivered_ns[0] - begun_ns) / NOPAL_MILLISECOND, 10);
	assert_true(early.rig.acceptor.delivered_ns[1] - begun_ns >= 30 * NOPAL_MILLISECOND);
}

/* As many as the datagram has room for, in their order. */
TEST(test_what_does_not_fit_follows)
{
	static const char kilobyte[1000];

	early_open(&early, EARLY);
	early_again(&early);
	early_send(&early, "a", true);
	early_send_bytes(&early, kilobyte, sizeof(kilobyte), true);
	early_send(&early, "c", true);
	rig_run(&early.rig, NOPAL_SECOND);
	assert_int_equal(early.rig.acceptor.delivered, 3);
	assert_int_equal(early.rig.acceptor.length[1], sizeof(kilobyte));
	assert_string_equal(early.rig.acceptor.text[2], "c");
}

TEST(test_a_message_that_left_early_is_not_withdrawn)
{
	early_open(&early,
		   "transport_driver {}\nfixed_size {}\nvirtual_circuit {}\nearly_data {}\n");
	early_again(&early);
	early_send(&early, "a", true);
	assert_int_equal(nopal_withdraw(early.rig.opener.session, 0), 0);
	early_send(&early, "b", true);
	rig_run(&early.rig, NOPAL_MILLISECOND);
	assert_int_equal(nopal_withdraw(early.rig.opener.session, 0), -EALREADY);
	rig_run(&early.rig, NOPAL_SECOND);
	once((const char *[]){ "b" }, 1);
}

TEST(test_a_ticket_that_is_too_old_is_not_shown)
{
	early_open(&early, BASE "early_data { lifetime = 1s }\n");
	rig_pass(&early.rig, 2 * NOPAL_SECOND);
	again("a", NOPAL_SECOND);
	once((const char *[]){ "a" }, 1);
	assert_int_equal(counters()->early_admitted + counters()->early_unknown, 0);
}

/* ------------------------------------------------- lost, doubled, reordered */

/* Each of the first three datagrams of each direction is lost, comes once, twice, or long after the
 * next ones: messages come once, in order, whatever the listener's guard says. */
static void first_datagrams(const char *config, unsigned step)
{
	static const char *const texts[] = { "a", "b", "c" };

	for (unsigned fates = 0; fates < 1u << 2 * 2 * EARLY_FATES; fates += step) {
		early_open(&early, config);
		early_network(&early, fates);
		early_again(&early);
		early_send(&early, "a", true);
		early_send(&early, "b", true);
		early_send(&early, "c", false);
		nopal_session_close(early.rig.opener.session);
		rig_run(&early.rig, 60 * NOPAL_SECOND);
		once(texts, 3);
		assert_int_equal(early.rig.opener.end, NOPAL_ENDED_WELL);
		assert_int_equal(early.rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 3);
	}
}

TEST(test_every_fate_of_the_first_datagrams_delivers_once)
{
	first_datagrams(EARLY, 1);
}

/* The first session used no room of the guard: a table of one nonce, which is taken. */
TEST(test_every_fate_delivers_once_where_the_guard_is_full)
{
	for (unsigned fates = 0; fates < 1u << 2 * 2 * EARLY_FATES; fates += 13) {
		early_open(&early, BASE "early_data { nonces = 1 }\n");
		early_again(&early);
		early_send(&early, "x", true);
		rig_finish(&early.rig);
		assert_int_equal(early.rig.acceptor.delivered, 1);
		early_network(&early, fates);
		early_again(&early);
		early_send(&early, "a", true);
		nopal_session_close(early.rig.opener.session);
		rig_run(&early.rig, 60 * NOPAL_SECOND);
		assert_int_equal(early.rig.acceptor.delivered, 2);
		assert_string_equal(early.rig.acceptor.text[1], "a");
		assert_true(counters()->early_full > 0);
	}
}

/* ---------------------------------------------------------------- sent again */

/* A session whose request was recorded, with the message "hello" in it. */
static void record(const char *config)
{
	early_open(&early, config);
	early_record(&early);
	again("hello", NOPAL_SECOND);
	once((const char *[]){ "hello" }, 1);
	assert_int_equal(counters()->early_admitted, 1);
	assert_int_equal(early.request.length, 1200);
}

/* One more session, whose request is recorded and does not arrive. */
static void keep_back(void)
{
	early_record(&early);
	rig_change_both(&early.rig, "delay 10ms loss 100%");
	again("hello", NOPAL_MILLISECOND);
}

static void replay_from(int host, uint16_t port)
{
	struct nopal_address other;

	nopal_sim_address(host, port, &other);
	early_replay(&early, &other);
}

TEST(test_a_request_sent_again_is_counted_and_gets_no_answer)
{
	uint64_t replies, replayed;

	record(EARLY);
	replies = counters()->replies;
	early_replay(&early, &early.opener); /* while its session lives */
	assert_int_equal(counters()->early_replayed, 0);
	replay_from(0, 7777); /* as behind a NAT, or by somebody else there */
	assert_int_equal(counters()->early_replayed, 1);
	rig_finish(&early.rig);
	early_replay(&early, &early.opener);
	replayed = counters()->early_replayed;
	assert_int_equal(replayed, 2);
	assert_int_equal(counters()->replies, replies);
	assert_int_equal(counters()->accepted, 2);
	once((const char *[]){ "hello" }, 1);
}

TEST(test_a_request_from_another_host_is_refused)
{
	record(EARLY);
	rig_finish(&early.rig);
	replay_from(5, RIG_OPENER_PORT);
	assert_int_equal(counters()->early_unknown, 1);
	assert_int_equal(counters()->accepted, 2);
	once((const char *[]){ "hello" }, 1);
}

/* Whether its nonce is still known or not. */
TEST(test_a_request_sent_again_later_is_refused)
{
	static const int64_t waits[] = { 9, 11, 25, 45, 4000 };

	record(EARLY);
	rig_finish(&early.rig);
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		rig_pass(&early.rig, waits[i] * NOPAL_SECOND);
		early_replay(&early, &early.opener);
	}
	assert_int_equal(counters()->early_replayed + counters()->early_late, 5);
	assert_int_equal(counters()->accepted, 2);
	once((const char *[]){ "hello" }, 1);
}

TEST(test_nothing_older_than_a_restart_is_admitted)
{
	record(EARLY);
	rig_finish(&early.rig);
	early_restart(&early);
	early_replay(&early, &early.opener);
	assert_int_equal(counters()->early_unknown, 1);
	assert_int_equal(counters()->accepted, 0);
	/* nor after somebody opened a session, and there is a guard */
	again("again", NOPAL_SECOND); /* with the ticket from before */
	once((const char *[]){ "hello", "again" }, 2);
	assert_int_equal(counters()->early_unknown, 2);
	assert_int_equal(counters()->early_admitted, 0);
	rig_finish(&early.rig);
	early_replay(&early, &early.opener);
	assert_int_equal(counters()->early_unknown, 3);
	assert_int_equal(early.rig.acceptor.delivered, 2);
}

/* Nothing old is admitted: it is the opener who cannot tell that its request was. */
TEST(test_an_answer_that_a_restart_lost_has_the_messages_sent_again)
{
	early_open(&early, EARLY);
	early_record(&early);
	rig_change_both(&early.rig, "delay 10ms rev: loss 100%");
	early_again(&early);
	early_send(&early, "hello", true);
	rig_run(&early.rig, 100 * NOPAL_MILLISECOND);
	assert_int_equal(counters()->early_admitted, 1);
	once((const char *[]){ "hello" }, 1);
	assert_int_equal(early.rig.opener.opened, 0);
	early_restart(&early);
	rig_change_both(&early.rig, "delay 10ms");
	rig_run(&early.rig, NOPAL_SECOND);
	assert_int_equal(counters()->early_unknown, 1);
	assert_int_equal(counters()->early_admitted, 0);
	once((const char *[]){ "hello", "hello" }, 2);
	assert_int_equal(early.rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 1);
	early_replay(&early, &early.opener);
	assert_int_equal(counters()->early_admitted, 0);
	assert_int_equal(early.rig.acceptor.delivered, 2);
	early_close(&early);
}

TEST(test_a_flood_fills_the_guard_and_loses_nothing)
{
	enum { NONCES = 4, SESSIONS = 12 };
	char text[8];

	early_open(&early, BASE "early_data { nonces = 4 }\n");
	for (int i = 0; i < SESSIONS; i++) {
		snprintf(text, sizeof(text), "%d", i);
		early_again(&early);
		early_send(&early, text, true);
		rig_finish(&early.rig);
		assert_int_equal(early.rig.acceptor.delivered, i + 1);
		assert_string_equal(early.rig.acceptor.text[i], text);
	}
	assert_int_equal(counters()->early_admitted, NONCES);
	assert_int_equal(counters()->early_full, SESSIONS - NONCES);
	rig_pass(&early.rig, 31 * NOPAL_SECOND);
	early_again(&early);
	early_send(&early, "later", true);
	rig_finish(&early.rig);
	assert_int_equal(counters()->early_admitted, NONCES + 1);
	assert_int_equal(early.rig.acceptor.delivered, SESSIONS + 1);
}

/* ------------------------------------------------------------------ with keys */

/* A config with aead and a key that both sides had before; the file is read with the config. */
static void keyed(char *config, size_t room, char *path)
{
	int file = mkstemp(path);

	assert_int_equal(write(file, "a key of sixteen bytes and more", 31), 31);
	close(file);
	snprintf(config, room, BASE "early_data {}\naead { psk_file = \"%s\" }\n", path);
}

TEST(test_an_early_message_is_sealed_by_the_key_of_before)
{
	char config[1024], path[] = "/tmp/nopal-early-XXXXXX";

	keyed(config, sizeof(config), path);
	assert_int_equal(delivered_after(config, true) / NOPAL_MILLISECOND, 10);
	record(config);
	assert_null(memmem(early.request.bytes, early.request.length, "hello", 5));
	rig_finish(&early.rig);
	early_replay(&early, &early.opener);
	assert_int_equal(counters()->early_replayed, 1);
	once((const char *[]){ "hello" }, 1);
	unlink(path);
}

TEST(test_every_fate_delivers_once_with_keys)
{
	char config[1024], path[] = "/tmp/nopal-early-XXXXXX";

	keyed(config, sizeof(config), path);
	first_datagrams(config, 13);
	unlink(path);
}

TEST(test_without_a_key_of_before_no_message_is_early)
{
	assert_true(delivered_after(BASE "early_data {}\naead {}\n", true) >=
		    50 * NOPAL_MILLISECOND);
}

/* A thief has the ticket, which travels in clear, and not the file: a proof that is good, over
 * messages that do not open.  The session opens as any stranger's, and nothing is delivered early. */
TEST(test_a_ticket_alone_makes_no_early_message)
{
	char config[1024], path[] = "/tmp/nopal-early-XXXXXX";

	keyed(config, sizeof(config), path);
	early_open(&early, config);
	keep_back();
	early_forge(&early);
	early_replay(&early, &early.opener);
	assert_int_equal(counters()->early_admitted, 1);
	assert_int_equal(early.rig.acceptor.delivered, 0);
	rig_change_both(&early.rig, "delay 10ms");
	rig_run(&early.rig, 10 * NOPAL_SECOND);
	assert_true(early.rig.acceptor.delivered <= 1);
	unlink(path);
}

/* ----------------------------------------- somebody between, who forges a cookie */

/* The request is kept back, and its opener led to show a cookie: the messages come by the session
 * that follows, and the request that was kept back is worth nothing any more. */
TEST(test_a_request_kept_back_behind_a_forged_cookie_is_refused)
{
	early_open(&early, EARLY);
	keep_back();
	rig_change_both(&early.rig, "delay 10ms");
	early_cookie(&early);
	rig_run(&early.rig, NOPAL_SECOND);
	once((const char *[]){ "hello" }, 1);
	assert_int_equal(counters()->early_admitted, 0);
	replay_from(0, 7777);
	assert_int_equal(counters()->early_replayed, 1);
	rig_finish(&early.rig);
	early_replay(&early, &early.opener);
	assert_int_equal(counters()->early_replayed, 2);
	once((const char *[]){ "hello" }, 1);
}

/* The other way round: the request comes from another port, and its opener is led to open anew. */
TEST(test_a_session_whose_request_was_admitted_elsewhere_is_refused)
{
	early_open(&early, EARLY);
	keep_back();
	replay_from(0, 7777);
	once((const char *[]){ "hello" }, 1);
	rig_change_both(&early.rig, "delay 10ms");
	early_cookie(&early);
	rig_run(&early.rig, 20 * NOPAL_SECOND);
	assert_int_equal(early.rig.opener.ended, 1);
	assert_int_equal(early.rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 0);
	once((const char *[]){ "hello" }, 1);
}

/* The bytes of the listener to an opener that says no more are fewer than those of the request. */
TEST(test_a_silent_opener_gets_less_than_it_sent)
{
	record(EARLY);
	rig_finish(&early.rig);
	early_again(&early);
	early_record(&early);
	rig_change_both(&early.rig, "delay 10ms loss 100%");
	early_send(&early, "again", true);
	rig_run(&early.rig, NOPAL_MILLISECOND);
	nopal_session_abort(early.rig.opener.session, "gone");
	rig_run(&early.rig, NOPAL_MILLISECOND);
	early_count_answers(&early);
	early_replay(&early, &early.opener);
	rig_run(&early.rig, 60 * NOPAL_SECOND);
	once((const char *[]){ "hello", "again" }, 2);
	assert_true(early.answer_bytes > 0);
	assert_true(early.answer_bytes < early.request.length);
	early_restart(&early);
	early_count_answers(&early);
	early_replay(&early, &early.opener);
	assert_true(early.answer_bytes > 0 && early.answer_bytes < 64);
}

/* ----------------------------------------------------------------- tampered */

/* A request that never arrived.  Its proof is of the opener's id, of the extension and of the
 * messages; what else is changed makes no more of it than one request. */
TEST(test_no_changed_request_is_admitted)
{
	uint32_t extension, end;

	early_open(&early, EARLY);
	keep_back();
	extension = early_extension(&early);
	end = extension + 32 + 1 + 1 + 8 + 2 + 2 + 5;
	assert_memory_equal(early.request.bytes + end - 5, "hello", 5);
	for (uint32_t at = extension; at < end; at++)
		early_replay_changed(&early, at);
	for (uint32_t at = 1; at < 5; at++)
		early_replay_changed(&early, at);
	assert_int_equal(counters()->early_admitted, 0);
	assert_int_equal(early.rig.acceptor.delivered, 0);
	assert_true(counters()->early_unknown > 32);
	for (uint32_t at = 5; at < early.request.length; at++)
		if (at < EARLY_HEAD || at >= EARLY_HEAD + EARLY_CHECK)
			early_replay_changed(&early, at);
	assert_true(counters()->early_admitted <= 1);
	assert_true(early.rig.acceptor.delivered <= 1);
}

/* --------------------------------------------------------------- no answer */

/* Whether a copy was admitted is not known any more: nothing is sent again. */
TEST(test_a_cookie_after_the_window_ends_the_session)
{
	early_open(&early, BASE "early_data { window = 100ms }\n");
	rig_change_both(&early.rig, "delay 10ms loss 100%");
	again("hello", 200 * NOPAL_MILLISECOND);
	early_cookie(&early);
	rig_run(&early.rig, NOPAL_MILLISECOND);
	assert_int_equal(early.rig.opener.ended, 1);
	assert_int_equal(early.rig.opener.end, NOPAL_UNREACHABLE);
	assert_non_null(strstr(early.rig.opener.end_text, "delivered"));
}

/* ------------------------------------------------------ where nothing is early */

static bool is_good(const char *config)
{
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan = nopal_plan_parse(config, "early.conf", NULL, &problems);

	nopal_plan_unref(plan);
	nopal_problems_fini(&problems);
	return plan != NULL;
}

TEST(test_streams_and_groups_are_refused_early_data)
{
	assert_true(is_good("extends = \"bulk\"\nearly_data {}\n"));
	assert_false(is_good("extends = \"streams\"\nlayer \"flow\" { early_data {} }\n"));
	assert_false(is_good("extends = \"streams\"\nlayer \"stream\" { early_data {} }\n"));
	assert_false(is_good(
		"extends = \"one_to_many_all\"\nlayer \"destination\" { early_data {} }\n"));
	assert_false(is_good("extends = \"one_to_many_all\"\nlayer \"group\" { early_data {} }\n"));
}

/* The opening that early messages are promised. */
static unsigned opening_promised(const char *config)
{
	struct nopal_plan *plan = rig_plan(config);
	struct nopal_service service;

	nopal_plan_service(plan, 0, "early", &service);
	nopal_plan_unref(plan);
	return service.quality[NOPAL_OPENING].value;
}

TEST(test_without_a_key_of_before_no_promise_is_lowered)
{
	char config[1024], path[] = "/tmp/nopal-early-XXXXXX";

	assert_int_equal(opening_promised(EARLY), NOPAL_AGREED);
	assert_int_equal(opening_promised(BASE "early_data {}\naead {}\n"),
			 NOPAL_AGREED | NOPAL_PROVEN);
	keyed(config, sizeof(config), path);
	assert_int_equal(opening_promised(config), NOPAL_AGREED | NOPAL_KNOWN_PEER);
	unlink(path);
}

/* Each has a ticket, or may have, of the first session, in which it did not listen. */
TEST(test_in_a_rendezvous_messages_wait)
{
	static const char all_early[] = BASE "early_data { all = on }\n";

	rendezvous_begin(all_early, all_early, "delay 10ms", 3);
	for (uint32_t session = 0; session < 2; session++) {
		rendezvous.side[0].ended = rendezvous.side[1].ended = 0;
		rendezvous_open(0);
		rendezvous_say(0, "hello");
		rendezvous_run(NOPAL_SECOND);
		assert_int_equal(rendezvous.side[1].delivered, session);
		rendezvous_open(1);
		rendezvous_run(NOPAL_SECOND);
		assert_int_equal(rendezvous.side[1].delivered, session + 1);
		rendezvous_expect_good_end();
	}
	for (int who = 0; who < 2; who++)
		assert_int_equal(
			nopal_endpoint_counters(rendezvous.side[who].endpoint)->early_admitted, 0);
	rendezvous_end();
}
