/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "session/endpoint_sessions.h"
#include "support/remembered.h"
#include "support/test.h"

enum {
	MINUTE = 60,
	OTHER_PORT = 3000,
	ROUNDING_BPS = 80, /* a byte in 100 ms */
};

static const char FORGETFUL[] = RELIABLE "cubic_congestion {}\n";
static const char FRESH[] = RELIABLE "cubic_congestion {}\npath_memory { expire = 2min }\n";

static void wait_minutes(int minutes)
{
	rig_pass(&rig, minutes * MINUTE * NOPAL_SECOND);
}

/* ------------------------------------------------------------ who begins how */

TEST(test_the_first_session_begins_with_guesses)
{
	remembered_begin(CUBIC, LINK);
	start();
	assert_int_equal(shared("known_rtt_ns"), 0);
	assert_int_equal(shared("known_window_bytes"), 0);
	assert_int_equal(shared("known_rate_bps"), 0);
	assert_int_equal(shared("timeout_ns"), NOPAL_SECOND);
	assert_int_equal(shared("congestion_window_bytes"), segments(FIRST_SEGMENTS));
	stop();
	rig_close(&rig);
}

TEST(test_the_second_begins_with_what_the_first_measured)
{
	int64_t rtt, variance, window;

	remembered_begin(CUBIC, LINK);
	start();
	transfer(FILE_BYTES);
	rig_run(&rig, NOPAL_SECOND);
	rtt = shared("smoothed_rtt_ns");
	variance = shared("rtt_variance_ns");
	stop();

	start();
	assert_int_equal(shared("known_rtt_ns"), rtt);
	assert_int_equal(shared("known_rtt_variance_ns"), variance);
	assert_int_equal(shared("smoothed_rtt_ns"), 0); /* its own: none yet */
	/* as after a first sample: variance is half of it, and four of those */
	assert_int_equal(shared("timeout_ns"), rtt + 4 * (rtt / 2));
	window = shared("known_window_bytes");
	assert_in_range(window, segments(FIRST_SEGMENTS) + 1, segments(MAX_SEGMENTS));
	assert_int_equal(shared("congestion_window_bytes"), window);
	/* a window in a round trip, but for what divisions lose */
	assert_in_range(shared("known_rate_bps"), window * 8 * NOPAL_SECOND / rtt - 1,
			window * 8 * NOPAL_SECOND / rtt);
	stop();
	rig_close(&rig);
}

TEST(test_it_takes_fewer_round_trips)
{
	int64_t without, first, second, third;

	remembered_begin(FORGETFUL, LINK);
	without = session_of(FILE_BYTES);
	assert_int_equal(session_of(FILE_BYTES), without);
	rig_close(&rig);

	remembered_begin(CUBIC, LINK);
	first = session_of(FILE_BYTES);
	second = session_of(FILE_BYTES);
	third = session_of(FILE_BYTES);
	print_message("round trips: %d without, %d, %d, %d with\n", (int)without, (int)first,
		      (int)second, (int)third);
	assert_int_equal(first, without);
	assert_in_range(second, 1, without - 1);
	assert_in_range(third, 1, second);
	rig_close(&rig);
}

/* Every policy begins with the window, and is quicker for it. */
TEST(test_policies_begin_with_it)
{
	static const char *const policies[] = { "tcp_congestion {}\n",
						"westwood_congestion {}\n",
						"bic_congestion {}\n",
						"scalable_congestion {}\n",
						"highspeed_congestion {}\n",
						"vegas_congestion {}\n",
						"fast_congestion {}\n",
						"rate_cc {}\nudt_congestion {}\n",
						"rate_cc {}\nscp_congestion {}\n",
						"rate_cc {}\nbbr_congestion {}\n",
						"rate_cc {}\npacing {}\ncubic_congestion {}\n" };
	char config[1024];
	int64_t first, second;

	for (size_t i = 0; i < sizeof(policies) / sizeof(*policies); i++) {
		snprintf(config, sizeof(config), "%s%spath_memory {}\n", RELIABLE, policies[i]);
		remembered_begin(config, LINK);
		first = session_of(FILE_BYTES);
		start();
		assert_true(shared("known_window_bytes") > segments(FIRST_SEGMENTS));
		assert_int_equal(shared("congestion_window_bytes"), shared("known_window_bytes"));
		second = transfer(FILE_BYTES);
		stop();
		print_message("%s: %d round trips, then %d\n", policies[i], (int)first,
			      (int)second);
		assert_in_range(second, 1, first - 1);
		rig_close(&rig);
	}
}

