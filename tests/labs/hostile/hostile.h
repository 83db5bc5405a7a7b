/* SPDX-License-Identifier: MIT */
/*
 * hostile.h -- a microprotocol that lets everything pass, and does one deed in one place.
 *
 *     static void deed(struct nopal_at at) { ... }
 *     HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
 *
 * A deed that succeeds where it must not says so by hostile_escaped().  canary.h is made by the
 * test: CANARY is a folder with the files `file` and `secret` that everybody may read and write.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <nopal/microprotocol.h>

#include "canary.h"

enum { HOSTILE_TIMER_OF_DEED };

/* Compilers drop loops that do nothing. */
static volatile unsigned long hostile_turns __attribute__((unused));

__attribute__((unused)) static void hostile_escaped(const char *text)
{
	printf("ESCAPED: %s\n", text);
	fflush(stdout);
}

__attribute__((unused)) static void hostile_loop(void)
{
	for (;;)
		hostile_turns++;
}

/* Memory that no compiler leaves out. */
__attribute__((unused)) static void hostile_fill(char *memory, size_t length)
{
	memset(memory, 1, length);
	__asm__ volatile("" ::"r"(memory) : "memory");
}

#define HOSTILE_DESCRIPTOR(...)                                                                    \
	const struct nopal_microprotocol nopal_hostile = {                                         \
		NOPAL_DESCRIBE(hostile, check, "does one bad deed"),                               \
		.provides = NOPAL_ROLES({ "checker" }), .state_size = 8, __VA_ARGS__               \
	};

/* For deeds outside of all handlers. */
#define HOSTILE_NOWHERE HOSTILE_DESCRIPTOR(.parameters_size = 0)

#define HOSTILE_HANDLER(event_, argument_, deed_)                                                  \
	static enum nopal_verdict hostile_on(struct nopal_at at, argument_ *subject)               \
	{                                                                                          \
		(void)subject;                                                                     \
		deed_(at);                                                                         \
		return NOPAL_CONTINUE;                                                             \
	}                                                                                          \
	HOSTILE_DESCRIPTOR(.bindings = NOPAL_BINDINGS(NOPAL_ON(event_, hostile_on)))

#define HOSTILE_OPEN(deed_)                                                                        \
	static int hostile_open(struct nopal_at at)                                                \
	{                                                                                          \
		deed_(at);                                                                         \
		return 0;                                                                          \
	}                                                                                          \
	HOSTILE_DESCRIPTOR(.open = hostile_open)

#define HOSTILE_CLOSE(deed_) HOSTILE_DESCRIPTOR(.close = deed_)

/* At once after the opening. */
#define HOSTILE_TIMER(deed_)                                                                       \
	static int hostile_open(struct nopal_at at)                                                \
	{                                                                                          \
		nopal_timer_start(at, HOSTILE_TIMER_OF_DEED, at.session->now_ns);                  \
		return 0;                                                                          \
	}                                                                                          \
	HOSTILE_DESCRIPTOR(.open = hostile_open,                                                   \
			   .timers = NOPAL_TIMERS([HOSTILE_TIMER_OF_DEED] = { "deed", deed_ }))
