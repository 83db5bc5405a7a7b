/* SPDX-License-Identifier: MIT */
/*
 * madp and madp_dynamic: the numbers of MADP's paper, and many clients at one listener.
 */
#include <stdio.h>
#include <string.h>

#include "load/pattern.h"
#include "support/rig.h"
#include "support/suite.h"
#include "support/test.h"

enum {
	CHUNK = 1426,
	MESSAGES = 20,
	TEXT = 128,
	LOST_FIRST = 4, /* datagrams of the opener: the handshake's stand before */
	LOST_LAST = 16,
	HOSTS = 20,
	SESSIONS_A_HOST = 10,
	CLIENTS = HOSTS * SESSIONS_A_HOST,
	OBJECT = 30 * CHUNK + 7,
	PORT = 9000,
};

/* Without libcrypto there is no MD5, and neither config loads. */
static void needs_md5(void)
{
	if (!suite_loads("madp"))
		skip();
}

TEST(test_body_is_a_chunk_of_the_paper)
{
	struct nopal_plan *fixed, *dynamic;

	needs_md5();
	fixed = suite_plan("madp");
	dynamic = suite_plan("madp_dynamic");
	assert_int_equal(nopal_plan_info(fixed)->body_bytes, CHUNK);
	assert_int_equal(nopal_plan_info(dynamic)->body_bytes, CHUNK);
	assert_true(nopal_plan_provides(fixed, "congestion_policy"));
	nopal_plan_unref(fixed);
	nopal_plan_unref(dynamic);
}

/* ---------------------------------------------------------------- algorithms */

static uint32_t events_of(const struct rig *rig, enum nopal_event event)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < rig->opener.events; i++)
		count += rig->opener.event[i].event == event;
	return count;
}

/* Algorithm 3: whichever chunk of a window is lost, the third acknowledgement that skips it sends
 * it again, a round trip later and without a timeout. */
TEST(test_third_duplicate_acknowledgement_resends)
{
	uint32_t lost = 0;

	needs_md5();
	for (int bit = LOST_FIRST; bit <= LOST_LAST; bit++) {
		char link[TEXT];
		const struct rig_options options = { .link = link };
		struct rig rig;
		int64_t sent_ns;

		snprintf(link, sizeof(link), "delay 50ms fwd: loss mask 0x%x", 1u << bit);
		rig_open(&rig, "extends = madp\na_tap {}\n", &options);
		sent_ns = nopal_world_now(rig.world);
		for (int i = 0; i < MESSAGES; i++)
			rig_send_bytes(&rig, CHUNK);
		rig_run(&rig, 10 * NOPAL_SECOND);
		assert_int_equal(rig.acceptor.delivered, MESSAGES);
		assert_int_equal(events_of(&rig, NOPAL_SEGMENT_TIMEOUT), 0);
		assert_true(rig.acceptor.delivered_ns[MESSAGES - 1] - sent_ns <
			    170 * NOPAL_MILLISECOND);
		lost += events_of(&rig, NOPAL_SEGMENT_LOST);
		rig_close(&rig);
	}
	assert_int_equal(lost, LOST_LAST - LOST_FIRST + 1);
}

/* Algorithm 2: however long nothing comes back, the next attempt is 2 s away at most. */
TEST(test_timeout_is_two_seconds_at_most)
{
	const struct rig_options options = { .link = "delay 50ms down 1s 30s" };
	int64_t before_ns = 0, longest_ns = 0;
	uint32_t attempts = 0;
	struct rig rig;

	needs_md5();
	rig_open(&rig, "extends = madp\na_tap {}\n", &options);
	rig_send_bytes(&rig, CHUNK);
	rig_pass(&rig, 2 * NOPAL_SECOND);
	rig_send_bytes(&rig, CHUNK);
	rig_run(&rig, 60 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 2);
	assert_true(rig.acceptor.delivered_ns[1] < 33 * NOPAL_SECOND);
	for (uint32_t i = 0; i < rig.opener.events; i++) {
		const struct rig_event *event = &rig.opener.event[i];

		if (event->event != NOPAL_SEND_SEGMENT || event->kind != NOPAL_KIND_DATA ||
		    event->time_ns < 2 * NOPAL_SECOND)
			continue;
		if (attempts++ && event->time_ns - before_ns > longest_ns)
			longest_ns = event->time_ns - before_ns;
		before_ns = event->time_ns;
	}
	assert_in_range(attempts, 14, 40);
	assert_in_range(longest_ns, 19 * NOPAL_SECOND / 10, 2 * NOPAL_SECOND);
	rig_close(&rig);
}

/* The fixed window has 45 chunks under way at once; the dynamic one begins with three, and doubles
 * in each round trip: slow start. */
