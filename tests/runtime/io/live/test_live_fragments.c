/* SPDX-License-Identifier: MIT */
/*
 * test_live_fragments -- sockets on a loopback device of 1300 bytes, in a network namespace of
 * their own.  Without the right to make one, 77: skipped.
 */
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "io/live/live.h"
#include "support/test.h"

enum { DEVICE = 1300, LONG = 4000, SHORT = 1300 - 48, WAIT_MS = 2000 };

static bool narrow_loopback(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_mtu = DEVICE };
	int fd;
	bool good;

	if (unshare(CLONE_NEWNET))
		return false;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	good = fd >= 0 && ioctl(fd, SIOCSIFMTU, &request) == 0;
	request.ifr_flags = IFF_UP;
	good = good && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
	if (fd >= 0)
		close(fd);
	return good;
}

static enum nopal_transmitted send_one(struct live_socket *sock, const struct nopal_address *to,
				       uint32_t length, bool fragments)
{
	static const uint8_t bytes[LONG];
	struct nopal_train train = {
		.to = to, .bytes = bytes, .length = length, .stride = length, .fragments = fragments
	};

	return nopal__live_socket_send(sock, &train);
}

/* The length of what arrives next; 0: nothing does. */
static uint32_t take(struct live_socket *sock)
{
	struct nopal_arrival arrivals[LIVE_BATCH_RECEIVES];
	struct pollfd readable = { .fd = sock->fd, .events = POLLIN };
	uint32_t length = 0;
	size_t count;

	if (poll(&readable, 1, WAIT_MS) != 1)
		return 0;
	count = nopal__live_socket_gather(sock, arrivals);
	if (count == 1)
		length = arrivals[0].length;
	nopal__live_socket_gave(sock, arrivals, count);
	return length;
}

/* A socket bound to `text` sends to itself. */
static void long_ones_pass_in_fragments(const char *text)
{
	struct nopal_address any, at;
	struct live_socket sock;

	assert_int_equal(nopal_address_parse(text, &any, NULL), 0);
	if (nopal__live_socket_open(&sock, &any, &at))
		skip();
	for (int i = 0; i < 2; i++) {
		assert_int_equal(send_one(&sock, &at, LONG, false), NOPAL_TOO_BIG);
		assert_int_equal(send_one(&sock, &at, SHORT, false), NOPAL_TRANSMITTED);
		assert_int_equal(take(&sock), SHORT);
		assert_int_equal(send_one(&sock, &at, LONG, true), NOPAL_TRANSMITTED);
		assert_int_equal(take(&sock), LONG);
	}
	nopal__live_socket_close(&sock);
}

TEST(ipv4)
{
	long_ones_pass_in_fragments("127.0.0.1:0");
}

TEST(ipv6)
{
	long_ones_pass_in_fragments("[::1]:0");
}

int main(void)
{
	if (!narrow_loopback()) {
		puts("no network namespace of our own");
		return 77;
	}
	return tests_run();
}
