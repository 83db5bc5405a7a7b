/* SPDX-License-Identifier: MIT */
/* Of an endpoint: lengths at which a datagram begins to be one, lists of what it has, aliases, and
 * what it refuses. */
#include <errno.h>
#include <string.h>

#include "wire/wire.h"
#include "support/failing.h"
#include "support/own_rig.h"
#include "support/test.h"

enum { COUNT = 3, PORT = 4711, DATAGRAM = 30 };

static const char PLAIN[] = "transport_driver {}\nfixed_size {}\n";
static const char CIRCUIT[] = "transport_driver {}\nfixed_size {}\nvirtual_circuit {}\n";

static struct nopal_endpoint *endpoint; /* the acceptor's */
static struct nopal_endpoint_counters *counters;

static void begin(const char *config)
{
	rig_open(&rig, config, &(struct rig_options){ .stay_closed = true });
	endpoint = rig.acceptor.endpoint;
	counters = &endpoint->port.counters;
}

static int setup(void **state)
{
	(void)state;
	begin(PLAIN);
	return 0;
}

EACH_TEST(setup, own_rig_close);

static struct nopal_address at(unsigned port)
{
	struct nopal_address address;

	nopal_sim_address(0, (uint16_t)port, &address);
	return address;
}

static struct nopal_session *open_to(struct nopal_endpoint *from, unsigned port,
				     const struct nopal_callbacks *callbacks, void *user)
{
	struct nopal_address peer = at(port);

	return nopal_open(from, rig.plan, &peer, callbacks, user);
}

static void arrive(struct nopal_endpoint *where, const uint8_t *bytes, uint32_t length,
		   uint32_t stride)
{
	struct nopal_buffer *buffer = nopal_buffer_new(length + 1);
	struct nopal_arrival arrival = { .from = at(PORT),
					 .buffer = buffer,
					 .bytes = buffer->bytes,
					 .length = length,
					 .stride = stride };

	memcpy(buffer->bytes, bytes, length);
	nopal__endpoint_receive(where, &arrival, 1);
	nopal_buffer_unref(buffer);
}

/* ----------------------------------------------------------------- arrivals */

TEST(test_the_shortest_datagram_has_a_kind_and_an_id)
{
	const uint8_t bytes[8] = { nopal__first_byte(NOPAL_KIND_DATA) };

	for (uint32_t length = 0; length < sizeof(bytes); length++) {
		arrive(endpoint, bytes, length, 0);
		assert_int_equal(counters->datagrams_in, length + 1);
		assert_int_equal(counters->batches_in, length + 1);
		assert_int_equal(counters->malformed, length < 5 ? length + 1 : 5);
		assert_int_equal(counters->unknown_session, length < 5 ? 0 : length - 4);
	}
}

TEST(test_an_arrival_ends_with_its_last_datagram)
{
	uint8_t bytes[COUNT * DATAGRAM] = { 0 };

	for (int i = 0; i < COUNT; i++) {
		bytes[i * DATAGRAM] = nopal__first_byte(NOPAL_KIND_DATA);
		bytes[i * DATAGRAM + 4] = (uint8_t)(1 + i);
	}
	arrive(endpoint, bytes, sizeof(bytes), DATAGRAM);
	assert_int_equal(counters->datagrams_in, COUNT);
	assert_int_equal(counters->malformed, 0);
	assert_int_equal(counters->unknown_session, COUNT);
	assert_int_equal(counters->resets, 1); /* one answer is enough */
	assert_null(endpoint->arrived_from);
}

/* A reply names the opener, and comes from where the opening went. */
TEST(test_a_reply_comes_from_the_peer_alone)
{
	struct nopal_session *session = open_to(endpoint, PORT + 1, NULL, NULL);
	uint8_t bytes[12] = { nopal__first_byte(NOPAL_KIND_REPLY) };
	uint32_t id = nopal_session_id(session);

	for (int i = 0; i < 4; i++)
		bytes[1 + i] = (uint8_t)(id >> (24 - 8 * i));
	arrive(endpoint, bytes, sizeof(bytes), 0);
	assert_int_equal(counters->unknown_session, 1);
	assert_int_equal(nopal_session_counters(session)->datagrams_in, 0);
}

TEST(test_an_alias_takes_no_openings)
{
	struct nopal_endpoint *alias = nopal_sim_endpoint(rig.world, 1, 7000);
	uint8_t bytes[DATAGRAM] = { nopal__first_byte(NOPAL_KIND_DATA_OPENING), 0, 0, 0, 1 };

	assert_int_equal(nopal_endpoint_share(endpoint, alias), -EINVAL);
	assert_int_equal(nopal_endpoint_share(alias, endpoint), 0);
	arrive(alias, bytes, sizeof(bytes), 0);
	assert_int_equal(nopal_endpoint_counters(alias)->unknown_session, 1);
	assert_int_equal(nopal_endpoint_counters(alias)->requests, 0);
	assert_int_equal(
		nopal_endpoint_allow(alias, rig.plan, NOPAL_ALLOW_CONNECTIONLESS, NULL, NULL),
		-EINVAL);
}

