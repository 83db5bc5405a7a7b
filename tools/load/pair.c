/* SPDX-License-Identifier: MIT */
/*
 * pair.c -- cores and namespaces of two processes, their plans, and the plain sockets between them.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "load/pair.h"

enum {
	PAIR_WORDS = 3,
	PAIR_SOCKET_BYTES = 8 << 20,
	PAIR_SEGMENTERS = 2, /* one of them cuts a config's messages */
	PAIR_PATH_BYTES = 256,
	PAIR_SELF_BYTES = 2048,
	PAIR_TEXT_BYTES = 128,
};
#define PAIR_LOOPBACK	"127.0.0.1"
#define PAIR_BESIDE	"../tests/bench" /* of the program in a build tree */
#define PAIR_COALESCED	"+coalesce"
#define PAIR_FUSED	"-fused" /* ends the name of a row */
#define PAIR_RUNS_FUSED "fused:" /* begins what nopal_plan_runs says */

bool bench_place_of(int argc, char **argv, struct bench_place *ret_place)
{
	*ret_place = (struct bench_place){ .address = PAIR_LOOPBACK };
	if (argc == 0)
		return true;
	if (argc == PAIR_WORDS) {
		*ret_place = (struct bench_place){ argv[0], argv[1], argv[2] };
		return true;
	}
	return tool_error(
		"%d words where 3 belong: two network namespaces and the second one's address\n"
		"  fix: give none of them to measure over loopback",
		argc);
}

void bench_pin(int core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)core, &set);
	sched_setaffinity(0, sizeof(set), &set); /* or it runs where it may */
}

