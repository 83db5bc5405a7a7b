/* SPDX-License-Identifier: MIT */
/* The channel of a group: one datagram for all, and only for those it is for. */
#include <errno.h>
#include <stdlib.h>

#include "session/endpoint_sessions.h"
#include "support/many.h"
#include "support/test.h"

ALL_TESTS(IPv4, NULL, NULL);
ALL_TESTS(IPv6, many_of_ipv6, NULL);

static struct many many;

#define PLAIN MANY_CHANNEL("", "report = 1ms", "fan_out {}")

enum { UDP_IPV4 = 1472, UDP_IPV6 = 1452 }; /* of 1500 bytes of IP */

static struct nopal_address group_address(void)
{
	struct nopal_address address;

	assert_int_equal(
		nopal_address_parse(many_cast6 ? MANY_GROUP6 : "239.77.0.1:9077", &address, NULL),
		0);
	return address;
}

static void all_have_all(void)
{
	many_all_have_all(&many);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], many.sent);
}

/* --------------------------------------------------------- one datagram for all */

/* Datagrams for the group's address. */
static struct multicasts {
	uint64_t count, strange;
	uint8_t last[2048];
	size_t length;
} multicasts;

static void note_multicast(void *user, int64_t now_ns, const struct nopal_address *from,
			   const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	struct nopal_address group = group_address(), sender;

	(void)user, (void)now_ns;
	if (!nopal_address_is_multicast(to))
		return;
	many_address(0, MANY_PORT, many_cast6, &sender);
	multicasts.count++;
	multicasts.strange += !nopal_address_equal(to, &group) ||
			      !nopal_address_equal(from, &sender) ||
			      length > (many_cast6 ? UDP_IPV6 : UDP_IPV4);
	multicasts.length = length;
	memcpy(multicasts.last, bytes, length);
}

TEST(test_one_datagram_a_segment)
{
	uint64_t before;

	many_hear(&many, PLAIN, 6, "delay 1ms", NULL);
	memset(&multicasts, 0, sizeof(multicasts));
	nopal_sim_tap(many.world, note_multicast, NULL);
	before = nopal_session_counters(many.group)->transmissions;
	for (size_t bytes = 1; bytes < 20000; bytes += 777)
		many_send_some(&many, 1, bytes, 0);
	many_run(&many, NOPAL_SECOND);
	all_have_all();
	assert_int_equal(multicasts.count,
			 nopal_session_counters(many.group)->transmissions - before);
	assert_int_equal(multicasts.strange, 0);
	many_close(&many);
}

/* The bottleneck is passed once, however many are behind it. */
static uint64_t bytes_through(uint32_t count)
{
	struct nopal_link_counters before, after, edge;

	many_open_dumbbell(&many, PLAIN, count, "", "delay 5ms", 1);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), count);
	assert_true(nopal_sim_link_counters(many.world, 0, 1, &before));
	many_send_some(&many, 50, 10000, 0);
	many_run(&many, 100 * NOPAL_MILLISECOND);
	assert_true(nopal_sim_link_counters(many.world, 0, 1, &after));
	all_have_all();
	for (int i = 0; i < (int)count; i++) {
		assert_true(nopal_sim_link_counters(many.world, -2, 2 * i + 1, &edge));
		assert_true(edge.delivered_bytes > UINT64_C(500000));
	}
	many_close(&many);
	return after.delivered_bytes - before.delivered_bytes;
}

TEST(test_a_shared_link_is_passed_once)
{
	uint64_t one, twenty;

	one = bytes_through(1);
	twenty = bytes_through(20);
	assert_true(one > 500000);
	assert_true(twenty < one + one / 2); /* acks of reports beside */
}

/* ------------------------------------------------- where there is no multicast */

static const struct nopal_world_ops *real_ops;
static struct nopal_world_ops ops;

static int no_way_out(struct nopal_world *world, struct nopal_endpoint *endpoint,
		      const struct nopal_casting *casting)
{
	(void)world, (void)endpoint, (void)casting;
	return -ENETUNREACH;
}

