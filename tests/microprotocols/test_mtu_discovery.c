/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "wire/wire.h"
#include "support/segments.h"
#include "support/test.h"

enum { UDP = 28, FLOOR = 1200 - UDP, PART = 64, PROBE = 0, ANSWER = 1 };

#define RELIABLE                                                                                   \
	"virtual_circuit {}\nsequenced_segments {}\npositive_ack {} retransmission_timer {}\n"     \
	"duplicate_ack {}\nrtt_estimation {}\nretransmit {}\n"                                     \
	"windowed_flow {}\nwindowed_cc {}\ntcp_congestion {}\n"

static const char BULK[] = "transport_driver {}\nresize { mtu = 9000B }\n"
			   "mtu_discovery {}\n" RELIABLE;
static const char ETHERNET[] = "transport_driver {}\nresize {}\n"
			       "mtu_discovery {}\n" RELIABLE;
static const char RAISING[] = "transport_driver {}\nresize {}\n"
			      "mtu_discovery { raise = 10s }\n" RELIABLE;
static const char PATIENT[] = "transport_driver {}\nresize {}\n"
			      "mtu_discovery { probes = 12 }\n" RELIABLE;
/* nobody acknowledges: only probes tell */
static const char BARE[] = "transport_driver {}\nresize {}\nsequenced_messages {}\n"
			   "lossy_fifo {}\nvirtual_circuit {}\nmtu_discovery { raise = 10s }\n";

static struct rig rig;
static struct tapped tapped;

static void begin(const char *config, const char *link)
{
	/* what the next hop drops is seen to leave */
	rig_open(&rig, config, &(struct rig_options){ .link = link, .edge = "mtu 65535" });
	memset(&tapped, 0, sizeof(tapped));
	nopal_sim_tap(rig.world, tapped_note, &tapped);
}

static uint32_t limit(void)
{
	rig_awake(rig.opener.session);
	return nopal_path_limit(rig.opener.session);
}

/* Messages from now on are cut long. */
static void begin_long(const char *link)
{
	begin(ETHERNET, link);
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(limit(), 1500 - UDP);
}

static uint8_t kind_of(unsigned kind)
{
	return rig_part(rig.opener.session, "mtu_discovery")->kind[kind];
}

/* Nothing but probes is longer than the path takes. */
static void data_fit(uint32_t ip_bytes)
{
	for (uint32_t i = 0; i < tapped.count; i++)
		if (tapped.kind[i] != kind_of(PROBE))
			assert_in_range(tapped.length[i], 0, ip_bytes - UDP);
}

static void find(const char *config, uint32_t ip_bytes, uint32_t max_probes)
{
	char link[64];

	snprintf(link, sizeof(link), "rate 20mbit delay 10ms mtu %u", ip_bytes);
	begin(config, link);
	for (int i = 0; i < 20; i++) {
		rig_send_bytes(&rig, 20000);
		rig_run(&rig, 3 * NOPAL_SECOND);
	}
	assert_int_equal(rig.acceptor.delivered, 20);
	assert_in_range(tapped_count(&tapped, kind_of(PROBE)), 1, max_probes);
	data_fit(ip_bytes);
}

TEST(test_paths_as_links_have_them_are_found)
{
	static const uint32_t paths[][2] = {
		{ 1200, 21 }, { 1280, 19 }, { 1492, 6 }, { 1500, 31 }, { 9000, 2 }
	};

	for (unsigned i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		find(BULK, paths[i][0], paths[i][1]);
		assert_int_equal(limit(), paths[i][0] - UDP);
		rig_close(&rig);
	}
	find(ETHERNET, 1500, 1);
	assert_int_equal(limit(), 1500 - UDP);
	rig_close(&rig);
}

TEST(test_other_paths_are_found_but_for_a_small_part)
{
	static const uint32_t paths[] = { 1201, 1337, 1499, 1501, 2222, 8999 };

	for (unsigned i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		uint32_t passes = paths[i] - UDP;

		find(BULK, paths[i], 31);
		assert_in_range(limit(), passes - passes / PART - 1, passes);
		rig_close(&rig);
	}
}

