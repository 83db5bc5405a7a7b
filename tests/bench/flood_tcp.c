/* SPDX-License-Identifier: MIT */
/*
 * flood_tcp -- the kernel's TCP with the payload of the others: writes of 128 KiB walked over 64
 * MiB; one connection blocks, several take what epoll says.
 *
 *     tcp        congestion control by CUBIC, the kernel's usual
 *     tcp-NAME   by NAME, where the kernel has it: tcp-bbr
 *
 * Segments carry 1400 bytes, as everyone's packets do.  The buffers are the kernel's own to tune,
 * which is what TCP does best with.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "flood.h"

enum {
	TIMESTAMPS = 12, /* an option's bytes in each segment */
	SEGMENT = FLOOD_PAYLOAD + TIMESTAMPS,
	ALGORITHM_ROOM = 16,
	EVENTS = 64,
};

static int tcp_socket(const struct flood *flood)
{
	const char *dash = strchr(flood->what, '-');
	const char *algorithm = dash ? dash + 1 : "cubic";
	int fd = socket(AF_INET, SOCK_STREAM, 0), segment = SEGMENT, one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, algorithm, (socklen_t)strlen(algorithm)) <
	    0)
		exit(FLOOD_NOT_HERE);
	setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	return fd;
}

static void tcp_describe(struct flood *flood, int fd)
{
	char algorithm[ALGORITHM_ROOM] = "?";
	socklen_t length = sizeof(algorithm), size = sizeof(int);
	struct utsname name;

	uname(&name);
	getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, algorithm, &length);
	getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &flood->receive_buffer, &size);
	getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &flood->send_buffer, &size);
	snprintf(flood->version, sizeof(flood->version), "%.64s %s, buffers tuned by the kernel",
		 name.release, algorithm);
}

static int tcp_listen(const struct flood *flood)
{
	int fd = tcp_socket(flood);

	if (bind(fd, (const struct sockaddr *)&flood->address, sizeof(flood->address)) < 0 ||
	    listen(fd, flood->connections) < 0)
		flood_fail("bind");
	flood_ready(flood);
	return fd;
}

static int tcp_connect(const struct flood *flood)
{
	int fd = tcp_socket(flood);

	if (connect(fd, (const struct sockaddr *)&flood->address, sizeof(flood->address)) < 0)
		flood_fail("connect");
	return fd;
}

/* ------------------------------------------------------------- one connection */

static void tcp_recv(struct flood *flood)
{
	static uint8_t block[FLOOD_WRITE];
	int fd = tcp_listen(flood), one;
	ssize_t got;

	one = accept(fd, NULL, NULL);
	while ((got = recv(one, block, sizeof(block), 0)) > 0) {
		flood_arrived(flood);
		flood_stream(flood, block, (size_t)got);
	}
	tcp_describe(flood, one);
	close(one);
	close(fd);
}

static void tcp_send(struct flood *flood)
{
	uint8_t *walk = flood_walk();
	int fd = tcp_connect(flood);

	while (!flood_over(flood)) {
		size_t length;
		const uint8_t *next = flood_next(flood, walk, FLOOD_WRITE, &length);

		for (size_t done = 0; done < length;) {
			ssize_t sent = send(fd, next + done, length - done, 0);

			if (sent < 0)
				flood_fail("send");
			done += (size_t)sent;
		}
	}
	tcp_describe(flood, fd);
	close(fd);
	free(walk);
}

/* --------------------------------------------------------- several connections */

/* By its number among the connections. */
static void tcp_watch(int epoll, int fd, uint32_t what, int *fds, int index)
{
	struct epoll_event event = { .events = what, .data.u32 = (uint32_t)index };

	fds[index] = fd;
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		flood_fail("epoll");
}

static int *tcp_many(const struct flood *flood, int *ret_epoll)
{
	int *fds = calloc((size_t)flood->connections, sizeof(*fds));

	*ret_epoll = epoll_create1(0);
	if (!fds || *ret_epoll < 0)
		flood_fail("epoll");
	return fds;
}

/* Whatever is there of one of them; false: nothing more will be. */
static bool tcp_take(struct flood *flood, int fd, int index)
{
	static uint8_t block[FLOOD_WRITE];
	ssize_t got = recv(fd, block, sizeof(block), MSG_DONTWAIT);

	if (got > 0) {
		flood_arrived(flood);
		flood_stream(flood_lane(flood, index), block, (size_t)got);
	}
	return got > 0 || (got < 0 && errno == EAGAIN);
}

static void tcp_recv_many(struct flood *flood)
{
	struct epoll_event events[EVENTS];
	int epoll, left = flood->connections, listener = tcp_listen(flood);
	int *fds = tcp_many(flood, &epoll);

	for (int i = 0; i < flood->connections; i++)
		tcp_watch(epoll, accept(listener, NULL, NULL), EPOLLIN, fds, i);
	while (left > 0) {
		int count = epoll_wait(epoll, events, EVENTS, -1);

		for (int i = 0; i < count; i++) {
			int index = (int)events[i].data.u32;

			if (tcp_take(flood, fds[index], index))
				continue;
			if (--left == 0)
				tcp_describe(flood, fds[index]);
			close(fds[index]);
		}
	}
	free(fds);
}

static void tcp_give(struct flood *flood, const uint8_t *walk, int fd, int index)
{
	struct flood *lane = flood_lane(flood, index);
	size_t length;
	const uint8_t *next = flood_peek(lane, walk, FLOOD_WRITE, &length);
	ssize_t sent = send(fd, next, length, MSG_DONTWAIT);

	if (sent > 0)
		flood_gone(lane, (size_t)sent);
	else if (errno != EAGAIN)
		flood_fail("send");
}

static void tcp_send_many(struct flood *flood)
{
	struct epoll_event events[EVENTS];
	uint8_t *walk = flood_walk();
	int epoll;
	int *fds = tcp_many(flood, &epoll);

	for (int i = 0; i < flood->connections; i++)
		tcp_watch(epoll, tcp_connect(flood), EPOLLOUT, fds, i);
	while (!flood_over(flood)) {
		int count = epoll_wait(epoll, events, EVENTS, -1);

		for (int i = 0; i < count; i++) {
			int index = (int)events[i].data.u32;

			tcp_give(flood, walk, fds[index], index);
		}
	}
	tcp_describe(flood, fds[0]);
	for (int i = 0; i < flood->connections; i++)
		close(fds[i]);
	free(fds);
	free(walk);
}

int main(int argc, char **argv)
{
	struct flood flood;

	flood_begin(&flood, argc, argv);
	flood.alone = true;
	if (flood.connections > 1)
		(flood.sends ? tcp_send_many : tcp_recv_many)(&flood);
	else
		(flood.sends ? tcp_send : tcp_recv)(&flood);
	flood_report(&flood);
	return 0;
}