/* Host 2 cannot listen at such an address. */
static int no_way_in(struct nopal_world *world, struct nopal_endpoint *endpoint,
		     struct nopal_problems *problems)
{
	const struct nopal_port *port = nopal__endpoint_port(endpoint);

	if (port->hearing && (const void *)port->hearing->beside == many.end[1].endpoint)
		return -EADDRNOTAVAIL;
	return real_ops->port_open(world, endpoint, problems);
}

static void prepare_with(uint32_t count)
{
	many_prepare(&many, PLAIN, count, "delay 1ms", 1);
	real_ops = many.world->ops;
	ops = *real_ops;
	many.world->ops = &ops;
}

static void check_hearing(uint32_t count, uint32_t hearing, uint64_t transmissions)
{
	many_watch(&many);
	for (uint32_t i = 0; i < count; i++)
		assert_true(many_add(&many, i) > 0);
	many_run(&many, 60 * NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), hearing);
	many_watch(&many);
	many_send_some(&many, 10, 1000, 0);
	many_run(&many, NOPAL_SECOND);
	all_have_all();
	assert_int_equal(many.multicasts, transmissions);
	many_close(&many);
}

TEST(test_without_multicast_there_are_copies)
{
	prepare_with(3);
	ops.multicast_from = no_way_out;
	check_hearing(3, 0, 0);
}

TEST(test_a_host_without_multicast_gets_copies)
{
	prepare_with(3);
	ops.port_open = no_way_in;
	check_hearing(3, 2, 10);
}

/* ----------------------------------------------------- several at one address */

enum { EARS = 16 };

/* A session that was accepted somewhere: it hears one group. */
static struct ear {
	struct nopal_session *session;
	char whose; /* of the first message */
	uint32_t next, wrong;
} ears[EARS];
static uint32_t ear_count;

static void *ear_accepted(struct nopal_session *session, void *user)
{
	(void)user;
	assert_true(ear_count < EARS);
	ears[ear_count].session = session;
	return &ears[ear_count++];
}

static void ear_received(struct nopal_session *session, struct nopal_message *message, void *user)
{
	struct ear *ear = user;
	char text[32] = "", whose;
	unsigned number;

	(void)session;
	nopal_message_copy(message, 0, text, sizeof(text) - 1);
	if (sscanf(text, "%c %u", &whose, &number) != 2) {
		ear->wrong++;
		return;
	}
	if (!ear->whose)
		ear->whose = whose;
	ear->wrong += whose != ear->whose || number != ear->next;
	ear->next++;
}

static struct nopal_session *speak(struct nopal_world *world, struct nopal_plan *plan, int host,
				   uint16_t port)
{
	static const struct nopal_callbacks callbacks = { 0 };
	struct nopal_session *group = nopal_session_open(
		&(struct nopal_open){ .endpoint = nopal_sim_endpoint(world, host, port),
				      .plan = plan,
				      .callbacks = &callbacks });

	assert_non_null(group);
	return group;
}

static void say(struct nopal_session *group, char whose, uint32_t number)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "%c %u", whose, number);

	assert_int_equal(nopal_send(group, text, (size_t)length, 0), 0);
}

/* Segments for the others still come to its alias. */
static void one_ear_goes(struct nopal_world *world, struct nopal_session *const *groups,
			 uint32_t count, uint32_t number)
{
	nopal_session_abort(ears[0].session, "enough");
	for (uint32_t g = 0; g < count; g++)
		say(groups[g], (char)('A' + g), number);
	nopal_sim_run(world, nopal_world_now(world) + 20 * NOPAL_SECOND);
	assert_int_equal(ears[0].next, number);
	for (uint32_t i = 1; i < ear_count; i++)
		assert_int_equal(ears[i].next, number + 1);
}

/* Hosts 1 to 3 listen, host 1 with two endpoints; A and B speak from one host and C from another,
 * to all of them, by one address. */