TEST(test_lost_probes_do_not_mislead)
{
	begin(PATIENT, "rate 20mbit delay 10ms loss 30% mtu 1492");
	for (int i = 0; i < 10; i++) {
		rig_send_bytes(&rig, 2000);
		rig_run(&rig, 20 * NOPAL_SECOND);
	}
	assert_int_equal(limit(), 1492 - UDP);
	assert_int_equal(rig.acceptor.delivered, 10);
	rig_close(&rig);
}

TEST(test_a_path_that_shrinks_is_noticed_in_mid_transfer)
{
	uint32_t delivered;

	begin_long("rate 20mbit delay 10ms");
	for (int i = 0; i < 10; i++)
		rig_send_bytes(&rig, 100000);
	rig_run(&rig, 200 * NOPAL_MILLISECOND);
	assert_int_equal(limit(), 1500 - UDP);
	delivered = rig.acceptor.delivered;
	assert_in_range(delivered, 2, 9);
	rig_change_both(&rig, "rate 20mbit delay 10ms mtu 1300");
	rig_run(&rig, 10 * NOPAL_SECOND);
	/* what was cut before came in fragments, what was cut then fits */
	assert_int_equal(rig.acceptor.delivered, 11);
	assert_in_range(limit(), 1280 - UDP, 1300 - UDP);
	tapped.count = 0;
	rig_send_bytes(&rig, 100000);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 12);
	data_fit(1300);
	rig_close(&rig);
}

TEST(test_a_path_that_grows_is_noticed_in_time)
{
	begin(RAISING, "rate 20mbit delay 10ms mtu 1300");
	rig_send_bytes(&rig, 20000);
	rig_run(&rig, 8 * NOPAL_SECOND);
	assert_in_range(limit(), 1280 - UDP, 1300 - UDP);
	rig_change_both(&rig, "rate 20mbit delay 10ms");
	rig_send_bytes(&rig, 20000);
	rig_run(&rig, 20 * NOPAL_SECOND);
	assert_int_equal(limit(), 1500 - UDP);
	rig_close(&rig);
}

TEST(test_a_silent_session_probes_nothing)
{
	uint32_t before;

	begin(RAISING, "rate 20mbit delay 10ms");
	rig_run(&rig, 100 * NOPAL_SECOND);
	assert_int_equal(tapped.count, 0);
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	before = tapped_count(&tapped, kind_of(PROBE));
	assert_int_equal(before, 1); /* the acceptor, who sends nothing, none */
	rig_run(&rig, 1000 * NOPAL_SECOND);
	assert_int_equal(tapped_count(&tapped, kind_of(PROBE)), before);
	rig_send(&rig, "y"); /* once more what it has: it has the most */
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(tapped_count(&tapped, kind_of(PROBE)), before + 1);
	assert_int_equal(limit(), 1500 - UDP);
	rig_close(&rig);
}

TEST(test_an_outage_is_over_when_it_is_over)
{
	begin_long("rate 20mbit delay 10ms");
	for (int i = 0; i < 10; i++)
		rig_send_bytes(&rig, 100000);
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	rig_change_both(&rig, "loss 100%");
	rig_run(&rig, 500 * NOPAL_MILLISECOND);
	assert_int_equal(limit(), FLOOR);
	rig_change_both(&rig, "rate 20mbit delay 10ms");
	rig_run(&rig, 20 * NOPAL_SECOND);
	assert_int_equal(limit(), 1500 - UDP);
	assert_int_equal(rig.acceptor.delivered, 11);
	rig_close(&rig);
}

TEST(test_without_acknowledgements_probes_tell)
{
	begin(BARE, "delay 10ms mtu 1492");
	rig_send_bytes(&rig, 5000);
	rig_run(&rig, 9 * NOPAL_SECOND);
	assert_in_range(limit(), FLOOR, 1492 - UDP);
	for (int i = 0; i < 20; i++) {
		rig_send(&rig, "x");
		rig_run(&rig, 3 * NOPAL_SECOND);
	}
	assert_int_equal(limit(), 1492 - UDP);
	data_fit(1492);
	rig_change_both(&rig, "delay 10ms mtu 1200");
	for (int i = 0; i < 40; i++) {
		rig_send(&rig, "x");
		rig_run(&rig, 3 * NOPAL_SECOND);
	}
	assert_int_equal(limit(), FLOOR);
	rig_close(&rig);
}

