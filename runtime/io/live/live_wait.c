/* SPDX-License-Identifier: MIT */
/*
 * live_wait.c -- how a world waits for its sockets and its alarm.
 *
 *                    on a libevent loop        without one
 *   readable         a read event              EPOLLIN
 *   room to send     a write event             EPOLLOUT, while it is asked for
 *   back-off         a timeout event           a time, which the alarm keeps
 *   alarm            a read event              EPOLLIN of its timerfd
 *
 * Without a loop all of them meet in one epoll descriptor, which a foreign loop polls:
 * nopal_live_poll() then looks for itself which of them it was.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>
#include <event2/event.h>
#include <sys/epoll.h>

#include "io/live/live.h"

enum { WAIT_PER_SECOND_US = 1000000 };

static int wait_control(const struct live_waiter *waiter, int operation, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	return epoll_ctl(waiter->fd, operation, fd, &event) ? -errno : 0;
}

/* ------------------------------------------------------------------- worlds */

int nopal__live_waiter_open(struct live_waiter *waiter, struct event_base *base, int alarm_fd,
			    event_callback_fn on_alarm, void *user)
{
	*waiter = (struct live_waiter){ .base = base, .fd = -1 };
	if (base) {
		waiter->alarm = event_new(base, alarm_fd, EV_READ | EV_PERSIST, on_alarm, user);
		return waiter->alarm ? 0 : -ENOMEM;
	}
	waiter->fd = epoll_create1(EPOLL_CLOEXEC);
	return waiter->fd < 0 ? -errno : wait_control(waiter, EPOLL_CTL_ADD, alarm_fd, EPOLLIN);
}

void nopal__live_waiter_close(struct live_waiter *waiter)
{
	if (waiter->alarm)
		event_free(waiter->alarm);
	if (waiter->fd >= 0)
		close(waiter->fd);
}

int nopal__live_waiter_begin(struct live_waiter *waiter)
{
	return waiter->alarm && event_add(waiter->alarm, NULL) ? -ENOMEM : 0;
}

void nopal__live_waiter_end(struct live_waiter *waiter)
{
	if (waiter->alarm)
		event_del(waiter->alarm);
}

/* -------------------------------------------------------------------- ports */

int nopal__live_wait_open(struct live_wait *wait, struct live_waiter *waiter, int fd,
			  event_callback_fn on_readable, event_callback_fn on_writable, void *user)
{
	struct event_base *base = waiter->base;

	wait->waiter = waiter;
	wait->fd = fd;
	wait->retry_at_ns = NOPAL_NEVER;
	if (!base)
		return wait_control(waiter, EPOLL_CTL_ADD, fd, EPOLLIN);
	wait->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, user);
	wait->writable = event_new(base, fd, EV_WRITE, on_writable, user);
	wait->retry = event_new(base, -1, 0, on_writable, user);
	if (!wait->readable || !wait->writable || !wait->retry || event_add(wait->readable, NULL))
		return -ENOMEM;
	return 0;
}

void nopal__live_wait_stop(struct live_wait *wait)
{
	if (wait->readable)
		event_del(wait->readable);
	else
		wait_control(wait->waiter, EPOLL_CTL_DEL, wait->fd, 0);
}

void nopal__live_wait_close(struct live_wait *wait)
{
	struct event *events[] = { wait->readable, wait->writable, wait->retry };

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (events[i])
			event_free(events[i]);
	}
}

void nopal__live_wait_for_room(struct live_wait *wait)
{
	if (wait->writable) {
		event_add(wait->writable, NULL);
	} else if (!wait->for_room) {
		wait->for_room = true;
		wait_control(wait->waiter, EPOLL_CTL_MOD, wait->fd, EPOLLIN | EPOLLOUT);
	}
}

bool nopal__live_wait_a_while(struct live_wait *wait, int64_t now_ns, int64_t delay_ns)
{
	int64_t us = (delay_ns + NOPAL_MICROSECOND - 1) / NOPAL_MICROSECOND;
	struct timeval delay = {
		.tv_sec = (time_t)(us / WAIT_PER_SECOND_US),
		.tv_usec = (suseconds_t)(us % WAIT_PER_SECOND_US),
	};

	if (wait->retry ? event_pending(wait->retry, EV_TIMEOUT, NULL)
			: wait->retry_at_ns != NOPAL_NEVER)
		return false;
	if (wait->retry)
		event_add(wait->retry, &delay);
	else
		wait->retry_at_ns = now_ns + delay_ns;
	return true;
}

bool nopal__live_wait_is_over(struct live_wait *wait, int64_t now_ns)
{
	struct pollfd writable = { .fd = wait->fd, .events = POLLOUT };
	bool room = wait->for_room && poll(&writable, 1, 0) == 1;
	bool again = wait->retry_at_ns <= now_ns;

	if (room) {
		wait->for_room = false;
		wait_control(wait->waiter, EPOLL_CTL_MOD, wait->fd, EPOLLIN);
	}
	if (again)
		wait->retry_at_ns = NOPAL_NEVER;
	return room || again;
}
