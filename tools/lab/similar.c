/* SPDX-License-Identifier: MIT */
/* similar.c -- fingerprints of sources. */
#include "lab/similar.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "frame/tool.h"

enum {
	SIMILAR_GRAM = 12,  /* tokens of a hash */
	SIMILAR_WINDOW = 8, /* hashes, of which one is kept */
	SIMILAR_LEAST = 10, /* prints that a comparison needs */
	SIMILAR_MULTIPLIER = 31,
};

static const char *const similar_words[] = {
	"if",	 "else",     "while",  "for",	"do",	  "return", "switch", "case",
	"break", "continue", "static", "const", "struct", "enum",   "sizeof", NULL,
};

/* ------------------------------------------------------------------------ tokens */

/* Behind white space, comments and lines of the preprocessor. */
static const char *similar_skip(const char *at)
{
	for (;;) {
		if (isspace((unsigned char)*at))
			at++;
		else if (strncmp(at, "//", 2) == 0 || *at == '#')
			at += strcspn(at, "\n");
		else if (strncmp(at, "/*", 2) == 0)
			at = strstr(at + 2, "*/") ? strstr(at + 2, "*/") + 2 : at + strlen(at);
		else
			return at;
	}
}

static bool similar_is_name(char letter)
{
	return isalnum((unsigned char)letter) || letter == '_';
}

static uint64_t similar_hash(const char *text, size_t length)
{
	uint64_t hash = length;

	while (length--)
		hash = hash * SIMILAR_MULTIPLIER + (unsigned char)*text++;
	return hash;
}

/* A name of the student's own is any name. */
static uint64_t similar_name(const char *text, size_t length)
{
	if (strncmp(text, "nopal_", strlen("nopal_")) == 0 ||
	    strncmp(text, "NOPAL_", strlen("NOPAL_")) == 0)
		return similar_hash(text, length);
	for (const char *const *word = similar_words; *word; word++)
		if (strlen(*word) == length && strncmp(*word, text, length) == 0)
			return similar_hash(text, length);
	return isdigit((unsigned char)*text) ? '0' : 'a';
}

/* The next token's hash; false: there is none. */
static bool similar_token(const char **at, uint64_t *ret_token)
{
	const char *from = similar_skip(*at), *to = from;

	if (!*from)
		return false;
	while (similar_is_name(*to))
		to++;
	if (to > from) {
		*ret_token = similar_name(from, (size_t)(to - from));
	} else if (*from == '"') {
		for (to++; *to && *to != '"'; to++)
			to += *to == '\\' && to[1];
		to += *to == '"';
		*ret_token = '"';
	} else {
		*ret_token = (unsigned char)*to++;
	}
	*at = to;
	return true;
}

/* ------------------------------------------------------------------------ prints */

static int similar_compare(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

static bool similar_has(const struct similar *similar, uint64_t print)
{
	return similar && similar->count &&
	       bsearch(&print, similar->prints, similar->count, sizeof(print), similar_compare);
}

/* Hashes of all runs of tokens; the caller frees them. */
static uint64_t *similar_grams(const char *source, size_t *ret_count)
{
	uint64_t *tokens = tool_need(calloc(strlen(source) + 1, sizeof(*tokens)));
	size_t count = 0;

	while (similar_token(&source, &tokens[count]))
		count++;
	*ret_count = count < SIMILAR_GRAM ? 0 : count - SIMILAR_GRAM + 1;
	for (size_t i = 0; i < *ret_count; i++) {
		uint64_t hash = 0;

		for (size_t j = 0; j < SIMILAR_GRAM; j++)
			hash = (hash ^ tokens[i + j]) * UINT64_C(0x9e3779b97f4a7c15) ^ hash >> 29;
		tokens[i] = hash;
	}
	return tokens;
}

void similar_read(const char *source, const struct similar *without, struct similar *ret_similar)
{
	size_t count, kept = 0;
	uint64_t *grams = similar_grams(source, &count);
	struct similar similar = { tool_need(calloc(count + 1, sizeof(*grams))), 0 };

	for (size_t i = 0; i + SIMILAR_WINDOW <= count; i++) {
		uint64_t least = grams[i];

		for (size_t j = 1; j < SIMILAR_WINDOW; j++)
			if (grams[i + j] < least)
				least = grams[i + j];
		if (!similar_has(without, least))
			similar.prints[similar.count++] = least;
	}
	if (similar.count)
		qsort(similar.prints, similar.count, sizeof(*similar.prints), similar_compare);
	for (size_t i = 0; i < similar.count; i++)
		if (!kept || similar.prints[i] != similar.prints[kept - 1])
			similar.prints[kept++] = similar.prints[i];
	similar.count = kept;
	free(grams);
	*ret_similar = similar;
}

double similar_share(const struct similar *one, const struct similar *other)
{
	size_t both = 0, all = one->count + other->count;

	if (one->count < SIMILAR_LEAST || other->count < SIMILAR_LEAST)
		return 0;
	for (size_t i = 0; i < one->count; i++)
		both += similar_has(other, one->prints[i]);
	return (double)both / (double)(all - both);
}

void similar_fini(struct similar *similar)
{
	free(similar->prints);
	*similar = (struct similar){ 0 };
}
