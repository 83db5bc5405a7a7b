/* SPDX-License-Identifier: MIT */
/* spawner.c -- a process that forks hosts, and the talk with it: one packet an order. */
#include "lab/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame/tool.h"
#include "lab/host.h"
#include "lab/sandbox.h"

enum { SPAWNER_FD = 3, SPAWNER_FDS = 3, SPAWNER_REFUSED = 70 };

enum spawner_word { SPAWNER_FORK, SPAWNER_WAIT };

struct spawner_packet {
	enum spawner_word word;
	pid_t pid; /* SPAWNER_WAIT */
	bool sanitized, traced;
	char object[PATH_MAX];
};

/* ------------------------------------------------------------------- the grader's side */

int spawner_start(struct spawner *spawner, const char *program, const char *preload)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	spawner->pid = fork();
	if (spawner->pid < 0) {
		close(pair[0]);
		close(pair[1]);
		return -errno;
	}
	if (spawner->pid == 0) {
		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (dup2(pair[1], SPAWNER_FD) >= 0)
			execl(program, "nopal", "lab", "spawn", (char *)NULL);
		_exit(SPAWNER_REFUSED);
	}
	close(pair[1]);
	spawner->fd = pair[0];
	return 0;
}

void spawner_stop(struct spawner *spawner)
{
	if (spawner->pid <= 0)
		return;
	close(spawner->fd);
	waitpid(spawner->pid, NULL, 0);
	*spawner = (struct spawner){ 0 };
}

/* Sends a packet with descriptors, and returns the answer's number. */
static int spawner_ask(struct spawner *spawner, struct spawner_packet *packet, const int *fds,
		       size_t count)
{
	union {
		char bytes[CMSG_SPACE(SPAWNER_FDS * sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec part = { packet, sizeof(*packet) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *head;
	int answer = 0;

	if (count) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(head), fds, count * sizeof(int));
	}
	if (sendmsg(spawner->fd, &message, MSG_NOSIGNAL) < 0)
		return -errno;
	if (recv(spawner->fd, &answer, sizeof(answer), 0) != sizeof(answer))
		return -EPIPE;
	return answer;
}

pid_t spawner_fork(struct spawner *spawner, const struct spawner_order *order)
{
	const int fds[SPAWNER_FDS] = { order->talk_fd, order->output_fd, order->trace_fd };
	struct spawner_packet packet = { .word = SPAWNER_FORK,
					 .sanitized = order->sanitized,
					 .traced = order->trace_fd >= 0 };

	if (order->object)
		snprintf(packet.object, sizeof(packet.object), "%s", order->object);
	return spawner_ask(spawner, &packet, fds, packet.traced ? 3 : 2);
}

int spawner_wait(struct spawner *spawner, pid_t pid)
{
	struct spawner_packet packet = { .word = SPAWNER_WAIT, .pid = pid };

	return spawner_ask(spawner, &packet, NULL, 0);
}

/* ------------------------------------------------------------------ the spawner's side */

/* What a host prints goes to the grader's pipe; a refusal, too. */
static void spawner_host(const struct spawner_packet *packet, const int *fds)
{
	const struct sandbox sandbox = { .object = packet->object,
					 .sanitized = packet->sanitized,
					 .keep = { fds[0], packet->traced ? fds[2] : -1 } };
	char trace[64] = "", why[256];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(SPAWNER_FD);
	dup2(fds[1], STDOUT_FILENO);
	dup2(fds[1], STDERR_FILENO);
	if (packet->traced)
		snprintf(trace, sizeof(trace), "/proc/self/fd/%d", fds[2]);
	tool_watch_crashes();
	if (sandbox_enter(&sandbox, why, sizeof(why)) < 0) {
		fprintf(stderr, "%s\n", why);
		_exit(SPAWNER_REFUSED);
	}
	_exit(host_serve(fds[0], packet->traced ? trace : NULL));
}

static int spawner_obey(const struct spawner_packet *packet, const int *fds)
{
	int status = 0;
	pid_t pid;

	if (packet->word == SPAWNER_WAIT)
		return waitpid(packet->pid, &status, 0) == packet->pid ? status : -errno;
	pid = fork();
	if (pid == 0)
		spawner_host(packet, fds);
	return pid < 0 ? -errno : pid;
}

int spawner_serve(void)
{
	struct spawner_packet packet;
	union {
		char bytes[CMSG_SPACE(SPAWNER_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = { &packet, sizeof(packet) };
	int fds[SPAWNER_FDS], answer;

	for (;;) {
		struct msghdr message = { .msg_iov = &part,
					  .msg_iovlen = 1,
					  .msg_control = control.bytes,
					  .msg_controllen = sizeof(control.bytes) };
		const struct cmsghdr *head;
		size_t count = 0;

		if (recvmsg(SPAWNER_FD, &message, MSG_CMSG_CLOEXEC) != sizeof(packet))
			return TOOL_GOOD; /* the grader has ended */
		head = CMSG_FIRSTHDR(&message);
		if (head && head->cmsg_type == SCM_RIGHTS) {
			count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			memcpy(fds, CMSG_DATA(head), count * sizeof(int));
		}
		answer = spawner_obey(&packet, fds);
		for (size_t i = 0; i < count; i++)
			close(fds[i]);
		if (send(SPAWNER_FD, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
			return TOOL_ENVIRONMENT;
	}
}
