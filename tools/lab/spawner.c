/* SPDX-License-Identifier: MIT */
/* spawner.c -- a process that forks hosts, and the talk with it: one packet an order. */
#include "lab/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame/tool.h"
#include "lab/filter.h"
#include "lab/host.h"
#include "lab/sandbox.h"

enum {
	SPAWNER_FD = 3,
	SPAWNER_FDS = 3,
	SPAWNER_REFUSED = 70,
	SPAWNER_HOSTS = 256, /* at once */
	SPAWNER_MEMORY_BYTES = 1 << 30,
	SPAWNER_TRACE_BYTES = 64 << 20,
	SPAWNER_PROCESSOR_S = 60,
};

enum spawner_word { SPAWNER_FORK, SPAWNER_WAIT };

struct spawner_answer {
	int number; /* a process, or its status, or a negative errno value */
	int32_t call;
};

struct spawner_packet {
	enum spawner_word word;
	pid_t pid; /* SPAWNER_WAIT */
	bool sanitized, traced;
	char folder[PATH_MAX];
};

/* ------------------------------------------------------------------- the grader's side */

/* Of the grader's variables a host gets none but the folders of libraries: they may be secret.
 * Reports of sanitizers are to be the same on all machines, and are not made by programs of their
 * own; memory that was freed is kept aside, but not much of it. */
static bool spawner_environment(const char *configs, const char *preload)
{
	const char *libraries = getenv("LD_LIBRARY_PATH");
	char *kept = libraries ? strdup(libraries) : NULL;

	return clearenv() == 0 && (!kept || setenv("LD_LIBRARY_PATH", kept, 1) == 0) &&
	       (!preload || setenv("LD_PRELOAD", preload, 1) == 0) &&
	       setenv("NOPAL_CONFIGS", configs, 1) == 0 && setenv("NOPAL_FUSED", "off", 1) == 0 &&
	       setenv("ASAN_OPTIONS",
		      "detect_leaks=0:color=never:external_symbolizer_path=:quarantine_size_mb=16",
		      1) == 0;
}

int spawner_start(struct spawner *spawner, const char *program, const char *configs,
		  const char *preload)
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
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (spawner_environment(configs, preload) && dup2(pair[1], SPAWNER_FD) >= 0)
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

/* Sends a packet with descriptors, and returns the answer. */
static struct spawner_answer spawner_ask(struct spawner *spawner, struct spawner_packet *packet,
					 const int *fds, size_t count)
{
	union {
		char bytes[CMSG_SPACE(SPAWNER_FDS * sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec part = { packet, sizeof(*packet) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	struct spawner_answer answer = { 0 };
	struct cmsghdr *head;

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
		answer.number = -errno;
	else if (recv(spawner->fd, &answer, sizeof(answer), 0) != sizeof(answer))
		answer.number = -EPIPE;
	return answer;
}

pid_t spawner_fork(struct spawner *spawner, const struct spawner_order *order)
{
	const int fds[SPAWNER_FDS] = { order->talk_fd, order->output_fd, order->trace_fd };
	struct spawner_packet packet = { .word = SPAWNER_FORK,
					 .sanitized = order->sanitized,
					 .traced = order->trace_fd >= 0 };

	snprintf(packet.folder, sizeof(packet.folder), "%s", order->folder);
	return spawner_ask(spawner, &packet, fds, packet.traced ? 3 : 2).number;
}

int spawner_wait(struct spawner *spawner, pid_t pid, int32_t *ret_call)
{
	struct spawner_packet packet = { .word = SPAWNER_WAIT, .pid = pid };
	struct spawner_answer answer = spawner_ask(spawner, &packet, NULL, 0);

	*ret_call = answer.call;
	return answer.number;
}

/* ------------------------------------------------------------------ the spawner's side */

/* The hosts that live, and their notes of a forbidden call: in memory that they share. */
static struct {
	pid_t pids[SPAWNER_HOSTS];
	volatile int32_t *calls;
} spawner_hosts;

/* The prints of a host go to the grader's pipe; a refusal, too. */
static void spawner_host(const struct spawner_packet *packet, const int *fds, int slot)
{
	const char *const readable[] = { packet->folder, getenv("NOPAL_CONFIGS"), NULL };
	const int descriptors[] = { STDOUT_FILENO, STDERR_FILENO, fds[0], fds[2] };
	const struct sandbox sandbox = {
		.readable = readable,
		.descriptors = descriptors,
		.descriptor_count = packet->traced ? 4 : 3,
		.memory_bytes = packet->sanitized ? 0 : SPAWNER_MEMORY_BYTES,
		.file_bytes = packet->traced ? SPAWNER_TRACE_BYTES : 0,
		.processor_seconds = SPAWNER_PROCESSOR_S,
		.ret_call = &spawner_hosts.calls[slot],
	};
	char why[SANDBOX_WHY_BYTES];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(fds[1], STDOUT_FILENO);
	dup2(fds[1], STDERR_FILENO);
	if (sandbox_enter(&sandbox, why, sizeof(why)) < 0) {
		fprintf(stderr, "%s\n", why);
		_exit(SPAWNER_REFUSED);
	}
	_exit(host_serve(fds[0], packet->traced ? fds[2] : -1));
}

static struct spawner_answer spawner_fork_host(const struct spawner_packet *packet, const int *fds)
{
	int slot = 0;
	pid_t pid;

	while (slot < SPAWNER_HOSTS && spawner_hosts.pids[slot])
		slot++;
	if (slot == SPAWNER_HOSTS)
		return (struct spawner_answer){ .number = -EAGAIN };
	spawner_hosts.calls[slot] = FILTER_NO_CALL;
	pid = fork();
	if (pid == 0)
		spawner_host(packet, fds, slot);
	if (pid < 0)
		return (struct spawner_answer){ .number = -errno };
	spawner_hosts.pids[slot] = pid;
	return (struct spawner_answer){ .number = pid };
}

static struct spawner_answer spawner_wait_host(pid_t pid)
{
	struct spawner_answer answer = { .call = FILTER_NO_CALL };

	if (waitpid(pid, &answer.number, 0) != pid)
		answer.number = -errno;
	for (int slot = 0; slot < SPAWNER_HOSTS; slot++)
		if (spawner_hosts.pids[slot] == pid) {
			spawner_hosts.pids[slot] = 0;
			answer.call = spawner_hosts.calls[slot];
		}
	return answer;
}

int spawner_serve(void)
{
	struct spawner_packet packet;
	union {
		char bytes[CMSG_SPACE(SPAWNER_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = { &packet, sizeof(packet) };
	struct spawner_answer answer;
	int fds[SPAWNER_FDS];

	spawner_hosts.calls = mmap(NULL, SPAWNER_HOSTS * sizeof(*spawner_hosts.calls),
				   PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (spawner_hosts.calls == MAP_FAILED)
		return TOOL_ENVIRONMENT;
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
		answer = packet.word == SPAWNER_WAIT ? spawner_wait_host(packet.pid)
						     : spawner_fork_host(&packet, fds);
		for (size_t i = 0; i < count; i++)
			close(fds[i]);
		if (send(SPAWNER_FD, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
			return TOOL_ENVIRONMENT;
	}
}
