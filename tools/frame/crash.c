/* SPDX-License-Identifier: MIT */
/*
 * crash.c -- the last message of a program that dies: the microprotocol and the event at work, the
 * session and the time.
 *
 *   nopal: a crash (SIGSEGV) while `gentle` handled SEGMENT_LOST at 1.204500000 s
 *   (session 5e0b7d13)
 *
 * After them the signal takes its course: a core file, a debugger, a sanitizer's report. A
 * simulated run dies in the same place again, so `nopal sim ... --trace FILE` and `nopal trace
 * FILE` show the events before.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "frame/tool.h"

enum { CRASH_STACK_BYTES = 64 << 10, CRASH_TEXT_BYTES = 4096 };

static const struct {
	int signal;
	const char *name;
} crash_signals[] = {
	{ SIGSEGV, "SIGSEGV" }, { SIGBUS, "SIGBUS" },	{ SIGFPE, "SIGFPE" },
	{ SIGILL, "SIGILL" },	{ SIGABRT, "SIGABRT" }, { SIGXCPU, "SIGXCPU" },
};
enum { CRASH_SIGNALS = sizeof(crash_signals) / sizeof(*crash_signals) };

static struct sigaction crash_before[CRASH_SIGNALS];

static void crash_write(const char *text)
{
	size_t length = strlen(text);

	while (length > 0) {
		ssize_t written = write(STDERR_FILENO, text, length);

		if (written <= 0)
			return;
		text += written;
		length -= (size_t)written;
	}
}

/* All calls are async-signal-safe.  Then the signal takes its course: a fault comes again on
 * return, a signal from kill() is raised again. */
static void crash_handle(int signal, siginfo_t *info, void *context)
{
	static char text[CRASH_TEXT_BYTES];
	int i = 0;

	(void)context;
	while (i < CRASH_SIGNALS - 1 && crash_signals[i].signal != signal)
		i++;
	sigaction(signal, &crash_before[i], NULL);
	crash_write("nopal: a crash (");
	crash_write(crash_signals[i].name);
	crash_write(") "); /* now, as the rest may crash, too */
	if (!nopal_whereabouts(text, sizeof(text)))
		strcpy(text, "outside of any session");
	crash_write(text);
	crash_write("\n");
	if (info->si_code <= 0)
		raise(signal);
}

/* The handler has a stack of its own, as the usual one may have overflowed. */
void tool_watch_crashes(void)
{
	static char stack[CRASH_STACK_BYTES];
	const stack_t aside = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_sigaction = crash_handle,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK };

	sigemptyset(&action.sa_mask);
	sigaltstack(&aside, NULL);
	for (int i = 0; i < CRASH_SIGNALS; i++)
		sigaction(crash_signals[i].signal, &action, &crash_before[i]);
}