/* ----------------------------------------------------------------- sessions */

static void assert_listed(struct nopal_session *const *sessions, unsigned count)
{
	const struct nopal_composite *composite = endpoint->sessions;
	struct nopal_composite *const *at_next = &endpoint->sessions;

	assert_int_equal(counters->sessions, count);
	assert_int_equal(endpoint->by_id.used, count);
	for (unsigned i = count; i-- > 0; composite = composite->next) {
		assert_ptr_equal(composite, sessions[i]);
		assert_ptr_equal(composite->at, at_next);
		at_next = &composite->next;
	}
	assert_null(composite);
}

/* Each of them leaves first, once. */
TEST(test_sessions_are_listed_and_counted)
{
	for (unsigned gone = 0; gone < COUNT; gone++) {
		struct nopal_session *sessions[COUNT];

		for (unsigned i = 0; i < COUNT; i++)
			sessions[i] = open_to(endpoint, PORT + i, NULL, NULL);
		assert_listed(sessions, COUNT);
		nopal_session_abort(sessions[gone], "test");
		for (unsigned i = gone; i + 1 < COUNT; i++)
			sessions[i] = sessions[i + 1];
		assert_listed(sessions, COUNT - 1);
		for (unsigned i = 0; i + 1 < COUNT; i++)
			nopal_session_abort(sessions[i], "test");
		assert_listed(sessions, 0);
	}
}

/* Datagrams in its train leave before it goes, here and at an alias. */
TEST(test_no_train_is_of_a_session_that_is_gone)
{
	struct nopal_endpoint *alias = nopal_sim_endpoint(rig.world, 1, 7000);
	struct nopal_session *session = open_to(endpoint, PORT, NULL, NULL);
	struct nopal_session *other = open_to(endpoint, PORT + 1, NULL, NULL);
	uint64_t left = counters->datagrams_out;

	assert_int_equal(nopal_endpoint_share(alias, endpoint), 0);
	alias->train_of = nopal__composite(session);
	assert_int_equal(nopal_send(session, "x", 1, 0), 0);
	assert_ptr_equal(endpoint->train_of, nopal__composite(session));
	nopal_session_abort(other, "test");
	assert_ptr_equal(endpoint->train_of, nopal__composite(session));
	assert_ptr_equal(alias->train_of, nopal__composite(session));
	nopal_session_abort(session, "test");
	assert_null(endpoint->train_of);
	assert_null(alias->train_of);
	assert_true(counters->datagrams_out > left);
}

static void ended(struct nopal_session *session, enum nopal_end end, const char *text, void *user)
{
	(void)session;
	assert_int_equal(end, NOPAL_ABORTED);
	assert_string_equal(text, "its endpoint closed");
	++*(unsigned *)user;
}

static void other_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			void *user)
{
	(void)session, (void)end, (void)text;
	++*(unsigned *)user;
}

static unsigned shared_count(void)
{
	unsigned count = 0;

	for (struct nopal_shared_callbacks *one = endpoint->callbacks; one; one = one->next)
		count++;
	return count;
}

TEST(test_sessions_share_their_callbacks)
{
	const struct nopal_callbacks some = { .ended = ended };
	const struct nopal_callbacks others = { .ended = other_ended };
	const struct nopal_callbacks same = some;
	struct nopal_session *session[3];
	unsigned ends = 0;

	session[0] = open_to(endpoint, PORT, &some, &ends);
	session[1] = open_to(endpoint, PORT + 1, &others, &ends);
	session[2] = open_to(endpoint, PORT + 2, &same, &ends);
	assert_int_equal(shared_count(), 2);
	assert_ptr_equal(nopal__composite(session[0])->callbacks,
			 nopal__composite(session[2])->callbacks);
	nopal_session_abort(session[1], "test");
	assert_int_equal(shared_count(), 1);
	assert_int_equal(ends, 1);
	assert_int_equal(endpoint->callbacks->sessions, 2);
	nopal_endpoint_close(endpoint);
	assert_int_equal(ends, 3);
	rig.acceptor.endpoint = NULL;
}

/* -------------------------------------------------------------- what it allows */

static void *accepted_by;

static void *on_accepted(struct nopal_session *session, void *user)
{
	(void)session;
	accepted_by = user;
	return NULL;
}

static int allow(unsigned flags, const struct nopal_callbacks *callbacks, void *user)
{
	endpoint = nopal_sim_endpoint(rig.world, 1, 7001);
	counters = &endpoint->port.counters;
	return nopal_endpoint_allow(endpoint, rig.plan, flags, callbacks, user);
}

