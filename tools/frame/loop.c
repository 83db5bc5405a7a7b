/* SPDX-License-Identifier: MIT */
/*
 * loop.c -- the event loop of a tool and the live world on it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <event2/event.h>

#include <nopal/microprotocol.h>
#include "frame/loop.h"
#include "frame/tool.h"

enum {
	LOOP_NS_PER_US = 1000,
	LOOP_US_PER_S = 1000000,
	LOOP_SIGNALS = 2,
	LOOP_SPINS = 4096, /* polls between looks at the rest of the loop */
};

/* timeout(1) and sudo pass on a signal that the tool has already: only a later signal is the second
 * one. */
#define LOOP_AGAIN_NS (300 * NOPAL_MILLISECOND)

static const int loop_signals[LOOP_SIGNALS] = { SIGINT, SIGTERM };

struct loop {
	struct event_base *base;
	struct nopal_world *world;
	struct event *signals[LOOP_SIGNALS];
	loop_call *interrupted;
	void *user;
	int64_t interrupted_ns; /* 0: it was not */
};

struct loop_event {
	struct event *event;
	enum loop_what what;
	loop_call *call;
	void *user;
};

struct loop *loop_new(const char *trace)
{
	struct loop *loop = calloc(1, sizeof(*loop));
	int error;

	if (loop)
		loop->base = event_base_new();
	if (loop && loop->base)
		loop->world = nopal_live_new(loop->base);
	if (!loop || !loop->world) {
		tool_error("no event loop: out of memory");
		if (loop)
			loop_free(loop);
		return NULL;
	}
	error = trace ? nopal_trace_start(loop->world, trace, NOPAL_TRACE_PACKETS) : 0;
	if (!error)
		return loop;
	tool_error("the trace %s: %s\n  fix: give a file in a folder that may be written", trace,
		   strerror(-error));
	loop_free(loop);
	return NULL;
}

void loop_end_world(struct loop *loop)
{
	int error;

	if (!loop->world)
		return;
	error = nopal_trace_stop(loop->world);
	if (error)
		tool_error("the trace was not written whole: %s\n  fix: is the disk full?",
			   strerror(-error));
	nopal_world_free(loop->world);
	loop->world = NULL;
}

void loop_free(struct loop *loop)
{
	loop_end_world(loop);
	for (int i = 0; i < LOOP_SIGNALS; i++) {
		if (loop->signals[i])
			event_free(loop->signals[i]);
	}
	if (loop->base)
		event_base_free(loop->base);
	free(loop);
}

struct event_base *loop_base(struct loop *loop)
{
	return loop->base;
}

struct nopal_world *loop_world(struct loop *loop)
{
	return loop->world;
}

int64_t loop_now(const struct loop *loop)
{
	return nopal_world_now(loop->world);
}

void loop_run(struct loop *loop)
{
	event_base_loop(loop->base, EVLOOP_NO_EXIT_ON_EMPTY);
}

void loop_spin(struct loop *loop, const bool *over)
{
	while (!*over) {
		for (int i = 0; i < LOOP_SPINS && !*over; i++)
			nopal_live_poll(loop->world);
		event_base_loop(loop->base, EVLOOP_NONBLOCK);
	}
}

void loop_stop(struct loop *loop)
{
	event_base_loopbreak(loop->base);
}

static void loop_on_signal(evutil_socket_t number, short what, void *user)
{
	struct loop *loop = user;
	int64_t now_ns = nopal_world_now(loop->world);

	(void)what;
	if (loop->interrupted_ns != 0) {
		if (now_ns - loop->interrupted_ns < LOOP_AGAIN_NS)
			return;
		signal((int)number, SIG_DFL);
		raise((int)number);
	}
	loop->interrupted_ns = now_ns;
	if (loop->interrupted)
		loop->interrupted(loop->user);
	else
		loop_stop(loop);
}

bool loop_on_interrupt(struct loop *loop, loop_call *call, void *user)
{
	loop->interrupted = call;
	loop->user = user;
	for (int i = 0; i < LOOP_SIGNALS; i++) {
		/* libevent restores this action: the second signal may come during cleanup */
		signal(loop_signals[i], SIG_IGN);
		loop->signals[i] = evsignal_new(loop->base, loop_signals[i], loop_on_signal, loop);
		if (!loop->signals[i] || event_add(loop->signals[i], NULL))
			return false;
	}
	return true;
}

struct nopal_endpoint *loop_endpoint_to(struct loop *loop, const struct nopal_address *peer)
{
	struct nopal_address local = { .port = 0 };
	struct nopal_endpoint *endpoint;
	struct nopal_problems problems = { 0 };

	nopal_address_set_any(&local, peer);
	endpoint = nopal_endpoint_open(loop_world(loop), &local, &problems);
	tool_problems(&problems);
	return endpoint;
}

/* A socket of IPv6 reaches both. */
struct nopal_endpoint *loop_endpoint_to_all(struct loop *loop, const struct nopal_address *peers,
					    unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (!nopal_address_is_v4(&peers[i]))
			return loop_endpoint_to(loop, &peers[i]);
	return loop_endpoint_to(loop, peers);
}

static void loop_on_event(evutil_socket_t fd, short what, void *user)
{
	struct loop_event *event = user;

	(void)fd;
	(void)what;
	event->call(event->user);
}

struct loop_event *loop_event_new(struct loop *loop, enum loop_what what, int fd, loop_call *call,
				  void *user)
{
	static const short flags[] = {
		[LOOP_TIMER] = 0,
		[LOOP_READABLE] = EV_READ | EV_PERSIST,
		[LOOP_WRITABLE] = EV_WRITE | EV_PERSIST,
	};
	struct loop_event *event = calloc(1, sizeof(*event));

	if (!event)
		return NULL;
	event->what = what;
	event->call = call;
	event->user = user;
	event->event = event_new(loop->base, fd, flags[what], loop_on_event, event);
	if (!event->event) {
		free(event);
		return NULL;
	}
	return event;
}

void loop_event_start(struct loop_event *event, int64_t delay_ns)
{
	int64_t us = (delay_ns + LOOP_NS_PER_US - 1) / LOOP_NS_PER_US;
	struct timeval delay = { .tv_sec = (time_t)(us / LOOP_US_PER_S),
				 .tv_usec = (suseconds_t)(us % LOOP_US_PER_S) };

	event_add(event->event, event->what == LOOP_TIMER ? &delay : NULL);
}

void loop_event_stop(struct loop_event *event)
{
	event_del(event->event);
}

void loop_event_free(struct loop_event *event)
{
	if (!event)
		return;
	event_free(event->event);
	free(event);
}
