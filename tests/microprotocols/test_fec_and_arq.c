/* SPDX-License-Identifier: MIT */
/*
 * Redundancy and resends in one composition, with repair_first and without: all messages arrive, in
 * order, either way.
 */
#include "support/blocks.h"
#include "erasure.h"
#include "support/test.h"

/* Reports of losses do not wait: where they do, they learn to wait for repairs, which look like a
 * path that reorders. */
static const char *arq_config(const char *waits, int n, int k)
{
	static char more[512];

	snprintf(more, sizeof(more),
		 "rtt_estimation {}\npositive_ack { selective = on } retransmission_timer {}\n"
		 "duplicate_ack { adapt = off }\nretransmit {}\n%s"
		 "reliable_fifo {}\ncheck_fifo {}\ncheck_integrity {}\n"
		 "check_holds {}\n",
		 waits);
	return fec_config(n, k, more);
}

/* All of `count` messages arrive, in order; how many resends that took. */
static uint64_t resends_of(const char *config, const char *link, uint64_t seed, uint32_t count)
{
	const struct rig_options options = { .link = link, .seed = seed };
	uint64_t resends;

	rig_open(&net.rig, config, &options);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(rig_send(&net.rig, "one"), 0);
		rig_run(&net.rig, 2 * NOPAL_MILLISECOND);
	}
	rig_run(&net.rig, 300 * NOPAL_SECOND);
	assert_int_equal(net.rig.acceptor.delivered, count);
	assert_int_equal(net.rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], count);
	resends = nopal_session_counters(net.rig.opener.session)->resends;
	rig_finish(&net.rig);
	assert_int_equal(net.rig.opener.end, NOPAL_ENDED_WELL);
	rig_close(&net.rig);
	return resends;
}

/* The first segment is lost; parity waits behind those that may not leave before it has arrived. */
TEST(test_what_redundancy_never_sends_is_not_waited_for)
{
	const struct rig_options losing = { .link = "delay 10ms loss mask 01" };

	rig_open(&net.rig,
		 "transport_driver {}\nresize {}\nsequenced_segments {}\n"
		 "positive_ack { window = 1 } retransmission_timer {}\nrtt_estimation {}\n"
		 "retransmit {}\nrepair_first {}\nwindowed_cc {}\n"
		 "rate_cc {}\nbbr_congestion {}\nsliding_window_fec {}\n",
		 &losing);
	for (int i = 0; i < 8; i++)
		assert_int_equal(rig_send_bytes(&net.rig, 1000), 0);
	rig_run(&net.rig, 300 * NOPAL_SECOND);
	assert_int_equal(net.rig.acceptor.delivered, 8);
	assert_int_equal(net.rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 8);
	rig_close(&net.rig);
}

TEST(test_fewer_resends_where_they_wait)
{
	static const char *const links[] = {
		"delay 20ms loss 5%", "delay 20ms 1ms loss 2%", "delay 5ms loss 2% duplicate 2%",
		"delay 50ms loss 1%", "delay 20ms 5ms loss 3%",
	};
	uint64_t at_once, waited;

	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		at_once = resends_of(arq_config("", 16, 15), links[i], 3, 2000);
		waited = resends_of(arq_config("repair_first {}\n", 16, 15), links[i], 3, 2000);
		assert_true(waited < at_once);
	}
}

/* Ends of every length, at which all kinds of transmissions get lost: nothing waits for what waits
 * for it. */
TEST(test_nothing_waits_for_ever)
{
	for (uint32_t count = 1; count <= 10; count++)
		for (uint64_t seed = 1; seed <= 12; seed++)
			resends_of(arq_config("repair_first {}\n", 5, 4), "delay 3ms 2ms loss 30%",
				   seed, count);
	if (!nopal__erasure_has_cauchy())
		return;
	for (uint32_t count = 1; count <= 10; count++)
		for (uint64_t seed = 1; seed <= 12; seed++)
			resends_of(arq_config("repair_first {}\n", 8, 5), "delay 30ms 2ms loss 30%",
				   seed, count);
}

#define REST                                                                                       \
	"virtual_circuit {}\nrtt_estimation {}\npositive_ack {} retransmission_timer {}\n"         \
	"duplicate_ack {}\nretransmit {}\nrepair_first {}\n"                                       \
	"reliable_fifo {}\nwindowed_flow {}\nwindowed_cc {}\n"                                     \
	"tcp_congestion {}\nadaptive_redundancy { every = 16 }\n"                                  \
	"checksum {}\ncheck_fifo {}\ncheck_integrity {}\ncheck_holds {}\n"
#define BASE "transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"

/* Gates, a policy and acknowledgements of a floor alone beside it: still nothing waits for ever,
 * and it closes in good order. */
static void check_all_together(const char *config)
{
	static const char *const links[] = {
		"delay 10ms 3ms loss 15% duplicate 2% corrupt 2%",
		"rate 2mbit delay 20ms limit 20 loss 3%",
	};

	for (int i = 0; i < 2; i++)
		for (uint64_t seed = 1; seed <= 3; seed++)
			for (uint32_t count = 5; count <= 320; count *= 8)
				resends_of(config, links[i], seed, count);
}

TEST(test_all_together)
{
	check_all_together(BASE "forward_error_correction {}\n" REST);
	check_all_together(BASE "sliding_window_fec { repairs = 3 }\n" REST);
	if (nopal__erasure_has_cauchy())
		check_all_together(BASE "forward_error_correction { n = 16 "
					"k = 10 code = cauchy }\n" REST);
}