TEST(test_window_is_fixed_or_slow_starts)
{
	static const struct {
		const char *config;
		uint32_t flights[3];
	} cases[] = {
		{ "extends = madp\na_tap {}\n", { 45, 90, 135 } },
		{ "extends = madp_dynamic\na_tap {}\n", { 3, 9, 21 } },
	};
	const struct rig_options options = { .link = "delay 50ms" };

	needs_md5();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rig rig;

		rig_open(&rig, cases[i].config, &options);
		for (int message = 0; message < 200; message++)
			rig_send_bytes(&rig, CHUNK);
		for (int flight = 0; flight < 3; flight++) {
			rig_pass(&rig, 95 * NOPAL_MILLISECOND);
			assert_int_equal(nopal_session_counters(rig.opener.session)->transmissions,
					 cases[i].flights[flight]);
			rig_pass(&rig, 5 * NOPAL_MILLISECOND);
		}
		rig_close(&rig);
	}
}

/* -------------------------------------------------------------- many clients */

/* A client, known to the server by the number that it asks with. */
struct client {
	uint32_t number;
	uint64_t came;
	bool wrong, ended;
	enum nopal_end end;
};
struct served {
	uint32_t number;
	uint64_t sent;
	bool asked, used;
};
static struct crowd {
	struct client clients[CLIENTS];
	struct served served[CLIENTS];
	uint32_t accepted;
} crowd;

/* Each client has an object of its own. */
static uint64_t object_begin(uint32_t number)
{
	return (uint64_t)number * OBJECT;
}

static void *server_accepted(struct nopal_session *session, void *user)
{
	(void)session, (void)user;
	assert_true(crowd.accepted < CLIENTS);
	return &crowd.served[crowd.accepted++];
}

static void server_push(struct nopal_session *session, void *user)
{
	struct served *served = user;
	uint8_t bytes[CHUNK];

	while (served->asked && served->sent < OBJECT) {
		uint64_t left = OBJECT - served->sent;
		uint32_t length = left < CHUNK ? (uint32_t)left : CHUNK;

		pattern_fill(bytes, length, object_begin(served->number) + served->sent);
		if (nopal_send(session, bytes, length, 0))
			return;
		served->sent += length;
	}
}

static void server_received(struct nopal_session *session, struct nopal_message *message,
			    void *user)
{
	struct served *served = user;

	nopal_message_copy(message, 0, &served->number, sizeof(served->number));
	served->asked = true;
	server_push(session, user);
}

static void client_opened(struct nopal_session *session, void *user)
{
	const struct client *client = user;

	nopal_send(session, &client->number, sizeof(client->number), 0);
}

static void client_received(struct nopal_session *session, struct nopal_message *message,
			    void *user)
{
	struct client *client = user;
	uint8_t bytes[CHUNK];
	size_t length = nopal_message_copy(message, 0, bytes, sizeof(bytes));

	client->wrong |= !pattern_is(bytes, length, object_begin(client->number) + client->came);
	client->came += length;
	if (client->came >= OBJECT)
		nopal_session_close(session);
}

static void client_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			 void *user)
{
	struct client *client = user;

	(void)session, (void)text;
	client->ended = true;
	client->end = end;
}

static const struct nopal_callbacks server = {
	.accepted = server_accepted,
	.received = server_received,
	.writable = server_push,
};
static const struct nopal_callbacks client = {
	.opened = client_opened,
	.received = client_received,
	.ended = client_ended,
};

/* 200 sessions of 20 hosts at one port, each over a path with all impairments of the paper, get
 * each its own object, whole and in order. */
static void serve_all(const char *config)
{
	static const char words[] = "rate 10mbit delay 10ms 2ms loss 5% duplicate 5% corrupt 5%";
	struct nopal_world *world = nopal_sim_new(1);
	struct nopal_plan *plan = suite_plan(config);
	struct nopal_problems problems = { 0 };
	struct nopal_link forward, reverse;
	struct nopal_endpoint *listener;
	struct nopal_address address;

	memset(&crowd, 0, sizeof(crowd));
	assert_int_equal(nopal_link_parse(words, &forward, &reverse, &problems), 0);
	assert_int_equal(nopal_sim_star(world, HOSTS, &forward, &reverse), 0);
	listener = nopal_sim_endpoint(world, 0, PORT);
	assert_int_equal(nopal_endpoint_allow(listener, plan, 0, &server, NULL), 0);
	nopal_sim_address(0, PORT, &address);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		struct nopal_endpoint *from = nopal_sim_endpoint(world, 1 + (int)(i % HOSTS), 0);

		crowd.clients[i].number = i;
		assert_non_null(nopal_open(from, plan, &address, &client, &crowd.clients[i]));
	}
	nopal_sim_run(world, 120 * NOPAL_SECOND);
	assert_int_equal(crowd.accepted, CLIENTS);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		assert_false(crowd.clients[i].wrong);
		assert_int_equal(crowd.clients[i].came, OBJECT);
		assert_true(crowd.clients[i].ended);
		assert_int_equal(crowd.clients[i].end, NOPAL_ENDED_WELL);
	}
	nopal_world_free(world);
	nopal_plan_unref(plan);
	nopal_problems_fini(&problems);
}

TEST(test_many_clients_get_their_own_objects)
{
	needs_md5();
	serve_all("madp");
}

TEST(test_many_clients_with_dynamic_windows_get_theirs)
{
	needs_md5();
	serve_all("madp_dynamic");
}
