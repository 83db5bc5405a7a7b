/* SPDX-License-Identifier: MIT */
/*
 * Two hosts with two addresses each: 0 and 2 are the opener's, 1 and 3 the acceptor's; 0 meets 1,
 * and 2 meets 3.  Host 4 is a stranger beside 1.
 */
#include <errno.h>

#include "session/endpoint_sessions.h"
#include "support/segments.h"
#include "support/test.h"

enum { CHALLENGE, RESPONSE };
enum { MESSAGES = 2000, FIRST_PORT = 2000, SECOND_PORT = 3000 };

#define BASE                                                                                       \
	"transport_driver {}\nfixed_size {}\nvirtual_circuit {}\n"                                 \
	"sequenced_segments {}\nparallel_channels {}\na_tap {}\n"
#define RELIABLE                                                                                   \
	BASE "positive_ack {} retransmission_timer {}\nrtt_estimation {}\nretransmit {}\n"         \
	     "duplicate_ack {}\n"

static struct rig rig;
static struct nopal_endpoint *second[2]; /* of the opener, of the acceptor */

static struct nopal_link words(const char *text)
{
	struct nopal_problems problems = { 0 };
	struct nopal_link forward, reverse;

	assert_int_equal(nopal_link_parse(text, &forward, &reverse, &problems), 0);
	nopal_problems_fini(&problems);
	return forward;
}

static void path_change(int from, int to, const char *text)
{
	struct nopal_link link = words(text);

	assert_int_equal(nopal_sim_change(rig.world, from, to, &link), 0);
	assert_int_equal(nopal_sim_change(rig.world, to, from, &link), 0);
}

static struct nopal_address at(int host, uint16_t port)
{
	struct nopal_address address;

	nopal_sim_address(host, port, &address);
	return address;
}

static int give(struct nopal_endpoint *endpoint, int host, uint16_t port)
{
	struct nopal_address peer = at(host, port);

	return nopal_session_add_path(rig.opener.session, endpoint, &peer);
}

/* The session is open, and has its first path alone. */
static void begin(const char *config)
{
	struct nopal_link link = words("delay 10ms");

	rig_open(&rig, config, NULL);
	for (int host = 2; host < 5; host++)
		assert_int_equal(nopal_sim_host(rig.world), host);
	nopal_sim_connect(rig.world, 2, 3, &link, &link);
	nopal_sim_connect(rig.world, 4, 1, &link, &link);
	second[0] = nopal_sim_endpoint(rig.world, 2, FIRST_PORT);
	second[1] = nopal_sim_endpoint(rig.world, 3, SECOND_PORT);
	assert_int_equal(nopal_endpoint_share(second[0], rig.opener.endpoint), 0);
	assert_int_equal(nopal_endpoint_share(second[1], rig.acceptor.endpoint), 0);
}

/* Both ways, and proved. */
static void both(const char *config)
{
	begin(config);
	assert_int_equal(give(second[0], 3, SECOND_PORT), 0);
	rig_send(&rig, "first");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(nopal_session_paths(rig.opener.session), 2);
	assert_int_equal(nopal_session_paths(rig.acceptor.session), 2);
	assert_int_equal(rig.acceptor.delivered, 1);
}

static void send_many(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		rig_send(&rig, "x");
		rig_run(&rig, 2 * NOPAL_MILLISECOND);
	}
	rig_run(&rig, NOPAL_SECOND);
}

static void lose_a_fifth(const char *config)
{
	both(config);
	path_change(0, 1, "delay 10ms loss 20%");
	path_change(2, 3, "delay 15ms loss 20%");
	send_many(MESSAGES);
	/* 96 of 100, four deviations and a half about it; once each */
	assert_in_range(rig.acceptor.delivered - 1, MESSAGES * 94 / 100, MESSAGES * 98 / 100);
	rig_close(&rig);
}

TEST(test_two_bad_paths_make_a_good_one)
{
	lose_a_fifth(BASE);
	lose_a_fifth(BASE "checksum {}\n");
}

TEST(test_every_copy_is_sealed_for_itself)
{
	lose_a_fifth(BASE "aead {}\n");
}

static void one_dies(const char *config, int from, int to)
{
	int64_t sent_ns;

	both(config);
	send_many(100);
	path_change(from, to, "loss 100%");
	sent_ns = nopal_world_now(rig.world);
	send_many(100);
	assert_int_equal(rig.acceptor.delivered, 201);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(rig.acceptor.delivered_ns[101 + i],
				 sent_ns + (int64_t)i * 2 * NOPAL_MILLISECOND +
					 10 * NOPAL_MILLISECOND);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 201);
	assert_int_equal(nopal_session_counters(rig.opener.session)->resends, 0);
	rig_finish(&rig);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
	assert_int_equal(rig.acceptor.end, NOPAL_ENDED_WELL);
	rig_close(&rig);
}

