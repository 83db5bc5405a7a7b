/* SPDX-License-Identifier: MIT */
/*
 * live_loop.c -- a loop and the live world on it, for a thread of their own.
 *
 * Other threads reach the loop by an eventfd alone: nopal__live_loop_call makes the loop's thread
 * call back.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <event2/event.h>
#include <sys/eventfd.h>

#include "io/live/live.h"

struct nopal__live_loop {
	struct event_base *base;
	struct nopal_world *world;
	struct event *called_event;
	int called_fd;
	void (*called)(void *user);
	void *user;
};

static void live_on_called(evutil_socket_t fd, short what, void *user)
{
	struct nopal__live_loop *loop = user;
	uint64_t calls;

	(void)what;
	if (read(fd, &calls, sizeof(calls)) == (ssize_t)sizeof(calls))
		loop->called(loop->user);
}

struct nopal__live_loop *nopal__live_loop_new(void (*called)(void *user), void *user)
{
	struct nopal__live_loop *loop = calloc(1, sizeof(*loop));
	struct event_config *config = event_config_new();

	if (loop) {
		loop->called = called;
		loop->user = user;
		loop->called_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	}
	if (loop && config && !event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK))
		loop->base = event_base_new_with_config(config);
	if (config)
		event_config_free(config);
	if (loop && loop->base && loop->called_fd >= 0)
		loop->called_event = event_new(loop->base, loop->called_fd, EV_READ | EV_PERSIST,
					       live_on_called, loop);
	if (loop && loop->called_event && event_add(loop->called_event, NULL) == 0)
		loop->world = nopal_live_new(loop->base);
	if (loop && !loop->world) {
		nopal__live_loop_free(loop);
		return NULL;
	}
	return loop;
}

struct nopal_world *nopal__live_loop_world(struct nopal__live_loop *loop)
{
	return loop->world;
}

void nopal__live_loop_run(struct nopal__live_loop *loop)
{
	event_base_dispatch(loop->base);
}

void nopal__live_loop_stop(struct nopal__live_loop *loop)
{
	event_base_loopbreak(loop->base);
}

void nopal__live_loop_call(struct nopal__live_loop *loop)
{
	uint64_t one = 1;
	ssize_t written;

	do {
		written = write(loop->called_fd, &one, sizeof(one));
	} while (written < 0 && errno == EINTR);
}

void nopal__live_loop_free(struct nopal__live_loop *loop)
{
	if (loop->world)
		nopal_world_free(loop->world);
	if (loop->called_event)
		event_free(loop->called_event);
	if (loop->base)
		event_base_free(loop->base);
	if (loop->called_fd >= 0)
		close(loop->called_fd);
	free(loop);
}