bool bench_enter(const char *netns)
{
	char path[PAIR_PATH_BYTES];
	bool good;
	int fd;

	if (!netns)
		return true;
	snprintf(path, sizeof(path), "%s%s", strchr(netns, '/') ? "" : "/run/netns/", netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	good = fd >= 0 && setns(fd, CLONE_NEWNET) == 0;
	if (!good)
		tool_error("network namespace %s: %s\n"
			   "  fix: make it with `ip netns add`, and be root",
			   netns, strerror(errno));
	if (fd >= 0)
		close(fd);
	return good;
}

/* ------------------------------------------------------------------- plans */

static struct nopal_plan *pair_interpreted(struct nopal_plan *plan, struct nopal_problems *problems)
{
	tool_problems(problems);
	if (plan)
		nopal_plan_interpret(plan);
	return plan;
}

struct nopal_plan *bench_load(const char *config, const char *const *sets)
{
	struct nopal_problems problems = { 0 };

	return pair_interpreted(nopal_plan_load(config, sets, &problems), &problems);
}

struct nopal_plan *bench_parse(const char *text, const char *name)
{
	struct nopal_problems problems = { 0 };

	return pair_interpreted(nopal_plan_parse(text, name, NULL, &problems), &problems);
}

/* The config, but that short messages share datagrams. */
static struct nopal_plan *pair_coalesced(const char *config, size_t length)
{
	static const char *const segmenters[] = { "resize", "fixed_size" };
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan = NULL;
	char text[PAIR_PATH_BYTES];

	for (size_t i = 0; i < PAIR_SEGMENTERS && !plan; i++) {
		snprintf(text, sizeof(text),
			 "extends = \"%.*s\"\nwithout = { %s }\n"
			 "coalesce {}\nsequenced_messages {}\n",
			 (int)length, config, segmenters[i]);
		plan = nopal_plan_parse(text, config, NULL, &problems);
		if (i + 1 < PAIR_SEGMENTERS)
			nopal_problems_fini(&problems);
	}
	return pair_interpreted(plan, &problems);
}

/* Does the row's name end so?  Then what is before is so long. */
static bool pair_ends(const char *row, const char *end, size_t *ret_length)
{
	size_t length = strlen(row), less = strlen(end);
	bool ends = length > less && strcmp(row + length - less, end) == 0;

	*ret_length = ends ? length - less : length;
	return ends;
}

struct nopal_plan *bench_plan(const char *row)
{
	struct nopal_plan *plan;
	size_t length;
	struct nopal_problems problems = { 0 };
	char config[PAIR_PATH_BYTES];

	if (pair_ends(row, PAIR_COALESCED, &length))
		return pair_coalesced(row, length);
	if (!pair_ends(row, PAIR_FUSED, &length))
		return bench_load(row, NULL);
	snprintf(config, sizeof(config), "%.*s", (int)length, row);
	plan = nopal_plan_load(config, NULL, &problems);
	tool_problems(&problems);
	if (!plan || strncmp(nopal_plan_runs(plan), PAIR_RUNS_FUSED, strlen(PAIR_RUNS_FUSED)) == 0)
		return plan;
	tool_error("%s: %s\n  fix: name the folder of the unit in NOPAL_FUSED", row,
		   nopal_plan_runs(plan));
	nopal_plan_unref(plan);
	return NULL;
}

bool bench_link(const char *words, struct nopal_link *ret_forward, struct nopal_link *ret_reverse)
{
	struct nopal_problems problems = { 0 };

	nopal_link_parse(words, ret_forward, ret_reverse, &problems);
	return !tool_problems(&problems);
}

/* --------------------------------------------------------- another program */

bool bench_program(const char *name, int mode, char *path, size_t room)
{
	const char *said = getenv("NOPAL_BENCH_DIR");
	char self[PAIR_SELF_BYTES];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[length > 0 ? length : 0] = '\0';
	slash = strrchr(self, '/');
	if (said)
		snprintf(path, room, "%s/%s", said, name);
	else
		snprintf(path, room, "%.*s" PAIR_BESIDE "/%s", slash ? (int)(slash + 1 - self) : 0,
			 self, name);
	return access(path, mode) == 0;
}

/* ----------------------------------------------------------------- sockets */

int bench_socket(const char *address, int type, bool binds, uint16_t *port)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} name = { .v6 = { 0 } };
	socklen_t length;
	int fd, error;

	if (inet_pton(AF_INET, address, &name.v4.sin_addr) == 1) {
		name.v4.sin_family = AF_INET;
		length = sizeof(name.v4);
	} else if (inet_pton(AF_INET6, address, &name.v6.sin6_addr) == 1) {
		name.v6.sin6_family = AF_INET6;
		length = sizeof(name.v6);
	} else {
		return -EINVAL;
	}
	name.v4.sin_port = binds ? 0 : htons(*port); /* where v6 has it, too */
	fd = socket(name.any.sa_family, type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (binds ? bind(fd, &name.any, length) || getsockname(fd, &name.any, &length)
		  : connect(fd, &name.any, length)) {
		error = errno;
		close(fd);
		return -error;
	}
	*port = binds ? ntohs(name.v4.sin_port) : *port;
	return fd;
}

void bench_socket_buffers(int fd)
{
	int bytes = PAIR_SOCKET_BYTES;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

void bench_socket_patience(int fd, int64_t patience_ns)
{
	struct timeval patience = {
		.tv_sec = patience_ns / NOPAL_SECOND,
		.tv_usec = patience_ns % NOPAL_SECOND / NOPAL_MICROSECOND,
	};
	int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* of UDP it is refused */
}

int bench_socket_meet(int fd, void *bytes, size_t length)
{
	struct sockaddr_storage from;
	socklen_t from_length = sizeof(from);

	if (recvfrom(fd, bytes, length, 0, (struct sockaddr *)&from, &from_length) < 0 ||
	    connect(fd, (struct sockaddr *)&from, from_length))
		return -errno;
	return 0;
}

bool bench_socket_receive(int fd, void *bytes, size_t length)
{
	size_t got = 0;

	while (got < length) {
		ssize_t more = recv(fd, (uint8_t *)bytes + got, length - got, 0);

		if (more <= 0)
			return false;
		got += (size_t)more;
	}
	return true;
}

bool bench_address(const char *address, uint16_t port, struct nopal_address *ret_address)
{
	char text[PAIR_TEXT_BYTES];
	const char *form = strchr(address, ':') ? "[%s]:%u" : "%s:%u";

	snprintf(text, sizeof(text), form, address, (unsigned)port);
	return nopal_address_parse(text, ret_address, NULL) == 0;
}
