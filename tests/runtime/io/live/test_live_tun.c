/* SPDX-License-Identifier: MIT */
/*
 * A link between TUN devices: the kernel's own UDP and TCP of two namespaces speak through it.
 * Without the right to make them, 77: skipped.
 */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <nopal/microprotocol.h>
#include <nopal/nopal.h>
#include "support/test.h"

enum {
	SIDES = 2,
	SEED = 3,
	PORT = 4000,
	PACKETS = 100,
	MARKED = 64,	    /* all classes; a socket has room for them */
	PACKET_BYTES = 972, /* 1000 with IPv4 and UDP */
	LINK_BYTES = 1000,
	STREAM_BYTES = 300000,
	ROUNDS = 20000,
	STEP_US = 500,
	SKIPPED = 77,
	PATH_BYTES = 64,
};

/* The network 10.9.1.0/24; side 0 is .1. */
#define NETWORK 0x0a090100u
#define NETMASK 0xffffff00u

static const char *const devices[SIDES] = { "nopaltest0", "nopaltest1" };

struct scene {
	int primary, spaces[SIDES], udp[SIDES];
	char paths[SIDES][PATH_BYTES];
	struct event_base *base;
	struct nopal_tun *tun;
};

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * NOPAL_SECOND + time.tv_nsec;
}

/* -------------------------------------------------------------- namespaces */

