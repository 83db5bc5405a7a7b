/* SPDX-License-Identifier: MIT */
#include "support/mutate.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CALLS = 32 };
static const char BETWEEN[] = " ||\n\t\t       ";
static const char PART[] = "&fused_part[";

/* A piece of the text. */
struct span {
	const char *from, *to;
};

/* The text with a span replaced. */
static char *with(const char *text, struct span span, const char *instead)
{
	char *out;

	if (asprintf(&out, "%.*s%s%s", (int)(span.from - text), text, instead, span.to) < 0)
		abort();
	return out;
}

static char *copy(struct span span)
{
	return strndup(span.from, (size_t)(span.to - span.from));
}

/* ------------------------------------------------------------------- numbers */

/* The next number: decimal or hexadecimal digits, without its suffix. */
static bool number_at(const char *at, struct span *ret_span)
{
	while (*at && !isdigit((unsigned char)*at))
		at++;
	ret_span->from = at;
	if (at[0] == '0' && at[1] == 'x')
		at += 2;
	while (isxdigit((unsigned char)*at))
		at++;
	ret_span->to = at;
	return ret_span->from < ret_span->to;
}

static char *numbers_swapped(const char *text, struct span a)
{
	struct span b, both;
	char *first = copy(a), *second, *between, *joined, *out;

	if (!number_at(a.to, &b)) {
		free(first);
		return NULL;
	}
	second = copy(b);
	between = copy((struct span){ a.to, b.from });
	if (asprintf(&joined, "%s%s%s", second, between, first) < 0)
		abort();
	both = (struct span){ a.from, b.to };
	out = with(text, both, joined);
	free(first);
	free(second);
	free(between);
	free(joined);
	return out;
}

static char *number_mutated(const char *text, const struct mutation *mutation, const char *at)
{
	char digits[32];
	struct span span;
	long long value;

	for (unsigned i = 0; i <= mutation->skip; i++, at = span.to)
		if (!number_at(at, &span))
			return NULL;
	if (mutation->how == MUTATE_SWAP_NUMBER)
		return numbers_swapped(text, span);
	value = strtoll(span.from, NULL, 0);
	if (mutation->how == MUTATE_ADD)
		value += mutation->by;
	else if (mutation->how == MUTATE_FLIP)
		value ^= mutation->by;
	else
		value = 0;
	snprintf(digits, sizeof(digits), "%lld", value);
	return with(text, span, digits);
}

/* --------------------------------------------------------------------- calls */

static size_t calls_of(struct span all, struct span *calls)
{
	size_t count = 0;
	const char *at = all.from;

	while (count < MAX_CALLS) {
		const char *end = strstr(at, BETWEEN);

		if (!end || end > all.to)
			end = all.to;
		calls[count++] = (struct span){ at, end };
		if (end == all.to)
			break;
		at = end + strlen(BETWEEN);
	}
	return count;
}

static char *call_mutated(const struct mutation *mutation, struct span call)
{
	char *text = copy(call), *out;
	char *part = strstr(text, PART);
	struct span span;

	if (mutation->how == MUTATE_DEAF) {
		if (asprintf(&out, "(%s, false)", text) < 0)
			abort();
	} else {
		char digits[32];

		number_at(part + strlen(PART), &span);
		snprintf(digits, sizeof(digits), "%d", atoi(span.from) - 1);
		out = with(text, span, digits);
	}
	free(text);
	return out;
}

/* Which of the calls is the microprotocol's first; `count` where none is. */
static size_t call_of(const char *name, const struct span *calls, size_t count)
{
	char *word;
	size_t i = 0, length;

	if (asprintf(&word, "nopal_%s.", name) < 0)
		abort();
	length = strlen(word);
	while (i < count && strncmp(calls[i].from, word, length) != 0)
		i++;
	free(word);
	return i;
}