TEST(test_groups_and_listeners_share_an_address)
{
	static const struct nopal_callbacks callbacks = { .accepted = ear_accepted,
							  .received = ear_received };
	static const struct place {
		int host;
		uint16_t port;
	} places[] = { { 1, 9000 }, { 1, 9001 }, { 2, 9000 }, { 3, 9000 } };
	enum { PLACES = 4, GROUPS = 3, MESSAGES = 50 };
	struct nopal_world *world = nopal_sim_new(1);
	struct nopal_plan *plan = many_plan(PLAIN);
	struct nopal_session *groups[GROUPS];
	uint32_t heard[GROUPS] = { 0 };
	struct nopal_link forward, reverse;

	memset(ears, 0, sizeof(ears));
	ear_count = 0;
	many_parse("delay 2ms loss 2%", &forward, &reverse);
	assert_true(nopal_sim_star(world, 4, &forward, &reverse) >= 0);
	groups[0] = speak(world, plan, 0, 100);
	groups[1] = speak(world, plan, 0, 101);
	groups[2] = speak(world, plan, 4, 100);
	for (int p = 0; p < PLACES; p++) {
		struct nopal_address address;

		nopal_endpoint_allow(nopal_sim_endpoint(world, places[p].host, places[p].port),
				     plan, NOPAL_ALLOW_CONNECTIONLESS, &callbacks, NULL);
		many_address(places[p].host, places[p].port, many_cast6, &address);
		for (int g = 0; g < GROUPS; g++)
			assert_true(nopal_destination_add(groups[g], &address) > 0);
	}
	nopal_sim_run(world, 5 * NOPAL_SECOND);
	for (uint32_t m = 0; m < MESSAGES; m++) {
		for (int g = 0; g < GROUPS; g++)
			say(groups[g], (char)('A' + g), m);
		nopal_sim_run(world, nopal_world_now(world) + 3 * NOPAL_MILLISECOND);
	}
	nopal_sim_run(world, nopal_world_now(world) + 20 * NOPAL_SECOND);
	for (int g = 0; g < GROUPS; g++)
		for (uint32_t i = 0; i < PLACES; i++)
			assert_true(nopal_destination_at(groups[g], i)->joined);
	assert_int_equal(ear_count, GROUPS * PLACES);
	for (uint32_t i = 0; i < ear_count; i++) {
		assert_int_equal(ears[i].wrong, 0);
		assert_int_equal(ears[i].next, MESSAGES);
		heard[ears[i].whose - 'A']++;
	}
	for (int g = 0; g < GROUPS; g++)
		assert_int_equal(heard[g], PLACES);
	one_ear_goes(world, groups, GROUPS, MESSAGES);
	nopal_world_free(world);
	nopal_plan_unref(plan);
}

/* -------------------------------------------------------------- forged, damaged */

static struct nopal_endpoint *alias(void)
{
	assert_non_null(many.end[0].endpoint->aliases);
	return many.end[0].endpoint->aliases;
}

static const struct nopal_endpoint_counters *alias_counters(void)
{
	return nopal_endpoint_counters(alias());
}

static void inject(struct nopal_endpoint *endpoint, const struct nopal_address *from,
		   const uint8_t *bytes, size_t length)
{
	uint8_t *copy = malloc(length ? length : 1); /* reads beyond are seen */

	assert_non_null(copy);
	memcpy(copy, bytes, length);
	nopal_sim_inject(many.world, endpoint, from, copy, length);
	nopal_sim_step(many.world);
	free(copy);
}

/* A multicast that all have but the first: the injected ones are what it gets. */
static void take_a_multicast(const char *config, struct nopal_address *ret_sender)
{
	many_hear(&many, config, 2, "delay 1ms", NULL);
	many.echo = false;
	nopal_sim_tap(many.world, note_multicast, NULL);
	many_deafen(&many, 0, true);
	many_send_some(&many, 1, 300, 0);
	many_run(&many, 2 * NOPAL_MILLISECOND);
	assert_int_equal(many.end[0].delivered, 0);
	many_address(0, MANY_PORT, many_cast6, ret_sender);
}

static const struct nopal_counters *receiver_counters(void)
{
	return nopal_session_counters(many.end[0].session);
}