TEST(test_nobody_else_can_answer)
{
	static const uint8_t longest[] = { 0xff, 0xff }, short_one[] = { 5 };
	uint8_t right[] = { (1472 - 5) >> 8, (1472 - 5) & 0xff };

	begin(ETHERNET, "rate 20mbit delay 10ms mtu 1200");
	arrive_control(rig.opener.session, "mtu_discovery", ANSWER, right,
		       sizeof(right)); /* nothing was asked */
	assert_int_equal(limit(), FLOOR);
	rig_send(&rig, "x");
	arrive_control(rig.opener.session, "mtu_discovery", ANSWER, longest, sizeof(longest));
	arrive_control(rig.opener.session, "mtu_discovery", ANSWER, short_one, sizeof(short_one));
	arrive_control(rig.opener.session, "mtu_discovery", ANSWER, "", 0);
	assert_int_equal(limit(), FLOOR);
	arrive_control(rig.opener.session, "mtu_discovery", ANSWER, right, sizeof(right));
	assert_int_equal(limit(), 1472);
	rig_close(&rig);
}

/* ---------------------------------------------------------- what is said of it */

static void say(uint32_t datagram_bytes)
{
	struct nopal_hint hint = { .what = NOPAL_HINT_TOO_LONG,
				   .head_bytes = sizeof(hint.head),
				   .datagram_bytes = datagram_bytes };
	struct nopal_writer writer = nopal_writer_over(hint.head, sizeof(hint.head));

	nopal_sim_address(1, RIG_ACCEPTOR_PORT, &hint.to);
	nopal_write(&writer, nopal__first_byte(NOPAL_KIND_DATA), 1);
	nopal_write(&writer, nopal_session_peer_id(rig.opener.session), NOPAL_ID_BYTES);
	nopal__endpoint_hint(rig.opener.endpoint, &hint);
	rig_run(&rig, NOPAL_MILLISECOND);
}

/* Our own host says at once that its link has become shorter. */
TEST(test_what_our_host_refuses_is_known_at_once)
{
	rig_open(&rig, ETHERNET, &(struct rig_options){ .link = "delay 10ms" });
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(limit(), 1500 - UDP);
	rig_change_both(&rig, "delay 10ms mtu 1400");
	rig_send_bytes(&rig, 20000);
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	assert_in_range(limit(), FLOOR, 1400 - UDP);
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(limit(), 1400 - UDP);
	assert_int_equal(rig.acceptor.delivered, 2);
	rig_close(&rig);
}

TEST(test_what_is_said_to_pass_is_tried_first)
{
	begin_long("rate 20mbit delay 10ms");
	rig_change_both(&rig, "rate 20mbit delay 10ms mtu 1337");
	say(1337 - UDP);
	assert_int_equal(limit(), FLOOR);
	rig_run(&rig, 30 * NOPAL_MILLISECOND);
	assert_int_equal(limit(), 1337 - UDP);
	rig_close(&rig);
}

/* Nobody can say a path below its floor, or keep it there. */
TEST(test_what_is_forged_costs_probes_alone)
{
	begin_long("rate 20mbit delay 10ms");
	for (uint32_t said = 0; said < 65536; said += 257) {
		say(said);
		assert_in_range(limit(), FLOOR, 1500 - UDP);
		rig_run(&rig, 100 * NOPAL_MILLISECOND);
	}
	rig_send_bytes(&rig, 20000);
	rig_run(&rig, 5 * NOPAL_SECOND);
	assert_int_equal(limit(), 1500 - UDP);
	assert_int_equal(rig.acceptor.delivered, 2);
	rig_close(&rig);
}

/* As shipped, to the byte: nobody says anything of the black hole. */
TEST(test_bulk_survives_a_path_that_shrinks)
{
	uint32_t sent = 0;

	begin("extends = \"bulk\"\n", "rate 50mbit delay 10ms");
	while (sent < 40) {
		if (rig_send_bytes(&rig, 100000) == 0)
			sent++;
		else
			rig_run(&rig, 20 * NOPAL_MILLISECOND);
		if (sent == 20 && limit() == 1500 - UDP)
			rig_change_both(&rig, "rate 50mbit delay 10ms mtu 1280");
	}
	assert_in_range(limit(), FLOOR, 1280 - UDP);
	rig_finish(&rig);
	assert_int_equal(rig.acceptor.delivered, 40);
	assert_int_equal(rig.acceptor.delivered_bytes, 40 * 100000);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
	rig_close(&rig);
}
