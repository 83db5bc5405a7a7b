/* SPDX-License-Identifier: MIT */
/* watch.c -- the grader's eye on a host's process. */
#include "lab/watch.h"

#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "frame/tool.h"

void watch_drain(struct watch *watch)
{
	char bytes[4096];
	ssize_t got;

	if (!watch->output)
		watch->output = tool_need(calloc(1, WATCH_OUTPUT_KEPT + 1));
	while ((got = read(watch->output_fd, bytes, sizeof(bytes))) > 0) {
		for (ssize_t i = 0; i < got && watch->output_kept < WATCH_OUTPUT_KEPT; i++)
			watch->output[watch->output_kept++] = bytes[i];
		watch->output_total += (uint64_t)got;
	}
}

enum watch_end watch_wait(struct watch *watch)
{
	struct pollfd fds[] = { { watch->fd, POLLIN, 0 }, { watch->output_fd, POLLIN, 0 } };
	struct timespec used;
	clockid_t clock;

	for (;;) {
		if (poll(fds, 2, 10) > 0 && fds[0].revents)
			return WATCH_READABLE;
		if (fds[1].revents & POLLIN)
			watch_drain(watch);
		if (watch->output_total > watch->output_bytes)
			return WATCH_OUTPUT;
		if (clock_getcpuclockid(watch->pid, &clock) == 0 &&
		    clock_gettime(clock, &used) == 0 &&
		    used.tv_sec * NOPAL_SECOND + used.tv_nsec > watch->processor_ns)
			return WATCH_PROCESSOR;
	}
}
