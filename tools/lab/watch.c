/* SPDX-License-Identifier: MIT */
/*
 * watch.c -- a child's processor time, memory, sleep and output, looked at while it is waited for.
 *
 * Processor time comes from the clock of the process, memory and state from /proc/PID/status.  The
 * tables of pages count as memory: a child that touches one byte of each 2 MiB fills them without
 * anything else.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lab/filter.h"
#include "lab/watch.h"

enum {
	WATCH_LOOK_MS = 10,
	WATCH_LOOK_NS = WATCH_LOOK_MS * 1000000,
	WATCH_LAST_WORDS_NS = 20 * 1000000,
	WATCH_NAPS = 5, /* looks in a row that find it asleep, without any work between */
	WATCH_STATUS_BYTES = 4096,
	WATCH_PIECE_BYTES = 64 << 10,
	/* the same numbers on all machines */
	WATCH_PIDFD_SIGNAL = 424,
	WATCH_PIDFD_OPEN = 434,
};

/* Descriptors that are polled. */
enum { WATCH_ANSWERS, WATCH_HANDLE, WATCH_PIPE, WATCH_POLLED };

static int64_t watch_clock_ns(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now) != 0)
		return -1;
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t watch_processor_ns(const struct watch *watch)
{
	clockid_t clock;

	if (clock_getcpuclockid(watch->child, &clock) != 0)
		return -1;
	return watch_clock_ns(clock);
}

int watch_begin(struct watch *watch)
{
	watch->said_bytes = 0;
	watch->output_bytes = watch->look_ns = 0;
	watch->slept_ns = -1;
	watch->naps = 0;
	watch->handle = (int)syscall(WATCH_PIDFD_OPEN, watch->child, 0);
	if (watch->handle < 0)
		return -errno;
	if (watch->output >= 0 && fcntl(watch->output, F_SETFL, O_NONBLOCK) != 0)
		return -errno;
	return 0;
}

/* ------------------------------------------------------------------------ output */

/* Takes what is in the pipe.  False: more than the child may write. */
static bool watch_take_output(struct watch *watch)
{
	char piece[WATCH_PIECE_BYTES];
	size_t room = WATCH_SAID_BYTES - watch->said_bytes;
	ssize_t taken;

	if (watch->output < 0)
		return true;
	taken = read(watch->output, piece, sizeof(piece));
	if (taken < 0)
		return true;
	if (taken == 0)
		watch->output = -1;
	if (room > (size_t)taken)
		room = (size_t)taken;
	memcpy(watch->said + watch->said_bytes, piece, room);
	watch->said_bytes += room;
	watch->output_bytes += taken;
	return watch->output_bytes <= WATCH_MAX_OUTPUT_BYTES;
}

/* ------------------------------------------------------------------------- looks */

static int64_t watch_status_kib(const char *status, const char *name)
{
	const char *line = strstr(status, name);

	return line ? strtoll(line + strlen(name), NULL, 10) : 0;
}

/* Does the child sleep, as it did at the looks before, without any work in between? */
static bool watch_is_stuck(struct watch *watch, const char *status, int64_t processor_ns)
{
	const char *line = strstr(status, "\nState:\t");
	const char state = line ? line[strlen("\nState:\t")] : 'R';

	if (!strchr("STt", state) || processor_ns != watch->slept_ns)
		watch->naps = 0;
	watch->slept_ns = processor_ns;
	return ++watch->naps > WATCH_NAPS;
}

/* Looks at the child; WATCH_READABLE: nothing is wrong. */
static enum watch_end watch_look(struct watch *watch)
{
	char path[64], status[WATCH_STATUS_BYTES];
	const int64_t processor_ns = watch_processor_ns(watch);
	ssize_t length = -1;
	int file;

	if (processor_ns > watch->processor_ns)
		return WATCH_PROCESSOR;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)watch->child);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file >= 0) {
		length = read(file, status, sizeof(status) - 1);
		close(file);
	}
	if (length <= 0) /* it has just died: its handle says so next */
		return WATCH_READABLE;
	status[length] = '\0';
	if ((watch_status_kib(status, "\nVmRSS:") + watch_status_kib(status, "\nVmPTE:")) * 1024 >
	    watch->memory_bytes)
		return WATCH_MEMORY;
	return watch_is_stuck(watch, status, processor_ns) ? WATCH_STUCK : WATCH_READABLE;
}