static int this_space(void)
{
	return open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

static int space_socket(const struct scene *scene, int side, int kind)
{
	int fd;

	assert_int_equal(setns(scene->spaces[side], CLONE_NEWNET), 0);
	fd = socket(AF_INET, kind | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_int_equal(setns(scene->primary, CLONE_NEWNET), 0);
	assert_true(fd >= 0);
	return fd;
}

static struct sockaddr_in address_of(int side)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	address.sin_addr.s_addr = htonl(NETWORK + 1 + (unsigned)side);
	return address;
}

static void give_address(const struct scene *scene, int side)
{
	int fd = space_socket(scene, side, SOCK_DGRAM);
	struct sockaddr_in address = address_of(side);
	struct ifreq request = { 0 };

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", devices[side]);
	memcpy(&request.ifr_addr, &address, sizeof(address));
	assert_int_equal(ioctl(fd, SIOCSIFADDR, &request), 0);
	address.sin_addr.s_addr = htonl(NETMASK);
	memcpy(&request.ifr_netmask, &address, sizeof(address));
	assert_int_equal(ioctl(fd, SIOCSIFNETMASK, &request), 0);
	close(fd);
}

static bool has_device(const struct scene *scene, int side)
{
	int fd = space_socket(scene, side, SOCK_DGRAM);
	struct ifreq request = { 0 };
	bool there;

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", devices[side]);
	there = ioctl(fd, SIOCGIFINDEX, &request) == 0;
	close(fd);
	return there;
}

/* False: this machine makes none. */
static bool make_spaces(struct scene *scene)
{
	scene->primary = this_space();
	for (int i = 0; i < SIDES; i++) {
		if (unshare(CLONE_NEWNET) < 0)
			return false;
		scene->spaces[i] = this_space();
		snprintf(scene->paths[i], PATH_BYTES, "/proc/self/fd/%d", scene->spaces[i]);
	}
	return setns(scene->primary, CLONE_NEWNET) == 0;
}

/* ------------------------------------------------------------------- scene */

static struct nopal_tun *open_tun(struct scene *scene, const char *words, const char *device,
				  const char *space, struct nopal_problems *problems)
{
	struct nopal_tun_side sides[SIDES] = {
		{ device, space },
		{ devices[1], scene->paths[1] },
	};
	struct nopal_link forward, reverse;

	assert_int_equal(nopal_link_parse(words, &forward, &reverse, problems), 0);
	return nopal_tun_open(scene->base, sides, &forward, &reverse, SEED, problems);
}

static void open_scene(struct scene *scene, const char *words)
{
	struct nopal_problems problems = { 0 };

	memset(scene, 0, sizeof(*scene));
	assert_true(make_spaces(scene));
	scene->base = event_base_new();
	scene->tun = open_tun(scene, words, devices[0], scene->paths[0], &problems);
	nopal_problems_print(&problems, stderr);
	nopal_problems_fini(&problems);
	assert_non_null(scene->tun);
	for (int i = 0; i < SIDES; i++) {
		struct sockaddr_in address = address_of(i);

		give_address(scene, i);
		scene->udp[i] = space_socket(scene, i, SOCK_DGRAM);
		assert_int_equal(bind(scene->udp[i], (struct sockaddr *)&address, sizeof(address)),
				 0);
	}
}

static void close_scene(struct scene *scene)
{
	nopal_tun_close(scene->tun);
	event_base_free(scene->base);
	for (int i = 0; i < SIDES; i++) {
		assert_false(has_device(scene, i));
		close(scene->udp[i]);
		close(scene->spaces[i]);
	}
	close(scene->primary);
}

static void turn(struct scene *scene)
{
	event_base_loop(scene->base, EVLOOP_NONBLOCK);
	usleep(STEP_US);
}

static void send_packet(struct scene *scene, int from, size_t length)
{
	struct sockaddr_in to = address_of(1 - from);
	uint8_t bytes[2 * LINK_BYTES] = { 0 };

	assert_int_equal(
		sendto(scene->udp[from], bytes, length, 0, (struct sockaddr *)&to, sizeof(to)),
		length);
}

/* How many of `most` come to a side within ROUNDS turns. */
static unsigned receive(struct scene *scene, int side, unsigned max)
{
	uint8_t bytes[2 * LINK_BYTES];
	unsigned count = 0;

	for (int i = 0; i < ROUNDS && count < max; i++) {
		while (recv(scene->udp[side], bytes, sizeof(bytes), 0) > 0)
			count++;
		turn(scene);
	}
	return count;
}

/* ------------------------------------------------------------------- tests */

TEST(a_round_trip_takes_both_delays)
{
	struct scene scene;
	int64_t began_ns;

	open_scene(&scene, "fwd: delay 30ms rev: delay 20ms");
	began_ns = now();
	send_packet(&scene, 0, PACKET_BYTES);
	assert_int_equal(receive(&scene, 1, 1), 1);
	assert_true(now() - began_ns >= 30 * NOPAL_MILLISECOND);
	send_packet(&scene, 1, PACKET_BYTES);
	assert_int_equal(receive(&scene, 0, 1), 1);
	assert_true(now() - began_ns >= 50 * NOPAL_MILLISECOND);
	close_scene(&scene);
}

TEST(a_rate_is_kept_and_nothing_is_lost)
{
	const int64_t packet_ns = LINK_BYTES * 8 * NOPAL_SECOND / 4000000;
	struct nopal_link_counters forward, reverse;
	struct scene scene;
	int64_t began_ns;

	open_scene(&scene, "rate 4mbit");
	began_ns = now();
	for (int i = 0; i < PACKETS; i++)
		send_packet(&scene, 0, PACKET_BYTES);
	assert_int_equal(receive(&scene, 1, PACKETS), PACKETS);
	assert_true(now() - began_ns >= PACKETS * packet_ns);
	nopal_tun_counters(scene.tun, &forward, &reverse);
	assert_true(forward.delivered >= PACKETS);
	assert_true(forward.delivered_bytes >= PACKETS * LINK_BYTES);
	assert_int_equal(forward.lost + forward.overflowed + forward.missed, 0);
	close_scene(&scene);
}

TEST(what_is_too_big_falls_into_a_hole)
{
	struct nopal_link_counters forward, reverse;
	struct scene scene;

	open_scene(&scene, "mtu 1000");
	send_packet(&scene, 0, PACKET_BYTES + 1);
	send_packet(&scene, 0, PACKET_BYTES);
	assert_int_equal(receive(&scene, 1, 1), 1);
	nopal_tun_counters(scene.tun, &forward, &reverse);
	assert_int_equal(forward.too_big, 1);
	close_scene(&scene);
}

/* The kernel drops packets whose header does not sum up. */
TEST(marks_are_written_into_headers)
{
	struct nopal_link_counters forward, reverse;
	struct scene scene;
	int ecn = NOPAL_ECT_0;

	open_scene(&scene, "fwd: loss 100% ecn");
	send_packet(&scene, 0, PACKET_BYTES); /* understands no marks */
	for (int i = 0; i < MARKED; i++) {
		int service = (i % 64) << 2 | ecn;

		assert_int_equal(
			setsockopt(scene.udp[0], IPPROTO_IP, IP_TOS, &service, sizeof(service)), 0);
		send_packet(&scene, 0, (size_t)(PACKET_BYTES - i));
	}
	assert_int_equal(receive(&scene, 1, MARKED), MARKED);
	nopal_tun_counters(scene.tun, &forward, &reverse);
	assert_int_equal(forward.marked, MARKED);
	assert_true(forward.lost >= 1);
	close_scene(&scene);
}

/* Writes and reads what the kernel takes and has; true at the end. */
static bool stream_step(int from, int to, size_t *sent, size_t *came)
{
	uint8_t bytes[2 * LINK_BYTES];
	ssize_t length;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)((*sent + i) * 7);
	length = send(from, bytes, sizeof(bytes), MSG_NOSIGNAL);
	*sent += length > 0 ? (size_t)length : 0;
	while ((length = recv(to, bytes, sizeof(bytes), 0)) > 0)
		for (ssize_t i = 0; i < length; i++, ++*came)
			assert_int_equal(bytes[i], (uint8_t)(*came * 7));
	return *came >= STREAM_BYTES;
}

