/* SPDX-License-Identifier: MIT */
/*
 * loop.h -- the event loop of a tool and the live world on it.
 *
 * The tools' whole view of libevent: timers, descriptors, signals.
 */
#ifndef NOPAL_LOOP_H
#define NOPAL_LOOP_H

#include <nopal/nopal.h>

struct loop;
struct loop_event;

typedef void loop_call(void *user);

/* A loop and its world, with a trace of packets into `trace` (NULL: none): it is cheap enough to
 * leave on.  NULL: a problem was printed. */
struct loop *loop_new(const char *trace);
void loop_free(struct loop *loop); /* and its world */
struct nopal_world *loop_world(struct loop *loop);
int64_t loop_now(const struct loop *loop); /* of its world */
/* Ends the world and its sessions before the rest, and reports a trace that was not written
 * whole. */
void loop_end_world(struct loop *loop);
/* For calls of the library that take their caller's loop. */
struct event_base *loop_base(struct loop *loop);
void loop_run(struct loop *loop); /* until loop_stop */
/* The same without sleep, until `*over`. */
void loop_spin(struct loop *loop, const bool *over);
void loop_stop(struct loop *loop);
/* Calls back on SIGINT and SIGTERM, or stops the loop (`call` NULL); a second one ends the
 * program. */
bool loop_on_interrupt(struct loop *loop, loop_call *call, void *user);

/* An endpoint to reach the peer from: any address of its family, any port.  NULL:
 * a problem was printed. */
struct nopal_endpoint *loop_endpoint_to(struct loop *loop, const struct nopal_address *peer);
/* The same for several, of both families. */
struct nopal_endpoint *loop_endpoint_to_all(struct loop *loop, const struct nopal_address *peers,
					    unsigned count);

enum loop_what { LOOP_TIMER, LOOP_READABLE, LOOP_WRITABLE };
/* `fd` is -1 for timers.  Events begin stopped. */
struct loop_event *loop_event_new(struct loop *loop, enum loop_what what, int fd, loop_call *call,
				  void *user);
/* A timer fires once, after `delay_ns`; a descriptor's event until stopped. */
void loop_event_start(struct loop_event *event, int64_t delay_ns);
void loop_event_stop(struct loop_event *event);
void loop_event_free(struct loop_event *event); /* NULL is well */

#endif
