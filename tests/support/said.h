/* SPDX-License-Identifier: MIT */
/*
 * said.h -- a text by malloc, as printf() writes it; a test has memory.
 */
#ifndef NOPAL_TEST_SAID_H
#define NOPAL_TEST_SAID_H

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((format(printf, 1, 2))) static inline char *said(const char *format, ...)
{
	va_list arguments;
	char *text = NULL;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		abort();
	va_end(arguments);
	return text;
}

#endif
