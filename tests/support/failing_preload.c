/* SPDX-License-Identifier: MIT */
/*
 * failing_preload.c -- an allocator that fails, for a whole program: preloaded (LD_PRELOAD), it
 * stands before that of the C library for the program and for all libraries that it uses.
 *
 *   NOPAL_FAIL_AT=N     the N-th allocation fails
 *   NOPAL_FAIL_ON=1     and every one after it
 *   NOPAL_FAIL_NOTE=FILE is made when one has failed
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);

static long left; /* until the one that fails; 0: none does */
static int on;
static const char *note;

__attribute__((constructor)) static void failing_begin(void)
{
	const char *at = getenv("NOPAL_FAIL_AT");

	on = getenv("NOPAL_FAIL_ON") != NULL;
	note = getenv("NOPAL_FAIL_NOTE");
	left = at ? strtol(at, NULL, 10) : 0;
}

/* Threads may count one twice: so they fail one earlier or later. */
static int fails(void)
{
	int file;

	if (left == 0 || --left > 0)
		return 0;
	left = on;
	if (note) {
		file = open(note, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (file >= 0)
			close(file);
		note = NULL;
	}
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t bytes)
{
	return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	return fails() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
	return fails() ? NULL : __libc_realloc(memory, bytes);
}

void *reallocarray(void *memory, size_t count, size_t bytes)
{
	size_t all;

	if (__builtin_mul_overflow(count, bytes, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(memory, all);
}