TEST(test_a_path_that_dies_is_not_noticed)
{
	one_dies(RELIABLE, 2, 3);
	one_dies(RELIABLE, 0, 1);
	one_dies(RELIABLE "aead {}\n", 0, 1);
}

TEST(test_paths_may_leave_from_one_endpoint)
{
	struct nopal_link link = words("delay 10ms");

	begin(RELIABLE);
	nopal_sim_connect(rig.world, 0, 3, &link, &link);
	assert_int_equal(give(rig.opener.endpoint, 3, SECOND_PORT), 0);
	send_many(100);
	path_change(0, 1, "loss 100%");
	send_many(100);
	assert_int_equal(rig.acceptor.delivered, 200);
	/* nor do trains mix: each path has all of them */
	path_change(0, 1, "delay 10ms");
	path_change(0, 3, "loss 100%");
	nopal_batch_start(rig.world);
	for (int i = 0; i < 20; i++)
		rig_send(&rig, "x");
	nopal_batch_stop(rig.world);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 220);
	assert_int_equal(nopal_session_counters(rig.opener.session)->resends, 0);
	rig_close(&rig);
}

/* ----------------------------------------------------------- other addresses */

/* A datagram of the opener, as it left, and what went to the stranger. */
static struct seen {
	uint8_t bytes[256];
	size_t length;
	uint32_t data, challenges, others;
	uint64_t octets;
	uint8_t challenge, proof[8]; /* its kind, and the last one */
} seen;

static void seen_note(void *user, int64_t now_ns, const struct nopal_address *from,
		      const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	struct nopal_address stranger = at(4, to->port);
	uint8_t kind = bytes[0] & (NOPAL_KIND_ROOM - 1);

	(void)user;
	(void)now_ns;
	if (from->port == 1000 && kind == NOPAL_KIND_DATA && length <= sizeof(seen.bytes)) {
		memcpy(seen.bytes, bytes, length);
		seen.length = length;
	}
	if (!nopal_address_equal(to, &stranger))
		return;
	seen.octets += length;
	if (kind == NOPAL_KIND_DATA)
		seen.data++;
	else if (kind == seen.challenge) {
		memcpy(seen.proof, bytes + 1 + NOPAL_ID_BYTES, sizeof(seen.proof));
		seen.challenges++;
	} else
		seen.others++;
}

static void watch(const char *config)
{
	begin(config);
	memset(&seen, 0, sizeof(seen));
	seen.challenge = rig_part(rig.opener.session, "parallel_channels")->kind[CHALLENGE];
	nopal_sim_tap(rig.world, seen_note, NULL);
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	assert_true(seen.length > 0);
}

static void stranger_sends(uint16_t port)
{
	struct nopal_address from = at(4, port);

	nopal_sim_inject(rig.world, rig.acceptor.endpoint, &from, seen.bytes, seen.length);
	rig_run(&rig, NOPAL_MILLISECOND / 10);
}

TEST(test_a_forged_address_gets_a_few_challenges)
{
	int64_t since_ns;

	watch(RELIABLE);
	since_ns = nopal_world_now(rig.world);
	for (int i = 0; i < 1000; i++) {
		stranger_sends(7);
		rig_run(&rig, NOPAL_MILLISECOND);
		if (i % 10 == 0)
			nopal_send(rig.acceptor.session, "back", 4, 0);
	}
	/* at most one a round trip of 20 ms */
	assert_in_range(seen.challenges, 5,
			1 + (nopal_world_now(rig.world) - since_ns) / (20 * NOPAL_MILLISECOND));
	assert_int_equal(seen.data, 0);
	assert_int_equal(seen.others, 0);
	assert_true(seen.octets < 1000 * seen.length);
	assert_int_equal(nopal_session_paths(rig.acceptor.session), 1);
	assert_int_equal(rig.acceptor.delivered, 1);
	rig_close(&rig);
}

TEST(test_of_many_addresses_three_are_asked)
{
	watch(RELIABLE);
	for (uint16_t port = 1; port <= 100; port++)
		stranger_sends(port);
	assert_int_equal(seen.challenges, 3);
	/* and when these were silent for long enough, three others */
	rig_pass(&rig, NOPAL_PATH_SILENCE_NS);
	for (uint16_t port = 101; port <= 200; port++)
		stranger_sends(port);
	assert_int_equal(seen.challenges, 6);
	assert_int_equal(seen.data + seen.others, 0);
	rig_close(&rig);
}

/* A datagram that aead saw already is nobody's, wherever it comes from. */
TEST(test_a_sealed_datagram_is_not_replayed)
{
	watch(RELIABLE "aead {}\n");
	stranger_sends(7);
	seen.bytes[seen.length - 1] ^= 1;
	stranger_sends(7);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(seen.challenges + seen.data + seen.others, 0);
	rig_close(&rig);
}

