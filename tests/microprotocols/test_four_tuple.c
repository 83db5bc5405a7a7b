/* SPDX-License-Identifier: MIT */
/* Sessions without ids: who is whose is a matter of addresses. */
#include <string.h>

#include "session/endpoint_sessions.h"
#include "support/rig.h"
#include "support/test.h"

#define DATAGRAMS "transport_driver {}\nfixed_size {}\n"
#define CIRCUIT                                                                                    \
	DATAGRAMS "virtual_circuit {}\nsequenced_segments {}\n"                                    \
		  "positive_ack {} retransmission_timer {}\nrtt_estimation {}\nretransmit {}\n"    \
		  "checksum {}\n"

TEST(test_every_datagram_is_four_bytes_shorter)
{
	struct nopal_plan *with = rig_plan(CIRCUIT);
	struct nopal_plan *without = rig_plan(CIRCUIT "four_tuple {}\n");

	assert_int_equal(nopal_plan_info(with)->header_bytes,
			 nopal_plan_info(without)->header_bytes + 4);
	assert_int_equal(nopal_plan_info(with)->body_bytes + 4,
			 nopal_plan_info(without)->body_bytes);
	nopal_plan_unref(with);
	nopal_plan_unref(without);
}

static void crosses(const char *config, const char *link)
{
	struct rig rig;

	rig_open(&rig, config, &(struct rig_options){ .link = link });
	for (int i = 0; i < 100; i++)
		assert_int_equal(rig_send(&rig, "hello"), 0);
	rig_run(&rig, 20 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 100);
	rig_finish(&rig);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
	rig_close(&rig);
}

TEST(test_messages_cross_with_and_without_a_handshake)
{
	crosses(CIRCUIT "four_tuple {}\n", "delay 10ms loss 20% corrupt 2%");
	crosses(DATAGRAMS "four_tuple {}\n", "delay 10ms");
}

/* Two hosts, each with a session at one listener: ids would not tell why. */
TEST(test_each_address_has_its_own_session)
{
	struct nopal_plan *plan = rig_plan(CIRCUIT "four_tuple {}\n");
	struct nopal_world *world = nopal_sim_new(1);
	struct nopal_link link;
	struct nopal_endpoint *listener, *opener[2];
	struct nopal_session *session[2];
	struct nopal_problems problems = { 0 };
	struct nopal_address to;

	assert_true(nopal_link_parse("delay 5ms", &link, &link, &problems) >= 0);
	for (int i = 0; i < 3; i++)
		nopal_sim_host(world);
	nopal_sim_connect(world, 1, 0, &link, &link);
	nopal_sim_connect(world, 2, 0, &link, &link);
	listener = nopal_sim_endpoint(world, 0, 9000);
	assert_int_equal(nopal_endpoint_allow(listener, plan, 0, NULL, NULL), 0);
	nopal_sim_address(0, 9000, &to);
	for (int i = 0; i < 2; i++) {
		opener[i] = nopal_sim_endpoint(world, 1 + i, 9000);
		session[i] = nopal_open(opener[i], plan, &to, NULL, NULL);
		assert_non_null(session[i]);
		for (int m = 0; m < 10 * (i + 1); m++)
			nopal_send(session[i], "x", 1, 0);
	}
	nopal_sim_run(world, 2 * NOPAL_SECOND);
	assert_int_equal(nopal_endpoint_counters(listener)->sessions, 2);
	for (int i = 0; i < 2; i++)
		assert_int_equal(nopal_session_counters(session[i])->messages_arrived,
				 10 * (i + 1));
	/* A second one to the same peer could not be told from the first. */
	assert_null(nopal_open(opener[0], plan, &to, NULL, NULL));
	nopal_session_abort(session[0], "to make room");
	nopal_sim_run(world, 3 * NOPAL_SECOND);
	assert_non_null(nopal_open(opener[0], plan, &to, NULL, NULL));
	nopal_world_free(world);
	nopal_plan_unref(plan);
	nopal_problems_fini(&problems);
}

static struct {
	uint8_t bytes[2000];
	size_t length;
	struct nopal_address from;
} first;

static void keep_first(void *user, int64_t now_ns, const struct nopal_address *from,
		       const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	(void)user, (void)now_ns, (void)to;
	if (first.length || length > sizeof(first.bytes))
		return;
	memcpy(first.bytes, bytes, length);
	first.length = length;
	first.from = *from;
}

/* A damaged segment that opens anew was never there: the address stays whose it is. */
TEST(test_a_damaged_opening_takes_no_address)
{
	struct rig rig;

	memset(&first, 0, sizeof(first));
	rig_open(&rig, DATAGRAMS "checksum {}\nfour_tuple {}\n",
		 &(struct rig_options){ .stay_closed = true });
	nopal_sim_tap(rig.world, keep_first, NULL);
	rig_start(&rig);
	rig_send(&rig, "one");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1);
	first.bytes[2] ^= 0x40; /* another session's id */
	nopal_sim_inject(rig.world, rig.acceptor.endpoint, &first.from, first.bytes, first.length);
	rig_run(&rig, NOPAL_SECOND);
	rig_send(&rig, "two");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 2);
	rig_close(&rig);
}

TEST(test_an_endpoint_looks_in_one_way)
{
	struct nopal_plan *by_id = rig_plan(CIRCUIT);
	struct nopal_plan *by_address = rig_plan(CIRCUIT "four_tuple {}\n");
	struct nopal_world *world = nopal_sim_new(1);
	struct nopal_endpoint *endpoint;
	struct nopal_address to;

	nopal_sim_host(world);
	endpoint = nopal_sim_endpoint(world, 0, 9000);
	nopal_sim_address(0, 9000, &to);
	assert_int_equal(nopal_endpoint_allow(endpoint, by_id, 0, NULL, NULL), 0);
	assert_true(nopal_endpoint_allow(endpoint, by_address, 0, NULL, NULL) < 0);
	assert_null(nopal_open(endpoint, by_address, &to, NULL, NULL));
	nopal_world_free(world);
	nopal_plan_unref(by_id);
	nopal_plan_unref(by_address);
}
