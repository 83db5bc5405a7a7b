/* SPDX-License-Identifier: MIT */
/* process.c -- processes of hosts, each for some trials. */
#include "lab/process.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frame/tool.h"
#include "lab/filter.h"
#include "lab/host.h"

/* Takes the one at a place out of the pool. */
static struct process *process_take(struct process_pool *pool, size_t place)
{
	struct process *process = pool->idle[place];

	pool->count--;
	memmove(&pool->idle[place], &pool->idle[place + 1],
		(pool->count - place) * sizeof(*pool->idle));
	return process;
}

static struct process *process_idle(struct process_pool *pool, const struct spawner *spawner,
				    const char *folder)
{
	for (size_t i = 0; i < pool->count; i++)
		if (pool->idle[i]->spawner == spawner && !strcmp(pool->idle[i]->folder, folder))
			return process_take(pool, i);
	return NULL;
}

static struct process *process_local(const struct spawner_order *order)
{
	struct process *process = tool_need(calloc(1, sizeof(*process)));
	int trace_fd = order->trace_fd < 0 ? -1 : fcntl(order->trace_fd, F_DUPFD_CLOEXEC, 0);

	process->local = host_new(-1, trace_fd);
	process->folder = tool_need(strdup(order->folder));
	process->talk_fd = -1;
	return process;
}

/* A fork, and the descriptors to it. */
static struct process *process_new(struct spawner *spawner, struct spawner_order order)
{
	struct process *process;
	int talk[2], output[2], pid = -1;

	if (!spawner)
		return process_local(&order);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, talk) < 0)
		return NULL;
	/* a host that does not listen is watched, not waited for */
	fcntl(talk[0], F_SETFL, O_NONBLOCK);
	if (pipe2(output, O_CLOEXEC) == 0) {
		order.talk_fd = talk[1];
		order.output_fd = output[1];
		pid = spawner_fork(spawner, &order);
		close(output[1]);
		if (pid < 0)
			close(output[0]);
	}
	close(talk[1]);
	if (pid < 0) {
		close(talk[0]);
		return NULL;
	}
	process = tool_need(calloc(1, sizeof(*process)));
	process->spawner = spawner;
	process->folder = tool_need(strdup(order.folder));
	process->pid = pid;
	process->talk_fd = talk[0];
	process->output_fd = output[0];
	process->watch.child = pid;
	process->watch.answers = talk[0];
	process->watch.output = output[0];
	return process;
}

struct process *process_begin(struct process_pool *pool, struct spawner *spawner,
			      struct spawner_order order, const struct process_limits *limits)
{
	struct process *process =
		order.trace_fd < 0 ? process_idle(pool, spawner, order.folder) : NULL;
	int64_t used_ns = 0;

	if (process && !process->local)
		used_ns = watch_processor_ns(&process->watch);
	if (!process)
		process = process_new(spawner, order);
	if (!process)
		return NULL;
	process->trials++;
	process->watch.processor_ns = used_ns + limits->processor_ns;
	process->watch.memory_bytes = limits->memory_bytes;
	if (!process->local && process->trials == 1 && watch_begin(&process->watch) < 0) {
		process_end(process, NULL);
		process_free(process);
		return NULL;
	}
	return process;
}

void process_keep(struct process_pool *pool, struct process *process)
{
	struct process *oldest = process;

	if (process->trials < PROCESS_TRIALS) {
		oldest = pool->count == PROCESS_IDLE ? process_take(pool, 0) : NULL;
		pool->idle[pool->count++] = process;
	}
	if (oldest) {
		process_end(oldest, NULL);
		process_free(oldest);
	}
}

int process_end(struct process *process, int32_t *ret_call)
{
	int32_t call = FILTER_NO_CALL;
	int status = 0;

	if (process->pid > 0) {
		watch_close(&process->watch);
		status = spawner_wait(process->spawner, process->pid, &call);
		close(process->talk_fd);
		close(process->output_fd);
	}
	process->pid = 0;
	if (ret_call)
		*ret_call = call;
	return status;
}

void process_free(struct process *process)
{
	if (process->local)
		host_free(process->local);
	free(process->folder);
	free(process);
}

void process_pool_fini(struct process_pool *pool)
{
	while (pool->count) {
		struct process *process = process_take(pool, 0);

		process_end(process, NULL);
		process_free(process);
	}
}
