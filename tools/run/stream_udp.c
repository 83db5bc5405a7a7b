/* SPDX-License-Identifier: MIT */
/*
 * stream_udp.c -- a plain UDP socket for `nopal stream`.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>

#include "frame/tool.h"
#include "run/stream_udp.h"

enum {
	STREAM_UDP_BUFFER = 4 << 20,
};

union stream_name {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t stream_udp_name(const struct nopal_address *address, union stream_name *name)
{
	memset(name, 0, sizeof(*name));
	if (nopal_address_is_v4(address)) {
		name->v4.sin_family = AF_INET;
		name->v4.sin_port = htons(address->port);
		memcpy(&name->v4.sin_addr, address->ip + NOPAL_V4_AT, sizeof(name->v4.sin_addr));
		return sizeof(name->v4);
	}
	name->v6.sin6_family = AF_INET6;
	name->v6.sin6_port = htons(address->port);
	memcpy(&name->v6.sin6_addr, address->ip, sizeof(address->ip));
	return sizeof(name->v6);
}

int stream_udp_open(const char *address, bool connected)
{
	struct nopal_problems problems;
	struct nopal_address parsed;
	union stream_name name;
	socklen_t length;
	int fd, bytes = STREAM_UDP_BUFFER;
	bool good;

	nopal_problems_init(&problems);
	if (connected)
		good = tool_destination(address, &parsed);
	else
		good = nopal_address_parse(address, &parsed, &problems) == 0;
	tool_problems(&problems);
	if (!good)
		return -1;
	length = stream_udp_name(&parsed, &name);
	fd = socket(name.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 &&
	    (connected ? connect(fd, &name.any, length) : bind(fd, &name.any, length)) == 0) {
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
		return fd;
	}
	fprintf(stderr, "error: udp://%s: %s\n  fix: %s\n", address, strerror(errno),
		connected ? "give an address that this machine can reach"
			  : "give an address of this machine and a free port");
	if (fd >= 0)
		close(fd);
	return -1;
}