TEST(test_a_rate_begins_with_it)
{
	static const char config[] =
		"transport_driver {}\nresize {}\nvirtual_circuit {}\n"
		"sequenced_segments {}\npositive_ack {} retransmission_timer {}\nduplicate_ack {}\n"
		"rtt_estimation {}\nretransmit {}\nwindowed_flow {}\n"
		"reliable_fifo {}\nrate_cc {}\ntfrc {}\npath_memory {}\n";
	int64_t first, rate;

	remembered_begin(config, LINK);
	first = session_of(FILE_BYTES);
	start();
	rate = shared("known_rate_bps");
	assert_true(rate > segments(1) * 8);
	assert_int_equal(shared("sending_rate_bps"), rate);
	rig_send(&rig, "x");
	rig_run(&rig, 150 * NOPAL_MILLISECOND);
	assert_true(shared("smoothed_rtt_ns") > 0);
	assert_true(shared("sending_rate_bps") >= rate);
	stop();
	assert_in_range(session_of(FILE_BYTES), 1, first - 1);
	rig_close(&rig);
}

/* ------------------------------------------------------ whose path is whose */

/* One more host, which has a link to that one. */
static int host_beside(int other)
{
	struct nopal_link link, back;
	struct nopal_problems problems = { 0 };
	int host = nopal_sim_host(rig.world);

	nopal_link_parse(LINK, &link, &back, &problems);
	nopal_problems_fini(&problems);
	nopal_sim_connect(rig.world, other, host, &link, &back);
	return host;
}

/* A session of the opener to another host than the acceptor's, which listens. */
static struct nopal_session *open_elsewhere(void)
{
	struct nopal_endpoint *there;
	struct nopal_address peer;
	struct nopal_session *session;
	int host = host_beside(0);

	there = nopal_sim_endpoint(rig.world, host, OTHER_PORT);
	nopal_endpoint_allow(there, rig.plan, 0, NULL, NULL);
	nopal_sim_address(host, OTHER_PORT, &peer);
	session = nopal_open(rig.opener.endpoint, rig.plan, &peer, NULL, NULL);
	assert_non_null(session);
	rig_run(&rig, NOPAL_SECOND);
	assert_true(nopal_session_is_open(session));
	return session;
}

TEST(test_another_host_is_another_path)
{
	struct nopal_session *session;

	remembered_begin(CUBIC, LINK);
	session_of(FILE_BYTES);
	session = open_elsewhere();
	assert_int_equal(rig_shared(session, "known_rtt_ns"), 0);
	assert_int_equal(rig_shared(session, "timeout_ns"), NOPAL_SECOND);
	nopal_session_close(session);
	rig_close(&rig);
}

TEST(test_from_another_host_it_is_another_path)
{
	struct nopal_address peer;
	struct nopal_session *session;

	remembered_begin(CUBIC, LINK);
	session_of(FILE_BYTES);
	nopal_sim_address(1, 2000, &peer);
	session = nopal_open(nopal_sim_endpoint(rig.world, host_beside(1), OTHER_PORT), rig.plan,
			     &peer, NULL, NULL);
	assert_int_equal(rig_shared(session, "known_rtt_ns"), 0);
	nopal_session_abort(session, "seen enough");
	rig_close(&rig);
}

