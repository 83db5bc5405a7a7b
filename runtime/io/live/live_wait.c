/* SPDX-License-Identifier: MIT */
/*
 * live_wait.c -- the clock, and how a world waits for its sockets and its alarm.
 *
 *                    on a libevent loop        without one
 *   readable         a read event              EPOLLIN
 *   room to send     a write event             EPOLLOUT, while it is asked for
 *   back-off         a timeout event           a time, which the alarm keeps
 *   alarm            a read event              EPOLLIN of its timerfd
 *
 * Without a loop all of them meet in one epoll descriptor, which a foreign loop polls:
 * nopal_live_poll() then looks for itself which of them it was.
 *
 * The alarm is a timerfd of our own, which the loop polls like a socket.  libevent's precise timers
 * are one too, but it sets it before every wait, moved or not: a system call for each packet.  This
 * one is set when the deadline moves.  Setting a timerfd also takes back that it has rung, so
 * nothing is ever read from it: the owner sets it anew, or quiet.
 */
#include <errno.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>
#include <event2/event.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "io/live/live.h"

enum { WAIT_PER_SECOND_US = 1000000 };

/* ------------------------------------------------------------- clock, alarm */

int64_t nopal__live_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * NOPAL_SECOND + now.tv_nsec;
}

int nopal__live_alarm_open(struct live_alarm *alarm)
{
	alarm->at_ns = NOPAL_NEVER;
	alarm->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	return alarm->fd < 0 ? -errno : 0;
}

void nopal__live_alarm_close(struct live_alarm *alarm)
{
	if (alarm->fd >= 0)
		close(alarm->fd);
	alarm->fd = -1;
}

void nopal__live_alarm_set(struct live_alarm *alarm, int64_t at_ns)
{
	struct itimerspec when = { .it_value = { 0 } }; /* quiet */

	if (at_ns < 1)
		at_ns = 1; /* long ago, and not quiet */
	alarm->at_ns = at_ns;
	if (at_ns != NOPAL_NEVER) {
		when.it_value.tv_sec = at_ns / NOPAL_SECOND;
		when.it_value.tv_nsec = at_ns % NOPAL_SECOND;
	}
	timerfd_settime(alarm->fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/* ------------------------------------------------------------------- worlds */

static int wait_control(const struct live_waiter *waiter, int operation, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	return epoll_ctl(waiter->fd, operation, fd, &event) ? -errno : 0;
}

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
