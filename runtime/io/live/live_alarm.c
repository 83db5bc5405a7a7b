/* SPDX-License-Identifier: MIT */
/*
 * live_alarm.c -- the clock, and one wake-up of microseconds on any loop.
 *
 * The alarm is a timerfd of our own, which the loop polls like a socket.  libevent's precise timers
 * are one too, but it sets it before every wait, moved or not: a system call for each packet.  This
 * one is set when the deadline moves.
 *
 * Setting a timerfd also takes back that it has rung, so nothing is ever read from it: the owner
 * sets it anew, or quiet.
 */
#include <errno.h>
#include <time.h>
#include <unistd.h>
#include <sys/timerfd.h>

#include "io/live/live.h"

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