TEST(test_what_is_forged_is_dropped_and_counted)
{
	struct nopal_address sender, other;
	uint8_t bytes[2048];
	size_t length;
	uint64_t malformed, unknown, sealed;

	take_a_multicast(PLAIN, &sender);
	length = multicasts.length;
	memcpy(bytes, multicasts.last, length);
	malformed = alias_counters()->malformed;
	unknown = alias_counters()->unknown_session;
	sealed = receiver_counters()->rx_sealed_badly;

	many_address(0, MANY_PORT + 1, many_cast6, &other); /* another port of the host */
	inject(alias(), &other, bytes, length);
	many_address(2, MANY_PORT, many_cast6, &other); /* another host */
	inject(alias(), &other, bytes, length);
	many_address(0, MANY_PORT, !many_cast6, &other); /* its other address */
	inject(alias(), &other, bytes, length);
	bytes[2] ^= 1; /* another id */
	inject(alias(), &sender, bytes, length);
	bytes[2] ^= 1;
	assert_int_equal(alias_counters()->unknown_session, unknown + 4);

	for (unsigned kind = 0; kind <= UINT8_MAX; kind++)
		if (kind != multicasts.last[0]) {
			bytes[0] = (uint8_t)kind;
			inject(alias(), &sender, bytes, length);
		}
	bytes[0] = multicasts.last[0];
	for (size_t cut = 0; cut < 1 + NOPAL_ID_BYTES; cut++)
		inject(alias(), &sender, bytes, cut);
	assert_int_equal(alias_counters()->malformed, malformed + UINT8_MAX + 1 + NOPAL_ID_BYTES);

	for (size_t at = 1 + NOPAL_ID_BYTES; at < length; at++) {
		bytes[at] ^= 0x40;
		inject(alias(), &sender, bytes, length);
		bytes[at] ^= 0x40;
	}
	assert_int_equal(receiver_counters()->rx_sealed_badly,
			 sealed + length - 1 - NOPAL_ID_BYTES);
	inject(many.end[0].endpoint, &sender, bytes, length); /* not there */
	assert_int_equal(many.end[0].delivered, 0);

	inject(alias(), &sender, bytes, length);
	assert_int_equal(many.end[0].delivered, 1);
	inject(alias(), &sender, bytes, length);
	assert_int_equal(many.end[0].delivered, 1);
	many_deafen(&many, 0, false);
	many_send_some(&many, 5, 3000, 0);
	many_run(&many, NOPAL_SECOND);
	all_have_all();
	many_close(&many);
}

/* Nobody looks for damage here: whatever comes, nothing breaks but that session. */
#define UNSEALED                                                                                   \
	"layer \"group\" { transport_driver {} resize {} "                                         \
	"sequenced_messages {} multicast {} channel_repair {} "                                    \
	"reliable_fifo {} fan_out {} forward_error_correction { k = 4 n = 6 "                      \
	"code = cauchy } }\nlayer \"destination\" {\n multiplicity = "                             \
	"per_destination\n"                                                                        \
	" transport_driver {} virtual_circuit {} keep_alive {} resize {}\n"                        \
	" sequenced_segments {} positive_ack { selective = on } retransmission_timer {}\n"         \
	" duplicate_ack {} rtt_estimation { timeout_min = 20ms }\n"                                \
	" retransmit {} reliable_fifo {}\n}\n"

static uint64_t random_state = 1;

static uint32_t draw(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state % below);
}

TEST(test_whatever_comes_nothing_breaks)
{
	enum { ROUNDS = 40, TRIES = 500, HEAD = 40 };
	struct nopal_address sender;
	uint8_t bytes[2048];

	for (int round = 0; round < ROUNDS; round++) {
		take_a_multicast(UNSEALED, &sender);
		for (int i = 0; i < TRIES && many.end[0].session; i++) {
			size_t length = 5 + draw((uint32_t)multicasts.length);

			if (length > multicasts.length)
				length = multicasts.length;
			memcpy(bytes, multicasts.last, length);
			for (uint32_t n = draw(12); n; n--)
				bytes[5 + draw(HEAD)] = (uint8_t)draw(256);
			inject(alias(), &sender, bytes, length);
		}
		many_run(&many, 10 * NOPAL_SECOND);
		many_send_some(&many, 5, 3000, 0);
		many_run(&many, 10 * NOPAL_SECOND);
		assert_true(many_has(&many, 1, 0, many.sent));
		many_close(&many);
	}
}
