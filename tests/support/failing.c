/* SPDX-License-Identifier: MIT */
#include "support/failing.h"
#include "support/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
	uint64_t left; /* allocations until the one that fails; 0: none does */
	uint64_t failed;
	int64_t held; /* blocks that were not given back */
	uint64_t nth;
	bool on;
} failing;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__real_reallocarray(void *memory, size_t count, size_t bytes);
char *__real_strdup(const char *text);
int __real_vasprintf(char **text, const char *format, va_list arguments);
int __real___vasprintf_chk(char **text, int flag, const char *format, va_list arguments);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_reallocarray(void *memory, size_t count, size_t bytes);
char *__wrap_strdup(const char *text);
int __wrap_vasprintf(char **text, const char *format, va_list arguments);
int __wrap___vasprintf_chk(char **text, int flag, const char *format, va_list arguments);
void __wrap_free(void *memory);

static bool fails(void)
{
	if (failing.left == 0 || --failing.left > 0)
		return false;
	failing.left = failing.on;
	failing.failed++;
	errno = ENOMEM;
	return true;
}

static void *held(void *memory)
{
	failing.held += memory != NULL;
	return memory;
}

static void *held_instead(void *old, void *memory)
{
	failing.held += memory && !old;
	return memory;
}

void *__wrap_malloc(size_t bytes)
{
	return fails() ? NULL : held(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return fails() ? NULL : held(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *memory, size_t bytes)
{
	return fails() ? NULL : held_instead(memory, __real_realloc(memory, bytes));
}

void *__wrap_reallocarray(void *memory, size_t count, size_t bytes)
{
	return fails() ? NULL : held_instead(memory, __real_reallocarray(memory, count, bytes));
}

char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : held(__real_strdup(text));
}

int __wrap_vasprintf(char **text, const char *format, va_list arguments)
{
	int length = fails() ? -1 : __real_vasprintf(text, format, arguments);

	failing.held += length >= 0;
	return length;
}

/* As the library calls it where FORTIFY hardens it. */
int __wrap___vasprintf_chk(char **text, int flag, const char *format, va_list arguments)
{
	int length = fails() ? -1 : __real___vasprintf_chk(text, flag, format, arguments);

	failing.held += length >= 0;
	return length;
}

void __wrap_free(void *memory)
{
	failing.held -= memory != NULL;
	__real_free(memory);
}

void failing_from(uint64_t nth, bool on)
{
	failing.left = failing.nth = nth;
	failing.on = on;
	failing.failed = 0;
}

uint64_t failing_stop(void)
{
	failing.left = 0;
	return failing.failed;
}

const char *failing_text(void)
{
	static char text[64];

	snprintf(text, sizeof(text), "allocation %llu%s", (unsigned long long)failing.nth,
		 failing.on ? " and all after it" : "");
	return text;
}

/* False: the run needed no more than there were. */
static bool sweep_point(void (*run)(void *context), void *context, uint64_t nth, bool on)
{
	int64_t before = failing.held;

	failing_from(nth, on);
	run(context);
	failing_stop();
	if (failing.held != before)
		fail_msg("%s: %lld blocks are lost", failing_text(),
			 (long long)(failing.held - before));
	return failing.failed > 0;
}

uint64_t failing_sweep(void (*run)(void *context), void *context, uint64_t stride)
{
	uint64_t points = 0;

	failing_stop();
	run(context); /* what is made once and kept is there after it */
	for (int on = 0; on <= 1; on++)
		for (uint64_t nth = 1; sweep_point(run, context, nth, on); nth += stride)
			points++;
	return points;
}
