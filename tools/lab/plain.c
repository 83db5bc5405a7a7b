/* SPDX-License-Identifier: MIT */
/*
 * plain.c -- texts of strangers, made harmless for terminals, JSON and pages.
 *
 * What a host prints, or a compiler quotes of its source, comes into reasons.  Control characters
 * would command the teacher's terminal, and JSON takes nothing but well-formed UTF-8 (RFC 3629).
 */
#include "lab/plain.h"

#include <stdint.h>
#include <stddef.h>

enum {
	PLAIN_DELETE = 0x7f,
	PLAIN_LAST_CONTROL = 0x9f, /* of the second set: 0x80 to 0x9f */
	PLAIN_TAIL_BITS = 6,
	PLAIN_TAIL_MASK = 0x3f,
	PLAIN_LAST = 0x10ffff,
	PLAIN_SURROGATES = 0xd800,
	PLAIN_BEHIND_SURROGATES = 0xe000,
	PLAIN_LONGEST = 4,
};

/* By the number of bytes: the marks of the first one, and the least character that needs so many. */
static const struct {
	uint8_t mask, mark;
	uint32_t least;
} plain_lengths[] = {
	{ 0x80, 0x00, 0 },
	{ 0xe0, 0xc0, 0x80 },
	{ 0xf0, 0xe0, 0x800 },
	{ 0xf8, 0xf0, 0x10000 },
};

/* The bytes of the printable character that begins here; 0: none does. */
static size_t plain_length(const uint8_t *bytes)
{
	for (size_t i = 0; i < PLAIN_LONGEST; i++) {
		uint32_t character = bytes[0] & (uint8_t)~plain_lengths[i].mask;
		size_t at = 1;

		if ((bytes[0] & plain_lengths[i].mask) != plain_lengths[i].mark)
			continue;
		while (at <= i && (bytes[at] & 0xc0) == 0x80)
			character = character << PLAIN_TAIL_BITS | (bytes[at++] & PLAIN_TAIL_MASK);
		if (at <= i || character < plain_lengths[i].least || character > PLAIN_LAST ||
		    (character >= PLAIN_SURROGATES && character < PLAIN_BEHIND_SURROGATES))
			return 0;
		if (character == '\n' || character == '\t')
			return 1;
		return character < ' ' || (character >= PLAIN_DELETE &&
					   character <= PLAIN_LAST_CONTROL)
			       ? 0
			       : i + 1;
	}
	return 0;
}

void plain_text(char *text)
{
	for (uint8_t *at = (uint8_t *)text; *at;) {
		size_t length = plain_length(at);

		if (length == 0)
			*at = '?';
		at += length ? length : 1;
	}
}
