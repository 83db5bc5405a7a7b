/* SPDX-License-Identifier: MIT */
/*
 * host.h -- a host of a trial: one endpoint, which does as the grader says (talk.h).  A
 * submission's has a process of its own; one of the reference may live in the grader's.
 */
#ifndef NOPAL_LAB_HOST_H
#define NOPAL_LAB_HOST_H

#include <stdbool.h>
#include <stdint.h>

enum { HOST_PORT = 9000 };

struct host;
struct talk;
struct talk_frame;

/* A host that talks by `talk_fd`, or by its buffers alone (-1), and writes a trace into the file
 * `trace_fd`, which becomes its own (-1: none). */
struct host *host_new(int talk_fd, int trace_fd);
void host_free(struct host *host);
/* Does what a frame says.  False: the talk is over. */
bool host_hear(struct host *host, const struct talk_frame *frame, const uint8_t *body);
/* Its side of the talk. */
struct talk *host_talk(struct host *host);
/* Serves the grader until it hangs up.  Returns the exit code of the process. */
int host_serve(int talk_fd, int trace_fd);

#endif