static bool watch_has_answer(const struct watch *watch)
{
	int bytes = 0;

	return ioctl(watch->answers, FIONREAD, &bytes) == 0 && bytes > 0;
}

/* One turn of waiting; WATCH_READABLE: all is well, with an answer or without. */
static enum watch_end watch_turn(struct watch *watch, const struct pollfd *polled,
				 bool *ret_answered)
{
	const bool to_write = polled[WATCH_ANSWERS].events == POLLOUT;
	enum watch_end end = WATCH_READABLE;
	int64_t now_ns;

	*ret_answered = to_write ? polled[WATCH_ANSWERS].revents == POLLOUT
				 : polled[WATCH_ANSWERS].revents && watch_has_answer(watch);
	if (polled[WATCH_PIPE].revents && !watch_take_output(watch))
		return WATCH_OUTPUT;
	if (*ret_answered)
		return watch_processor_ns(watch) > watch->processor_ns ? WATCH_PROCESSOR : end;
	if (polled[WATCH_HANDLE].revents)
		return WATCH_DIED;
	if (polled[WATCH_ANSWERS].revents) /* closed: it dies, or will be seen to do something */
		watch->answers = -1;
	now_ns = watch_clock_ns(CLOCK_MONOTONIC);
	if (now_ns >= watch->look_ns) {
		end = watch_look(watch);
		watch->look_ns = now_ns + WATCH_LOOK_NS;
	}
	/* it may have answered since, and then it sleeps with good reason */
	return end == WATCH_STUCK && !to_write && watch_has_answer(watch) ? WATCH_READABLE : end;
}

static void watch_signal(const struct watch *watch, int signal)
{
	syscall(WATCH_PIDFD_SIGNAL, watch->handle, signal, NULL, 0);
}

/* Waits for an event of the child's descriptor, or for an end. */
static enum watch_end watch_for(struct watch *watch, short event)
{
	enum watch_end end = WATCH_READABLE;
	bool answered = false;

	watch->naps = 0;
	while (end == WATCH_READABLE && !answered) {
		struct pollfd polled[WATCH_POLLED] = {
			[WATCH_ANSWERS] = { .fd = event ? watch->answers : -1, .events = event },
			[WATCH_HANDLE] = { .fd = watch->handle, .events = POLLIN },
			[WATCH_PIPE] = { .fd = watch->output, .events = POLLIN },
		};

		if (poll(polled, WATCH_POLLED, WATCH_LOOK_MS) >= 0)
			end = watch_turn(watch, polled, &answered);
	}
	return end;
}

/* A child in an endless loop is asked where it is; its handler of crashes says so (frame/crash.c).
 * For that it has some more processor time, and if it does not die of the signal, of the next. */
static void watch_ask(struct watch *watch)
{
	const int64_t limit_ns = watch->processor_ns;

	watch->processor_ns = watch_processor_ns(watch) + WATCH_LAST_WORDS_NS;
	watch_signal(watch, SIGXCPU);
	watch_for(watch, 0);
	watch->processor_ns = limit_ns;
}

static enum watch_end watch_or_end(struct watch *watch, short event)
{
	enum watch_end end = watch_for(watch, event);

	if (end == WATCH_PROCESSOR)
		watch_ask(watch);
	if (end != WATCH_READABLE)
		watch_signal(watch, SIGKILL);
	return end;
}

enum watch_end watch_wait(struct watch *watch)
{
	return watch_or_end(watch, POLLIN);
}

enum watch_end watch_wait_to_write(struct watch *watch)
{
	return watch_or_end(watch, POLLOUT);
}

void watch_close(struct watch *watch)
{
	struct pollfd ended = { .fd = watch->handle, .events = POLLIN };
	int64_t had;

	watch_signal(watch, SIGKILL);
	while (poll(&ended, 1, -1) < 0 && errno == EINTR)
		continue;
	do {
		had = watch->output_bytes;
	} while (watch_take_output(watch) && watch->output_bytes > had);
	close(watch->handle);
	watch->handle = -1;
}

/* ------------------------------------------------------------------------- words */