static char *calls_joined(const struct mutation *mutation, struct span *calls, size_t count,
			  size_t which)
{
	char *out = NULL;
	size_t length;
	FILE *file = open_memstream(&out, &length);
	const char *between = "";

	for (size_t i = 0; i < count; i++) {
		struct span call = calls[i];
		char *changed = NULL;

		if (mutation->how == MUTATE_SWAP && (i == which || i == which + 1))
			call = calls[2 * which + 1 - i];
		if (i == which && mutation->how == MUTATE_DROP)
			continue;
		if (i == which && mutation->how != MUTATE_SWAP)
			changed = call_mutated(mutation, call);
		fprintf(file, "%s%.*s", between,
			changed ? (int)strlen(changed) : (int)(call.to - call.from),
			changed ? changed : call.from);
		free(changed);
		between = BETWEEN;
	}
	if (!*between)
		fprintf(file, "false");
	fclose(file);
	return out;
}

static char *calls_mutated(const char *text, const struct mutation *mutation, const char *at)
{
	const char *from = strstr(at, "return ");
	const char *to = from ? strchr(from, ';') : NULL;
	struct span calls[MAX_CALLS], all;
	char *joined, *out;
	size_t count, which;

	if (!to)
		return NULL;
	all = (struct span){ from + strlen("return "), to };
	count = calls_of(all, calls);
	which = call_of(mutation->call, calls, count);
	if (which + (mutation->how == MUTATE_SWAP) >= count)
		return NULL;
	joined = calls_joined(mutation, calls, count, which);
	out = with(text, all, joined);
	free(joined);
	return out;
}

/* ----------------------------------------------------------------------- all */

/* Parts name the array that has their parameters. */
static const char *parameters_of(const char *text, const char *name)
{
	char *words;
	const char *at;
	struct span number;

	if (asprintf(&words, "&nopal_%s,", name) < 0)
		abort();
	at = strstr(text, words);
	free(words);
	if (!at || !number_at(at, &number))
		return NULL;
	if (asprintf(&words, "fused_parameters_%d[", atoi(number.from)) < 0)
		abort();
	at = strstr(text, words);
	at = at ? strchr(at, '{') : NULL;
	free(words);
	return at;
}

/* A kind's number is where its name is in the list of kinds. */
static char *kind_number(const char *text, struct span name)
{
	char *words;
	const char *at;
	struct span number;

	if (asprintf(&words, "] = { .name = \"%.*s\"", (int)(name.to - name.from), name.from) < 0)
		abort();
	at = strstr(text, words);
	free(words);
	if (!at)
		return NULL;
	while (*at != '[')
		at--;
	number_at(at, &number);
	return copy(number);
}

/* The words to look for: a kind's number in the place of its name. */
static char *words_of(const char *text, const char *find)
{
	const char *mark = strchr(find, '#');
	struct span name, marked;
	char *number, *out;

	if (!mark)
		return strdup(find);
	name.from = name.to = mark + 1;
	while (isalpha((unsigned char)*name.to) || *name.to == '_')
		name.to++;
	number = kind_number(text, name);
	if (!number)
		return NULL;
	marked = (struct span){ mark, name.to };
	out = with(find, marked, number);
	free(number);
	return out;
}

static char *mutated_at(const char *text, const struct mutation *mutation, const char *at,
			size_t length)
{
	char *out = NULL;

	switch (mutation->how) {
	case MUTATE_WORD:
		out = with(text, (struct span){ at, at + length }, mutation->by_word);
		break;
	case MUTATE_ADD:
	case MUTATE_FLIP:
	case MUTATE_SWAP_NUMBER:
	case MUTATE_CLEAR:
		out = number_mutated(text, mutation, at + length);
		break;
	case MUTATE_SWAP:
	case MUTATE_DROP:
	case MUTATE_DEAF:
	case MUTATE_PART:
		out = calls_mutated(text, mutation, at + length);
		break;
	}
	if (out && strcmp(out, text) == 0) {
		free(out);
		return NULL;
	}
	return out;
}

char *mutate(const char *text, const struct mutation *mutation)
{
	const char *in = *mutation->in == '@' ? parameters_of(text, mutation->in + 1)
					      : strstr(text, mutation->in);
	char *words = words_of(text, mutation->find);
	const char *at = in && words ? strstr(in, words) : NULL;
	char *out = at ? mutated_at(text, mutation, at, strlen(words)) : NULL;

	free(words);
	return out;
}