TEST(test_a_listener_is_told_whom_it_has)
{
	static const struct nopal_callbacks callbacks = { .accepted = on_accepted };
	uint8_t bytes[DATAGRAM] = { nopal__first_byte(NOPAL_KIND_DATA_OPENING), 0, 0, 0, 1 };
	uint64_t fingerprint = nopal_plan_info(rig.plan)->fingerprint;

	for (int i = 0; i < 8; i++)
		bytes[5 + i] = (uint8_t)(fingerprint >> (56 - 8 * i));
	accepted_by = NULL;
	assert_int_equal(allow(NOPAL_ALLOW_CONNECTIONLESS, NULL, &rig), 0);
	arrive(endpoint, bytes, sizeof(bytes), 0);
	assert_int_equal(counters->accepted, 1);
	assert_null(accepted_by);
	nopal_endpoint_close(endpoint);
	assert_int_equal(allow(NOPAL_ALLOW_CONNECTIONLESS, &callbacks, &rig), 0);
	arrive(endpoint, bytes, sizeof(bytes), 0);
	assert_int_equal(counters->accepted, 1);
	assert_ptr_equal(accepted_by, &rig);
}

TEST(test_a_listener_without_memory_is_none)
{
	int error;

	endpoint = nopal_sim_endpoint(rig.world, 1, 7001);
	failing_from(1, false);
	error = nopal_endpoint_allow(endpoint, rig.plan, NOPAL_ALLOW_CONNECTIONLESS, NULL, NULL);
	assert_int_equal(failing_stop(), 1);
	assert_int_equal(error, -ENOMEM);
	assert_null(endpoint->listeners);
	failing_from(1, false);
	assert_null(open_to(endpoint, PORT, NULL, NULL));
	failing_stop();
}

TEST(test_a_handshake_needs_no_permission)
{
	assert_int_equal(allow(0, NULL, NULL), -EPERM);
	rig_close(&rig);
	begin(CIRCUIT);
	assert_int_equal(allow(0, NULL, NULL), 0);
	endpoint->demux = NOPAL_DEMUX_ADDRESS;
	assert_int_equal(nopal_endpoint_allow(endpoint, rig.plan, 0, NULL, NULL), -EINVAL);
}

/* -------------------------------------------------------------------- aliases */

TEST(test_an_alias_is_of_one_endpoint)
{
	struct nopal_endpoint *primary = nopal_sim_endpoint(rig.world, 1, 7002);
	struct nopal_endpoint *one = nopal_sim_endpoint(rig.world, 1, 7003);
	struct nopal_endpoint *two = nopal_sim_endpoint(rig.world, 1, 7004);

	assert_int_equal(nopal_endpoint_share(primary, primary), -EINVAL);
	assert_int_equal(nopal_endpoint_share(one, primary), 0);
	assert_int_equal(nopal_endpoint_share(one, two), -EINVAL);
	assert_int_equal(nopal_endpoint_share(two, one), -EINVAL);
	assert_int_equal(nopal_endpoint_share(primary, two), -EINVAL);
	assert_int_equal(nopal_endpoint_share(two, primary), 0);
	assert_ptr_equal(primary->aliases, two);
	assert_ptr_equal(two->next_alias, one);
	nopal_endpoint_close(one);
	assert_ptr_equal(primary->aliases, two);
	assert_null(two->next_alias);
	nopal_endpoint_close(primary);
	assert_null(two->alias_of);
}

TEST(test_paths_end_with_their_alias)
{
	struct nopal_endpoint *alias = nopal_sim_endpoint(rig.world, 1, 7000);
	struct nopal_session *session = open_to(endpoint, PORT, NULL, NULL);
	struct nopal_awake *awake = rig_awake(session);
	struct nopal_paths paths = {
		.open = 7,
		.path = { { 0 }, { .endpoint = alias }, { .endpoint = endpoint } },
	};

	assert_int_equal(nopal_endpoint_share(alias, endpoint), 0);
	awake->paths = &paths;
	nopal_endpoint_close(alias);
	awake->paths = NULL;
	assert_null(paths.path[1].endpoint);
	assert_ptr_equal(paths.path[2].endpoint, endpoint);
	assert_int_equal(paths.open, 5);
}

/* ------------------------------------------------------------------ secrets */

TEST(test_shards_have_one_secret_and_others_their_own)
{
	const struct nopal_shard shard = { 1, 2, { 5, 6 } };
	struct nopal_address local = at(7005);
	struct nopal_endpoint *sharded;

	sharded = nopal__endpoint_open(
		&(struct nopal_port){ .world = rig.world, .local = local, .shard = &shard }, NULL);
	assert_memory_equal(sharded->secret, shard.secret, sizeof(shard.secret));
	assert_true(endpoint->secret[0] && endpoint->secret[1]);
	assert_true(endpoint->secret[0] != endpoint->secret[1]);
	assert_true(rig.opener.endpoint->secret[1] != endpoint->secret[1]);
	assert_ptr_equal(nopal__endpoint_port(endpoint), &endpoint->port);
	nopal_endpoint_close(sharded);
}