TEST(test_without_it_another_address_is_nobody)
{
	begin("transport_driver {}\nfixed_size {}\nvirtual_circuit {}\n"
	      "sequenced_segments {}\na_tap {}\n");
	memset(&seen, 0, sizeof(seen));
	nopal_sim_tap(rig.world, seen_note, NULL);
	assert_int_equal(give(second[0], 3, SECOND_PORT), -ENOTSUP);
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	stranger_sends(7);
	assert_int_equal(nopal_endpoint_counters(rig.acceptor.endpoint)->unknown_session, 1);
	assert_int_equal(nopal_session_paths(rig.acceptor.session), 1);
	rig_close(&rig);
}

static void respond(unsigned path, const uint8_t *bytes)
{
	uint8_t kind = rig_part(rig.acceptor.session, "parallel_channels")->kind[RESPONSE];
	struct arriving one = arriving_begin(rig.acceptor.session, kind, bytes, 8);

	one.segment->path = (uint8_t)path;
	arriving_end(&one);
}

static unsigned paths(void)
{
	return nopal_session_paths(rig.acceptor.session);
}

TEST(test_a_wrong_response_opens_nothing)
{
	static const uint8_t zeros[8];

	watch(RELIABLE);
	stranger_sends(7);
	for (unsigned path = 0; path <= UINT8_MAX; path++)
		respond(path, zeros);
	arrive_control(rig.acceptor.session, "parallel_channels", RESPONSE, "short", 5);
	arrive_control(rig.acceptor.session, "parallel_channels", CHALLENGE, "short", 5);
	assert_int_equal(seen.challenges, 1);
	assert_int_equal(paths(), 1);
	rig_close(&rig);
}

TEST(test_the_right_one_opens_its_path_in_time)
{
	watch(RELIABLE);
	stranger_sends(7);
	stranger_sends(8); /* its proof is the one that was seen */
	assert_int_equal(seen.challenges, 2);
	for (unsigned path = 0; path <= UINT8_MAX; path++)
		if (path != 2)
			respond(path, seen.proof);
	assert_int_equal(paths(), 1);
	respond(2, seen.proof);
	assert_int_equal(paths(), 2);
	rig_close(&rig);

	watch(RELIABLE);
	stranger_sends(7);
	rig_pass(&rig, NOPAL_PATH_SILENCE_NS);
	respond(1, seen.proof);
	assert_int_equal(paths(), 1);
	rig_close(&rig);
}

/* Another address gets a number, and must prove itself anew. */
TEST(test_a_number_is_given_again_closed)
{
	watch(RELIABLE);
	for (uint16_t port = 1; port <= 3; port++) {
		stranger_sends(port);
		respond(port, seen.proof);
	}
	assert_int_equal(paths(), 4);
	stranger_sends(4);
	assert_int_equal(paths(), 4);
	rig_pass(&rig, NOPAL_PATH_SILENCE_NS);
	stranger_sends(4);
	assert_int_equal(paths(), 3);
	assert_int_equal(seen.challenges, 4);
	rig_close(&rig);
}

/* ------------------------------------------------------------ giving, taking */

TEST(test_there_are_four_at_most)
{
	both(RELIABLE);
	assert_int_equal(give(second[0], 3, SECOND_PORT), 0);
	assert_int_equal(give(rig.opener.endpoint, 1, FIRST_PORT), 0);
	assert_int_equal(nopal_session_paths(rig.opener.session), 2);
	assert_int_equal(give(second[0], 3, 1), 0);
	assert_int_equal(give(second[0], 3, 2), 0);
	assert_int_equal(give(second[0], 3, 3), -ENOSPC);
	assert_int_equal(give(second[1], 3, 3), -EINVAL);
	rig_close(&rig);
}

TEST(test_a_closed_endpoint_takes_its_paths_along)
{
	both(RELIABLE);
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_null(nopal__composite(rig.opener.session)->awake);
	nopal_endpoint_close(second[0]);
	assert_int_equal(nopal_session_paths(rig.opener.session), 1);
	send_many(10);
	assert_int_equal(rig.acceptor.delivered, 11);
	rig_close(&rig);
}

TEST(test_paths_outlive_rest)
{
	both(RELIABLE);
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_null(nopal__composite(rig.opener.session)->awake);
	assert_null(nopal__composite(rig.acceptor.session)->awake);
	path_change(0, 1, "loss 100%");
	send_many(10);
	assert_int_equal(rig.acceptor.delivered, 11);
	assert_int_equal(nopal_session_counters(rig.opener.session)->resends, 0);
	rig_close(&rig);
}

TEST(test_an_alias_opens_no_sessions)
{
	struct nopal_address peer = at(1, FIRST_PORT);

	begin(RELIABLE);
	assert_null(nopal_open(second[0], rig.plan, &peer, NULL, NULL));
	assert_int_equal(nopal_endpoint_allow(second[1], rig.plan, 0, NULL, NULL), -EINVAL);
	assert_int_equal(nopal_endpoint_share(second[0], second[1]), -EINVAL);
	assert_int_equal(nopal_endpoint_share(rig.opener.endpoint, rig.acceptor.endpoint), -EINVAL);
	rig_close(&rig);
}
