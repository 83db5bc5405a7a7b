/* SPDX-License-Identifier: MIT */
/*
 * flood_tcp -- the kernel's TCP with the payload of the others: writes of 128 KiB
 * walked over 64 MiB, blocking, one connection.
 *
 *     tcp        congestion control by CUBIC, the kernel's usual
 *     tcp-NAME   by NAME, where the kernel has it: tcp-bbr
 *
 * Segments carry 1400 bytes, as everyone's packets do.  The buffers are the
 * kernel's own to tune, which is what TCP does best with.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "flood.h"

enum {
	TIMESTAMPS = 12, /* an option's bytes in each segment */
	SEGMENT = FLOOD_PAYLOAD + TIMESTAMPS,
	ALGORITHM_ROOM = 16,
};

static int tcp_socket(const struct flood *flood)
{
	const char *dash = strchr(flood->what, '-');
	const char *algorithm = dash ? dash + 1 : "cubic";
	int fd = socket(AF_INET, SOCK_STREAM, 0), segment = SEGMENT, one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, algorithm,
		       (socklen_t)strlen(algorithm)) < 0)
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
	snprintf(flood->version, sizeof(flood->version),
		 "%.64s %s, buffers tuned by the kernel", name.release,
		 algorithm);
}

static void tcp_recv(struct flood *flood)
{
	static uint8_t block[FLOOD_WRITE];
	int fd = tcp_socket(flood), one;
	ssize_t got;

	if (bind(fd, (struct sockaddr *)&flood->address,
		 sizeof(flood->address)) < 0 ||
	    listen(fd, 1) < 0)
		flood_fail("bind");
	flood_ready(flood);
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
	int fd = tcp_socket(flood);

	if (connect(fd, (struct sockaddr *)&flood->address,
		    sizeof(flood->address)) < 0)
		flood_fail("connect");
	while (!flood_over(flood)) {
		size_t length;
		const uint8_t *next =
			flood_next(flood, walk, FLOOD_WRITE, &length);

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

int main(int argc, char **argv)
{
	struct flood flood;

	flood_begin(&flood, argc, argv);
	flood.alone = true;
	if (flood.sends)
		tcp_send(&flood);
	else
		tcp_recv(&flood);
	flood_report(&flood);
	return 0;
}