TEST(test_another_port_is_the_same_path)
{
	struct nopal_endpoint *again;
	struct nopal_session *session;
	struct nopal_address peer;

	remembered_begin(CUBIC, LINK);
	session_of(FILE_BYTES);
	/* from an endpoint that was not there, as of another program run */
	nopal_endpoint_close(rig.opener.endpoint);
	again = nopal_sim_endpoint(rig.world, 0, OTHER_PORT);
	nopal_sim_address(1, 2000, &peer);
	session = nopal_open(again, rig.plan, &peer, NULL, NULL);
	assert_true(rig_shared(session, "known_rtt_ns") > 0);
	nopal_session_abort(session, "seen enough");
	rig_close(&rig);
}

/* The acceptor sent acks alone: what the opener knows is not for it. */
TEST(test_who_measured_nothing_knows_nothing)
{
	remembered_begin(CUBIC, LINK);
	session_of(FILE_BYTES);
	start();
	assert_true(shared("known_rtt_ns") > 0);
	assert_int_equal(rig_shared(rig.acceptor.session, "known_rtt_ns"), 0);
	assert_int_equal(rig_shared(rig.acceptor.session, "known_window_bytes"), 0);
	stop();
	rig_close(&rig);
}

/* ----------------------------------------------------------- what wears off */

TEST(test_the_window_halves_with_age_and_expires)
{
	int64_t window, later;

	remembered_begin(CUBIC, LINK);
	session_of(FILE_BYTES);
	start();
	window = shared("known_window_bytes");
	assert_true(window > 0);
	stop();
	wait_minutes(10);
	start();
	later = shared("known_window_bytes");
	assert_in_range(later, window / 2 - 1, window / 2 + 1);
	assert_true(shared("known_rtt_ns") > 0);
	stop();
	wait_minutes(70);
	start();
	assert_int_equal(shared("known_window_bytes"), 0);
	assert_int_equal(shared("known_rtt_ns"), 0);
	stop();
	rig_close(&rig);
}

TEST(test_how_old_is_too_old_is_the_configs_to_say)
{
	remembered_begin(FRESH, LINK);
	session_of(FILE_BYTES);
	start();
	assert_true(shared("known_rtt_ns") > 0);
	stop();
	wait_minutes(2);
	start();
	assert_int_equal(shared("known_rtt_ns"), 0);
	stop();
	rig_close(&rig);
}

TEST(test_a_session_that_sent_little_does_not_lower_it)
{
	int64_t rate;

	remembered_begin(CUBIC, LINK);
	session_of(FILE_BYTES);
	start();
	rate = shared("known_rate_bps");
	transfer(100);
	stop();
	start();
	/* its round trip is another, and with it what divisions lose */
	assert_in_range(shared("known_rate_bps"), rate - ROUNDING_BPS, rate + ROUNDING_BPS);
	stop();
	rig_close(&rig);
}

TEST(test_a_path_that_got_slow_lowers_it)
{
	int64_t window;

	remembered_begin(CUBIC, LINK);
	session_of(FILE_BYTES);
	start();
	window = shared("known_window_bytes");
	rig_change_both(&rig, "rate 1mbit delay 50ms limit 20");
	transfer(FILE_BYTES);
	transfer(FILE_BYTES);
	stop();
	start();
	assert_in_range(shared("known_window_bytes"), 1, window / 2);
	stop();
	rig_close(&rig);
}

TEST(test_after_a_peer_that_vanished_no_window_is_known)
{
	remembered_begin(CUBIC, LINK);
	session_of(FILE_BYTES);
	start();
	rig_change_both(&rig, "loss 100%");
	rig_send_bytes(&rig, FILE_BYTES);
	for (int i = 0; i < 100 && rig.opener.session; i++)
		rig_run(&rig, 10 * NOPAL_SECOND);
	assert_true(rig.opener.end == NOPAL_GAVE_UP || rig.opener.end == NOPAL_PEER_LOST);
	if (rig.acceptor.session)
		nopal_session_abort(rig.acceptor.session, "nobody is there");
	rig_change_both(&rig, LINK);
	start();
	assert_int_equal(shared("known_window_bytes"), 0);
	assert_int_equal(shared("congestion_window_bytes"), segments(FIRST_SEGMENTS));
	stop();
	rig_close(&rig);
}
