/* SPDX-License-Identifier: MIT */
/*
 * stream_where.c -- inputs and outputs of `nopal stream`, opened.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "frame/tool.h"
#include "run/stream_where.h"

enum {
	STREAM_FILE_MODE = 0666,
	STREAM_UDP_BUFFER = 4 << 20,
};
#define STREAM_FILE_PREFIX "file:"
#define STREAM_UDP_PREFIX  "udp://"

union stream_name {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* A bound socket, or a connected one. */
static int stream_udp_open(const char *address, bool connected)
{
	struct nopal_problems problems = { 0 };
	struct nopal_address parsed;
	union stream_name name = { 0 };
	socklen_t length;
	int fd, bytes = STREAM_UDP_BUFFER;
	bool good;

	if (connected)
		good = tool_destination(address, &parsed);
	else
		good = nopal_address_parse(address, &parsed, &problems) == 0;
	tool_problems(&problems);
	if (!good)
		return -1;
	if (nopal_address_is_v4(&parsed)) {
		name.v4.sin_family = AF_INET;
		memcpy(&name.v4.sin_addr, parsed.ip + NOPAL_V4_AT, sizeof(name.v4.sin_addr));
		length = sizeof(name.v4);
	} else {
		name.v6.sin6_family = AF_INET6;
		memcpy(&name.v6.sin6_addr, parsed.ip, sizeof(parsed.ip));
		length = sizeof(name.v6);
	}
	name.v4.sin_port = htons(parsed.port); /* where v6 has it, too */
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

static int stream_file_open(const char *path, bool output)
{
	int flags = output ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY;
	int fd = open(path, flags | O_CLOEXEC, STREAM_FILE_MODE);
	struct stat status;

	/* A folder opens, and only reading it fails. */
	if (fd >= 0 && !fstat(fd, &status) && S_ISDIR(status.st_mode)) {
		close(fd);
		errno = EISDIR;
		fd = -1;
	}
	if (fd < 0)
		fprintf(stderr,
			"error: %s: %s\n"
			"  fix: give a file that may be %s\n",
			path, strerror(errno), output ? "written" : "read");
	return fd;
}

int stream_where_open(const char *where, bool output, enum stream_kind *ret_kind)
{
	*ret_kind = STREAM_PIPE;
	if (strcmp(where, "pipe:") == 0)
		return dup(output ? STDOUT_FILENO : STDIN_FILENO);
	*ret_kind = STREAM_FILE;
	if (strncmp(where, STREAM_FILE_PREFIX, strlen(STREAM_FILE_PREFIX)) == 0)
		return stream_file_open(where + strlen(STREAM_FILE_PREFIX), output);
	*ret_kind = STREAM_UDP;
	if (strncmp(where, STREAM_UDP_PREFIX, strlen(STREAM_UDP_PREFIX)) == 0)
		return stream_udp_open(where + strlen(STREAM_UDP_PREFIX), output);
	fprintf(stderr,
		"error: %s %s: it is of no known kind\n"
		"  fix: pipe:, file:PATH or udp://ADDR:PORT\n",
		output ? "output" : "input", where);
	return -1;
}
