/* SPDX-License-Identifier: MIT */
/*
 * host.h -- a host of a trial: one endpoint in a process of its own, which does as the grader
 * says (talk.h).
 */
#ifndef NOPAL_LAB_HOST_H
#define NOPAL_LAB_HOST_H

enum { HOST_PORT = 9000 };

/* Serves the grader until it hangs up, and writes a trace into the file `trace_fd` (-1: none).
 * Returns the exit code of the process. */
int host_serve(int talk_fd, int trace_fd);

#endif
