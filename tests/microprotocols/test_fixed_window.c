/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "support/rig.h"
#include "support/test.h"

#define BASE                                                                                       \
	"transport_driver {}\nresize {}\nsequenced_segments {}\n"                                  \
	"positive_ack { selective = on }\nretransmission_timer {}\nduplicate_ack {}\n"             \
	"rtt_estimation {}\nretransmit {}\nreliable_fifo {}\nwindowed_flow {}\nwindowed_cc {}\n"   \
	"a_tap {}\n"

enum { BODY = 1000, MESSAGES = 200, WINDOW = 5 };

/* Segments that left before the first acknowledgement came back. */
static uint32_t first_flight(const char *config)
{
	const struct rig_options options = { .link = "delay 50ms", .stay_closed = true };
	uint32_t left = 0;
	struct rig rig;

	rig_open(&rig, config, &options);
	rig_start(&rig);
	for (int i = 0; i < MESSAGES; i++)
		rig_send_bytes(&rig, BODY);
	rig_run(&rig, 90 * NOPAL_MILLISECOND);
	for (uint32_t i = 0; i < rig.opener.events; i++)
		left += rig.opener.event[i].event == NOPAL_SEND_SEGMENT &&
			rig.opener.event[i].kind == NOPAL_KIND_DATA;
	rig_run(&rig, 60 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, MESSAGES);
	rig_close(&rig);
	return left;
}

TEST(test_window_in_bytes_limits_the_first_flight)
{
	assert_int_equal(first_flight(BASE "fixed_window { window = 5000B }\n"), WINDOW);
	assert_int_equal(first_flight(BASE "fixed_window { window = 9999B }\n"), 2 * WINDOW - 1);
}

/* A window of twice the size is twice as fast where the round trip is the limit, and losses do not
 * close it: what 5 % of losses cost is near their share. */
static int64_t takes_ns(const char *config, const char *link)
{
	const struct rig_options options = { .link = link };
	int64_t begun_ns;
	struct rig rig;

	rig_open(&rig, config, &options);
	begun_ns = nopal_world_now(rig.world);
	for (int i = 0; i < MESSAGES; i++)
		rig_send_bytes(&rig, BODY);
	rig_run(&rig, 60 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, MESSAGES);
	begun_ns = rig.acceptor.delivered_ns[MESSAGES - 1] - begun_ns;
	rig_close(&rig);
	return begun_ns;
}

TEST(test_losses_do_not_close_the_window)
{
	int64_t clean_ns = takes_ns(BASE "fixed_window { window = 20000B }\n", "delay 20ms");
	int64_t double_ns = takes_ns(BASE "fixed_window { window = 10000B }\n", "delay 20ms");
	int64_t lossy_ns =
		takes_ns(BASE "fixed_window { window = 20000B }\n", "delay 20ms loss 5%");
	int64_t reno_ns =
		takes_ns(BASE "tcp_congestion { variant = reno }\n", "delay 20ms loss 5%");

	assert_in_range(double_ns, 18 * clean_ns / 10, 22 * clean_ns / 10);
	assert_true(lossy_ns < 4 * clean_ns);
	assert_true(lossy_ns < reno_ns);
}

TEST(test_refused_without_a_window_mechanism)
{
	char text[1024];

	assert_true(rig_refused("transport_driver {}\nfixed_size {}\nfixed_window {}\n", text,
				sizeof(text)));
	assert_non_null(strstr(text, "window_mechanism"));
}

TEST(test_refused_beside_another_policy)
{
	char text[1024];

	assert_true(rig_refused(BASE "fixed_window {}\ntcp_congestion {}\n", text, sizeof(text)));
	assert_non_null(strstr(text, "congestion_policy"));
}
