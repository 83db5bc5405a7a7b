/* SPDX-License-Identifier: MIT */
/*
 * test_live_wait -- a live world on a loop that is not libevent's: poll(2) with its descriptor, its
 * deadline, or both.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <event2/event.h>

#include "session/endpoint_sessions.h"
#include "support/test.h"

enum {
	MESSAGE = 30000,
	MESSAGES = 40, /* each way */
	WAIT_MS = 5000,
	GIVE_UP_S = 20,
	QUIET_POLLS = 50,
};

/* Sends of the library's sockets fail with `errno_value` while `left` is positive. */
static struct {
	int left, errno_value;
	unsigned failed;
} fault;

static bool fails(void)
{
	if (fault.left <= 0)
		return false;
	fault.left--;
	fault.failed++;
	errno = fault.errno_value;
	return true;
}

ssize_t __real_sendto(int fd, const void *bytes, size_t length, int flags,
		      const struct sockaddr *to, socklen_t to_length);
ssize_t __wrap_sendto(int fd, const void *bytes, size_t length, int flags,
		      const struct sockaddr *to, socklen_t to_length);
ssize_t __real_sendmsg(int fd, const struct msghdr *header, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *header, int flags);

ssize_t __wrap_sendto(int fd, const void *bytes, size_t length, int flags,
		      const struct sockaddr *to, socklen_t to_length)
{
	return fails() ? -1 : __real_sendto(fd, bytes, length, flags, to, to_length);
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *header, int flags)
{
	return fails() ? -1 : __real_sendmsg(fd, header, flags);
}

/* ------------------------------------------------------------ two that talk */

/* Both ends of one session are in one world. */
struct talk {
	struct nopal_world *world;
	struct nopal_plan *plan;
	struct nopal_endpoint *here, *there;
	struct nopal_session *session[2]; /* the opener's first */
	unsigned sent[2], received[2], ended;
	uint8_t bytes[MESSAGE];
};

/* Each message differs from the others and from those of the other way. */
static void fill(uint8_t *bytes, unsigned side, unsigned number)
{
	for (unsigned i = 0; i < MESSAGE; i++)
		bytes[i] = (uint8_t)(i * 7 + number * 31 + side * 101 + (i >> 8));
}

static unsigned side_of(const struct talk *talk, const struct nopal_session *session)
{
	return session == talk->session[0] ? 0 : 1;
}

static void send_more(struct talk *talk, struct nopal_session *session)
{
	unsigned side = side_of(talk, session);

	while (talk->sent[side] < MESSAGES) {
		fill(talk->bytes, side, talk->sent[side]);
		if (nopal_send(session, talk->bytes, MESSAGE, 0))
			return;
		talk->sent[side]++;
	}
}

static void *on_accepted(struct nopal_session *session, void *user)
{
	struct talk *talk = user;

	talk->session[1] = session;
	return talk;
}

static void on_writable(struct nopal_session *session, void *user)
{
	send_more(user, session);
}

static void on_received(struct nopal_session *session, struct nopal_message *message, void *user)
{
	struct talk *talk = user;
	unsigned side = side_of(talk, session);
	uint8_t expected[MESSAGE], arrived[MESSAGE];

	assert_int_equal(nopal_message_length(message), MESSAGE);
	nopal_message_copy(message, 0, arrived, MESSAGE);
	fill(expected, 1 - side, talk->received[side]++);
	assert_memory_equal(arrived, expected, MESSAGE);
	if (talk->received[0] == MESSAGES && talk->received[1] == MESSAGES)
		nopal_session_close(talk->session[0]);
}

static void on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
		     void *user)
{
	struct talk *talk = user;

	(void)text;
	assert_int_equal(end, NOPAL_ENDED_WELL);
	talk->session[side_of(talk, session)] = NULL;
	talk->ended++;
}

static const struct nopal_callbacks callbacks = {
	.accepted = on_accepted,
	.opened = on_writable,
	.received = on_received,
	.writable = on_writable,
	.ended = on_ended,
};

static int talk_open(void **state)
{
	struct talk *talk = calloc(1, sizeof(*talk));
	struct nopal_problems problems = { 0 };
	struct nopal_address any, at;

	memset(&fault, 0, sizeof(fault));
	talk->world = nopal_live_new(NULL);
	assert_non_null(talk->world);
	talk->plan = nopal_plan_load("bulk", NULL, &problems);
	nopal_address_parse("127.0.0.1:0", &any, NULL);
	talk->here = nopal_endpoint_open(talk->world, &any, NULL);
	talk->there = nopal_endpoint_open(talk->world, &any, NULL);
	nopal_endpoint_local(talk->there, &at);
	nopal_endpoint_allow(talk->there, talk->plan, 0, &callbacks, talk);
	talk->session[0] = nopal_open(talk->here, talk->plan, &at, &callbacks, talk);
	assert_non_null(talk->session[0]);
	*state = talk;
	return 0;
}