static const struct {
	int signal;
	const char *words;
} watch_signals[] = {
	{ SIGSEGV, "SIGSEGV (memory that is not its own, or a stack that is too deep)" },
	{ SIGBUS, "SIGBUS (memory that is not there)" },
	{ SIGFPE, "SIGFPE (a division by zero)" },
	{ SIGILL, "SIGILL (an instruction that does not exist)" },
	{ SIGTRAP, "SIGTRAP (a breakpoint)" },
	{ SIGABRT, "SIGABRT (abort, or an assertion)" },
	{ SIGXFSZ, "SIGXFSZ (a write to a file)" },
	{ SIGKILL, "SIGKILL (the last of its limits)" },
};

static void watch_say_signal(int signal, int32_t call, char *text, size_t room)
{
	if (signal == SIGSYS) {
		snprintf(text, room, "made a system call that is not allowed: %s",
			 filter_call_words(call));
		return;
	}
	for (size_t i = 0; i < sizeof(watch_signals) / sizeof(*watch_signals); i++) {
		if (watch_signals[i].signal == signal) {
			snprintf(text, room, "crashed: %s", watch_signals[i].words);
			return;
		}
	}
	snprintf(text, room, "ended by signal %d", signal);
}

/* The rest of the line behind the first mark in the output, or the whole line; its length, 0: there
 * is no such mark. */
static int watch_line(const struct watch *watch, const char *mark, bool whole,
		      const char **ret_line)
{
	const char *const end = watch->said + watch->said_bytes;
	const char *from = memmem(watch->said, watch->said_bytes, mark, strlen(mark)), *to = from;

	if (!from)
		return 0;
	while (to < end && *to != '\n')
		to++;
	if (!whole)
		from += strlen(mark);
	while (whole && from > watch->said && from[-1] != '\n')
		from--;
	*ret_line = from;
	return (int)(to - from);
}

/* Takes addresses and folders out of a text: they differ from run to run. */
static void watch_tidy(char *text)
{
	char *to = text;

	for (const char *from = text; *from;) {
		const bool begins = from == text || strchr(" (\"'", from[-1]);
		const char *slash = begins && *from == '/' ? from : NULL;

		for (const char *end = from; slash && *end && !strchr(" )\"':", *end); end++)
			slash = *end == '/' ? end : slash;
		if (slash)
			from = slash + 1;
		*to = *from;
		to += *from != '\0';
		if (strncmp(from, "0x", 2) == 0) {
			from += 1 + strspn(from + 2, "0123456789abcdef");
			*to++ = 'x';
		}
		from += *from != '\0';
	}
	*to = '\0';
}

/* The summary of a sanitizer, or the word of the handler of crashes; false: neither is there. */
static bool watch_say_fault(const struct watch *watch, char *text, size_t room)
{
	const char *line = NULL;
	int length = watch_line(watch, "SUMMARY: ", false, &line);

	if (length == 0)
		length = watch_line(watch, ": runtime error: ", true, &line);
	if (length > 0) {
		snprintf(text, room, "has a fault that a sanitizer found: %.*s", length, line);
		watch_tidy(text);
		return true;
	}
	length = watch_line(watch, "nopal: a crash ", false, &line);
	if (length > 0)
		snprintf(text, room, "crashed %.*s", length, line);
	return length > 0;
}

void watch_say(const struct watch *watch, enum watch_end end, int status, int32_t call, char *text,
	       size_t room)
{
	const char *where = "";
	int length;

	switch (end) {
	case WATCH_READABLE:
		snprintf(text, room, "lives");
		break;
	case WATCH_PROCESSOR:
		length = watch_line(watch, "nopal: a crash (SIGXCPU)", false, &where);
		snprintf(text, room, "used more than %" PRId64 " ms of processor time%.*s",
			 watch->processor_ns / 1000000, length, where);
		break;
	case WATCH_MEMORY:
		snprintf(text, room, "used more than %" PRId64 " MiB of memory",
			 watch->memory_bytes >> 20);
		break;
	case WATCH_STUCK:
		snprintf(text, room, "sleeps, and nothing will wake it");
		break;
	case WATCH_OUTPUT:
		snprintf(text, room, "wrote more than %d MiB to its output",
			 WATCH_MAX_OUTPUT_BYTES >> 20);
		break;
	case WATCH_DIED:
		if (watch_say_fault(watch, text, room))
			break;
		if (WIFSIGNALED(status))
			watch_say_signal(WTERMSIG(status), call, text, room);
		else
			snprintf(text, room, "ended by itself, with exit code %d",
				 WEXITSTATUS(status));
		break;
	}
}