TEST(tcp_comes_through_losses)
{
	struct sockaddr_in address = address_of(1);
	struct nopal_link_counters forward, reverse;
	size_t sent = 0, came = 0;
	int listener, from, to = -1;
	struct scene scene;

	open_scene(&scene, "delay 2ms loss 3% duplicate 1% corrupt 1%");
	listener = space_socket(&scene, 1, SOCK_STREAM);
	from = space_socket(&scene, 0, SOCK_STREAM);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(connect(from, (struct sockaddr *)&address, sizeof(address)), -1);
	assert_int_equal(errno, EINPROGRESS);
	for (int i = 0; i < ROUNDS && to < 0; i++) {
		turn(&scene);
		to = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
	}
	assert_true(to >= 0);
	for (int i = 0; i < ROUNDS; i++) {
		if (stream_step(from, to, &sent, &came))
			break;
		turn(&scene);
	}
	assert_true(came >= STREAM_BYTES);
	nopal_tun_counters(scene.tun, &forward, &reverse);
	assert_true(forward.lost > 0);
	close(to);
	close(from);
	close(listener);
	close_scene(&scene);
}

static void refuse(struct scene *scene, const char *device, const char *space, const char *says)
{
	struct nopal_problems problems = { 0 };
	char text[512] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	assert_null(open_tun(scene, "delay 1ms", device, space, &problems));
	assert_int_equal(problems.errors, 1);
	nopal_problems_print(&problems, out);
	fclose(out);
	assert_non_null(strstr(text, says));
	assert_non_null(strstr(text, "fix: "));
	nopal_problems_fini(&problems);
}

/* Whatever fails, the device of the other side does not stay. */
TEST(what_cannot_be_is_said)
{
	struct scene scene;

	open_scene(&scene, "delay 1ms");
	refuse(&scene, "nopaltest2", "nopal-no-such-space", "ip netns add");
	refuse(&scene, "nopaltest2", "/proc/self/status", "namespace");
	refuse(&scene, "a-name-that-is-too-long", scene.paths[0], "1 to 15");
	refuse(&scene, devices[0], scene.paths[0], "choose a name");
	/* its second side is there already: the first goes again */
	refuse(&scene, "nopaltest2", scene.paths[0], devices[1]);
	nopal_tun_close(scene.tun);
	assert_false(has_device(&scene, 0));
	scene.tun = NULL;
	for (int i = 0; i < SIDES; i++) {
		close(scene.udp[i]);
		close(scene.spaces[i]);
	}
	close(scene.primary);
	event_base_free(scene.base);
}

static bool can_run(void)
{
	struct scene scene = { 0 };
	bool can = access("/dev/net/tun", R_OK | W_OK) == 0 && make_spaces(&scene);

	for (int i = 0; i < SIDES && can; i++)
		close(scene.spaces[i]);
	close(scene.primary);
	return can;
}

int main(void)
{
	if (!can_run()) {
		fprintf(stderr, "no namespaces or TUN devices here\n");
		return SKIPPED;
	}
	return tests_run();
}