static int talk_close(void **state)
{
	struct talk *talk = *state;

	nopal_world_free(talk->world);
	nopal_plan_unref(talk->plan);
	free(talk);
	return 0;
}

EACH_TEST(talk_open, talk_close);

/* The time until the world has to be polled, rounded up, as poll(2) takes it. */
static int milliseconds_left(const struct nopal_world *world)
{
	int64_t deadline_ns = nopal_live_deadline(world), left_ns;

	if (deadline_ns == NOPAL_NEVER)
		return -1;
	left_ns = deadline_ns - nopal_world_now(world);
	return left_ns <= 0 ? 0 : (int)((left_ns + NOPAL_MILLISECOND - 1) / NOPAL_MILLISECOND);
}

static void talk_to_the_end(struct talk *talk, bool by_deadline)
{
	struct pollfd ready = { .fd = nopal_live_fd(talk->world), .events = POLLIN };
	int64_t begun_ns = nopal_world_now(talk->world);

	while (talk->ended < 2 &&
	       nopal_world_now(talk->world) - begun_ns < GIVE_UP_S * NOPAL_SECOND) {
		poll(&ready, 1, by_deadline ? milliseconds_left(talk->world) : WAIT_MS);
		nopal_live_poll(talk->world);
	}
	assert_int_equal(talk->ended, 2);
	assert_int_equal(talk->received[0], MESSAGES);
	assert_int_equal(talk->received[1], MESSAGES);
}

/* -------------------------------------------------------------------- tests */

/* Arrivals and timers alike: a handshake, acknowledgements that wait, an end. */
TEST(test_the_descriptor_alone_carries_a_session)
{
	talk_to_the_end(*state, false);
}

TEST(test_deadlines_and_the_descriptor_carry_a_session)
{
	talk_to_the_end(*state, true);
}

/* The kernel has no room, as where a device is slower than we are. */
TEST(test_a_full_socket_goes_on_when_there_is_room)
{
	fault.errno_value = EAGAIN;
	fault.left = 20;
	talk_to_the_end(*state, true);
	assert_int_equal(fault.failed, 20);
}

/* Nothing tells of memory that is free again, but for the deadline. */
TEST(test_a_kernel_without_memory_is_asked_again)
{
	fault.errno_value = ENOBUFS;
	fault.left = 5;
	talk_to_the_end(*state, false);
	assert_int_equal(fault.failed, 5);
}

static bool is_readable(const struct talk *talk)
{
	struct pollfd ready = { .fd = nopal_live_fd(talk->world), .events = POLLIN };

	return poll(&ready, 1, 0) == 1;
}

static void poll_until_quiet(const struct talk *talk)
{
	unsigned polls = 0;

	while (is_readable(talk) && polls++ < QUIET_POLLS)
		nopal_live_poll(talk->world);
	assert_true(polls < QUIET_POLLS);
}

/* A datagram that nobody reads is told again and again, and a world at rest says nothing. */
TEST(test_the_descriptor_is_readable_by_level)
{
	struct talk *talk = *state;

	assert_true(is_readable(talk)); /* the request to open waits at the other endpoint */
	assert_true(is_readable(talk));
	talk_to_the_end(talk, true);
	poll_until_quiet(talk);
}

/* ICMP says that nobody listens there: an error alone makes the descriptor readable, and a poll
 * takes it in, so that no loop spins. */
TEST(test_an_error_of_a_socket_is_taken_in)
{
	struct talk *talk = *state;
	static const struct nopal_callbacks deaf = { 0 };
	struct nopal_address nobody;

	talk_to_the_end(talk, true);
	nopal_address_parse("127.0.0.1:9", &nobody, NULL);
	assert_non_null(nopal_open(talk->here, talk->plan, &nobody, &deaf, talk));
	assert_true(is_readable(talk));
	poll_until_quiet(talk);
}

/* Other worlds have no descriptor; each has a deadline. */
TEST_WITH(NULL, NULL, test_only_a_world_without_a_loop_has_a_descriptor)
{
	struct event_base *base = event_base_new();
	struct nopal_world *live = nopal_live_new(base), *sim = nopal_sim_new(1);

	assert_int_equal(nopal_live_fd(live), -EINVAL);
	assert_int_equal(nopal_live_fd(sim), -EINVAL);
	assert_true(nopal_live_deadline(live) == NOPAL_NEVER);
	assert_true(nopal_live_deadline(sim) == NOPAL_NEVER);
	nopal_world_free(live);
	nopal_world_free(sim);
	event_base_free(base);
}
