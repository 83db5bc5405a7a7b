/* SPDX-License-Identifier: MIT */
/*
 * scan_value.c -- what a value of a config says, and how it is written.
 *
 *   word      as it is
 *   "text"    \n \t \r \a \b \e \f \v, \ooo (octal) and \xhh (hexadecimal) are
 *             one byte; a backslash before anything else leaves that, at the
 *             end of a line nothing
 *   'text'    \' and \\ are one character, a backslash at the end of a line is
 *             nothing; all else is as it is
 *
 * In words and in double quotes ${NAME} is the environment variable of this name, or empty;
 * ${NAME:-DEFAULT} has the default where it is not set.
 */

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "config/scan.h"

enum {
	VALUE_OCTAL_DIGITS = 3,
	VALUE_OCTAL = 8,
	VALUE_HEX_DIGITS = 2,
	VALUE_HEX = 16,
};

struct value_reader {
	const char *at, *end;
	struct nopal_text text;
	bool wrong; /* at `at` is an escape that is none */
};

static void value_put(struct value_reader *reader, char byte)
{
	nopal__append_part(&reader->text, &byte, 1);
}

/* ------------------------------------------------------------------ variables */

/* False: none begins here. */
static bool value_variable(struct value_reader *reader)
{
	static const char open[] = "${", otherwise[] = ":-";
	size_t left = (size_t)(reader->end - reader->at), name;
	const char *start = reader->at + strlen(open), *end, *value;

	if (left <= strlen(open) || strncmp(reader->at, open, strlen(open)) != 0)
		return false;
	end = memchr(start, '}', left - strlen(open));
	if (!end)
		return false;
	value = memmem(start, (size_t)(end - start), otherwise, strlen(otherwise));
	name = (size_t)((value ? value : end) - start);
	if (value)
		value += strlen(otherwise);
	start = getenv(nopal__copy_part(reader->text.arena, start, name));
	if (start)
		nopal__append_part(&reader->text, start, strlen(start));
	else if (value)
		nopal__append_part(&reader->text, value, (size_t)(end - value));
	reader->at = end + 1;
	return true;
}

/* -------------------------------------------------------------------- escapes */

/* A value is a string: it cannot hold a zero. */
static void value_code(struct value_reader *reader, bool hex)
{
	char digits[VALUE_OCTAL_DIGITS + 1] = { 0 };
	const char *start = reader->at + (hex ? strlen("\\x") : strlen("\\"));
	size_t count = 0, most = hex ? VALUE_HEX_DIGITS : VALUE_OCTAL_DIGITS;
	unsigned long code;

	while (count < most && start + count < reader->end &&
	       (hex ? isxdigit((unsigned char)start[count]) != 0
		    : start[count] >= '0' && start[count] <= '7')) {
		digits[count] = start[count];
		count++;
	}
	code = strtoul(digits, NULL, hex ? VALUE_HEX : VALUE_OCTAL);
	if (!hex && start + count < reader->end && isdigit((unsigned char)start[count]))
		code = 0; /* 8, 9, or one digit too many */
	reader->wrong = (count || !hex) && (code == 0 || code > UINT8_MAX);
	if (reader->wrong)
		return;
	value_put(reader, count ? (char)code : 'x');
	reader->at = start + count;
}

/* `at` is a backslash, and not the last. */
static void value_escape(struct value_reader *reader)
{
	static const char letters[] = "nrbfaetv";
	static const char bytes[] = "\n\r\b\f\a\033\t\v";
	char letter = reader->at[1];
	const char *known = strchr(letters, letter);

	if (isdigit((unsigned char)letter) || letter == 'x') {
		value_code(reader, letter == 'x');
		return;
	}
	if (letter != '\n')
		value_put(reader, known ? bytes[known - letters] : letter);
	reader->at += 2;
}

/* ---------------------------------------------------------------------- forms */

const char *nopal__scan_read(struct nopal_arena *arena, const char *start, size_t length,
			     struct nopal_place place, struct nopal_problems *problems)
{
	char quote = *start;
	bool quoted = quote == '"' || quote == '\'';
	struct value_reader reader = {
		.at = start + quoted,
		.end = start + length - quoted,
		.text = { .arena = arena },
	};

	for (; quote == '\'' && reader.at < reader.end; reader.at++) {
		bool escape = *reader.at == '\\' && strchr("\\'\n", reader.at[1]) != NULL;

		reader.at += escape;
		if (!escape || *reader.at != '\n')
			value_put(&reader, *reader.at);
	}
	while (reader.at < reader.end && !reader.wrong) {
		if (quote == '"' && *reader.at == '\\')
			value_escape(&reader);
		else if (!value_variable(&reader))
			value_put(&reader, *reader.at++);
	}
	if (!reader.wrong)
		return nopal__text(&reader.text);
	for (; start < reader.at; start++)
		place.line += *start == '\n';
	length = 1;
	while (length < (size_t)(reader.end - reader.at) &&
	       isxdigit((unsigned char)reader.at[length]))
		length++;
	nopal__problem_at(problems, place, "write \\\\ for a backslash",
			  "`%.*s` is no byte from \\001 to \\377", (int)length, reader.at);
	return NULL;
}
