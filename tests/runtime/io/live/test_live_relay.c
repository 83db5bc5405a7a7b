/* SPDX-License-Identifier: MIT */
/*
 * The UDP relay, over loopback: two plain sockets speak through it.
 */
#include <event2/event.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/live/live.h"
#include <nopal/microprotocol.h>
#include "support/test.h"

enum { PACKETS = 32, PACKET_BYTES = 64, SEED = 3, ROUNDS = 400, STEP_US = 1000 };

/* A client and a target, with the relay between them. */
struct scene {
	struct event_base *base;
	struct nopal_relay *relay;
	int client, target;
	union live_sockaddr relay_name, from;
	socklen_t relay_length, from_length;
};

static int udp_socket(union live_sockaddr *ret_name, socklen_t *ret_length)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	union live_sockaddr name = { .v4 = { .sin_family = AF_INET } };

	name.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, &name.any, sizeof(name.v4)), 0);
	*ret_length = sizeof(*ret_name);
	assert_int_equal(getsockname(fd, &ret_name->any, ret_length), 0);
	return fd;
}

static void open_scene(struct scene *scene, const char *words)
{
	struct nopal_link forward, reverse;
	struct nopal_address listen, target, local;
	struct nopal_problems problems = { 0 };
	union live_sockaddr name;
	socklen_t length;

	memset(scene, 0, sizeof(*scene));
	assert_int_equal(nopal_link_parse(words, &forward, &reverse, &problems), 0);
	scene->client = udp_socket(&name, &length);
	scene->target = udp_socket(&name, &length);
	nopal__live_address_from(&name, &target);
	nopal_address_parse("127.0.0.1:0", &listen, &problems);
	scene->base = event_base_new();
	scene->relay = nopal_relay_open(scene->base, &listen, &target, &forward, &reverse, SEED,
					&problems);
	assert_non_null(scene->relay);
	nopal_relay_local(scene->relay, &local);
	scene->relay_length = nopal__live_address_to(&local, AF_INET, &scene->relay_name);
	nopal_problems_fini(&problems);
}

static void close_scene(struct scene *scene)
{
	nopal_relay_close(scene->relay);
	event_base_free(scene->base);
	close(scene->client);
	close(scene->target);
}

static void client_sends(struct scene *scene, uint8_t fill)
{
	uint8_t bytes[PACKET_BYTES];

	memset(bytes, fill, sizeof(bytes));
	assert_int_equal(sendto(scene->client, bytes, sizeof(bytes), 0, &scene->relay_name.any,
				scene->relay_length),
			 PACKET_BYTES);
}

static void turn(struct scene *scene)
{
	event_base_loop(scene->base, EVLOOP_NONBLOCK);
	usleep(STEP_US);
}

/* Receives what comes within ROUNDS turns, at most `most`. */
static unsigned receive(struct scene *scene, int fd, unsigned max, uint8_t *last)
{
	unsigned count = 0;

	for (int i = 0; i < ROUNDS && count < max; i++) {
		scene->from_length = sizeof(scene->from);
		while (recvfrom(fd, last, PACKET_BYTES, 0, &scene->from.any, &scene->from_length) ==
		       PACKET_BYTES)
			count++;
		turn(scene);
		scene->from_length = sizeof(scene->from);
	}
	return count;
}

TEST(passes_both_ways)
{
	uint8_t bytes[PACKET_BYTES];
	struct scene scene;

	open_scene(&scene, "delay 5ms");
	client_sends(&scene, 1);
	assert_int_equal(receive(&scene, scene.target, 1, bytes), 1);
	assert_int_equal(bytes[0], 1);
	memset(bytes, 2, sizeof(bytes));
	assert_int_equal(sendto(scene.target, bytes, sizeof(bytes), 0, &scene.from.any,
				sizeof(scene.from.v4)),
			 PACKET_BYTES);
	assert_int_equal(receive(&scene, scene.client, 1, bytes), 1);
	assert_int_equal(bytes[0], 2);
	close_scene(&scene);
}

/* The mark of what the target receives next. */
static int mark_at_target(struct scene *scene)
{
	uint8_t bytes[PACKET_BYTES];
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec vector = { bytes, sizeof(bytes) };
	struct msghdr header = { .msg_iov = &vector,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control) };

	for (int i = 0; i < ROUNDS; i++) {
		turn(scene);
		if (recvmsg(scene->target, &header, 0) == PACKET_BYTES)
			return *CMSG_DATA(CMSG_FIRSTHDR(&header));
	}
	return -1;
}

TEST(marks_in_place_of_losses)
{
	struct nopal_link_counters forward, reverse;
	struct scene scene;
	int on = 1, ecn = NOPAL_ECT_0;

	open_scene(&scene, "fwd: loss mask 101 ecn");
	setsockopt(scene.target, IPPROTO_IP, IP_RECVTOS, &on, sizeof(on));
	client_sends(&scene, 1); /* understands no marks: is lost */
	setsockopt(scene.client, IPPROTO_IP, IP_TOS, &ecn, sizeof(ecn));
	client_sends(&scene, 2);
	assert_int_equal(mark_at_target(&scene), NOPAL_ECT_0);
	client_sends(&scene, 3);
	assert_int_equal(mark_at_target(&scene), NOPAL_CE);
	nopal_relay_counters(scene.relay, &forward, &reverse);
	assert_int_equal(forward.marked, 1);
	assert_int_equal(forward.lost, 1);
	close_scene(&scene);
}

TEST(loses_one_direction_alone)
{
	struct nopal_link_counters forward, reverse;
	uint8_t bytes[PACKET_BYTES];
	struct scene scene;

	open_scene(&scene, "fwd: loss 50%");
	for (int i = 0; i < PACKETS; i++)
		client_sends(&scene, (uint8_t)i);
	unsigned arrived = receive(&scene, scene.target, PACKETS, bytes);

	nopal_relay_counters(scene.relay, &forward, &reverse);
	assert_int_equal(forward.entered, PACKETS);
	assert_int_equal(forward.lost, PACKETS - arrived);
	assert_int_equal(forward.delivered, arrived);
	assert_true(arrived > 0 && arrived < PACKETS);
	assert_int_equal(reverse.entered, 0);
	close_scene(&scene);
}

TEST(corrupts_one_bit)
{
	uint8_t bytes[PACKET_BYTES];
	struct scene scene;
	int flipped = 0;

	open_scene(&scene, "corrupt 100%");
	client_sends(&scene, 0);
	assert_int_equal(receive(&scene, scene.target, 1, bytes), 1);
	for (int i = 0; i < PACKET_BYTES; i++)
		flipped += __builtin_popcount(bytes[i]);
	assert_int_equal(flipped, 1);
	close_scene(&scene);
}

TEST(keeps_packets_back_until_it_closes)
{
	struct scene scene;

	open_scene(&scene, "delay 60s");
	for (int i = 0; i < PACKETS; i++)
		client_sends(&scene, (uint8_t)i);
	for (int i = 0; i < 5; i++)
		turn(&scene);
	close_scene(&scene); /* and frees what it carries */
}
