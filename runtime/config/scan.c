/* SPDX-License-Identifier: MIT */
/*
 * scan.c -- the statements of a config text: see scan.h.
 *
 *   statement:  WORD = VALUE | WORD { statements } | WORD "title" { statements }
 *   VALUE:      WORD | "string" | 'string' | { VALUE, ... }
 *
 * Sections stand in the file or in a `layer`, nowhere else: so a section that begins inside another
 * shows that the other was not closed.
 */

#include <string.h>

#include "config/scan.h"

enum scan_kind {
	SCAN_END,
	SCAN_WORD,
	SCAN_STRING,
	SCAN_BROKEN, /* a quote that is not closed; already reported */
	SCAN_MARK,   /* one of { } ( ) = , + */
};

struct scan_token {
	enum scan_kind kind;
	const char *start;
	size_t length;
	int line;
};

static const int scan_none = -1;
static const char scan_marks[] = "{}()=,+";
static const char scan_layer[] = "layer";

struct scanner {
	const char *at;
	int line;
	const char *file;
	struct nopal_problems *problems;
	struct nopal_arena *arena;
	struct nopal_scan *scan;
	struct scan_token token; /* the current one */
	int layer, section;	 /* that are open; -1: none */
	int unclosed;		 /* sections closed for the user: a later } is theirs */
};

/* --------------------------------------------------------------------- tokens */

static void scan_skip_line(struct scanner *scanner)
{
	scanner->at += strcspn(scanner->at, "\n");
}

static void scan_skip_block(struct scanner *scanner)
{
	int line = scanner->line;

	for (scanner->at += strlen("/*"); *scanner->at; scanner->at++) {
		if (strncmp(scanner->at, "*/", strlen("*/")) == 0) {
			scanner->at += strlen("*/");
			return;
		}
		scanner->line += *scanner->at == '\n';
	}
	nopal_problems_add(scanner->problems, scanner->file, line, "end the comment with */",
			   "the comment that begins here does not end");
}

static void scan_skip_blank(struct scanner *scanner)
{
	for (;;) {
		if (*scanner->at == '\n') {
			scanner->line++;
			scanner->at++;
		} else if (*scanner->at && strchr(" \t\r\f", *scanner->at)) {
			scanner->at++;
		} else if (*scanner->at == '#' || strncmp(scanner->at, "//", strlen("//")) == 0) {
			scan_skip_line(scanner);
		} else if (strncmp(scanner->at, "/*", strlen("/*")) == 0) {
			scan_skip_block(scanner);
		} else {
			return;
		}
	}
}

static void scan_string(struct scanner *scanner)
{
	struct scan_token *token = &scanner->token;
	char quote = *scanner->at++;
	int line = scanner->line;

	token->kind = SCAN_STRING;
	for (; *scanner->at && *scanner->at != quote; scanner->at++) {
		if (*scanner->at == '\\' && scanner->at[1])
			scanner->at++;
		scanner->line += *scanner->at == '\n';
	}
	if (*scanner->at) {
		scanner->at++;
		return;
	}
	nopal_problems_add(scanner->problems, scanner->file, line, "close it with the same quote",
			   "the quote that opens here is not closed");
	token->kind = SCAN_BROKEN;
	scanner->at = token->start; /* read on behind this line */
	scanner->line = line;
	scan_skip_line(scanner);
}

static void scan_next(struct scanner *scanner)
{
	struct scan_token *token = &scanner->token;

	scan_skip_blank(scanner);
	*token = (struct scan_token){ .start = scanner->at, .line = scanner->line };
	if (!*scanner->at)
		return;
	if (*scanner->at == '"' || *scanner->at == '\'') {
		scan_string(scanner);
	} else if (strchr(scan_marks, *scanner->at)) {
		token->kind = SCAN_MARK;
		scanner->at++;
	} else {
		token->kind = SCAN_WORD;
		while (*scanner->at && !strchr(" \t\r\f\n\"'#", *scanner->at) &&
		       !strchr(scan_marks, *scanner->at)) {
			const char *end = scanner->at;

			/* ${NAME} is an environment variable, with braces of its own in one line. */
			if (strncmp(end, "${", strlen("${")) == 0)
				end += strcspn(end, "}\n");
			scanner->at = *end == '}' ? end + 1 : scanner->at + 1;
		}
	}
	token->length = (size_t)(scanner->at - token->start);
}

static bool scan_is(const struct scanner *scanner, char mark)
{
	return scanner->token.kind == SCAN_MARK && *scanner->token.start == mark;
}

static bool scan_is_value(const struct scanner *scanner)
{
	return scanner->token.kind == SCAN_WORD || scanner->token.kind == SCAN_STRING;
}

/* ----------------------------------------------------------------------- items */

/* NULL: the arena failed. */
static struct nopal_scan_item *scan_add(struct scanner *scanner, const struct scan_token *name)
{
	struct nopal_scan *scan = scanner->scan;
	struct nopal_scan_item *item =
		nopal__one_more(scanner->arena, &scan->items, &scan->count, sizeof(*item));

	if (!item)
		return NULL;
	item->name = nopal__copy_part(scanner->arena, name->start, name->length);
	item->line = name->line;
	item->parent = scanner->section != scan_none ? scanner->section : scanner->layer;
	return item;
}

/* False: the token cannot be read. */
static bool scan_add_word(struct scanner *scanner, struct nopal_scan_item *item,
			  const struct scan_token *token)
{
	struct nopal_place place = { scanner->file, token->line };
	const char *word = nopal__scan_read(scanner->arena, token->start, token->length, place,
					    scanner->problems);
	const char **room = NULL;

	if (word)
		room = nopal__one_more(scanner->arena, &item->values.words, &item->values.count,
				       sizeof(*room));
	if (room)
		*room = word;
	return room;
}

/* ------------------------------------------------------------------- sections */

static void scan_close_for_user(struct scanner *scanner, int *open, const struct scan_token *before)
{
	const struct nopal_scan_item *item;

	if (*open == scan_none)
		return;
	item = &scanner->scan->items[*open];
	if (before)
		nopal_problems_add(scanner->problems, scanner->file, item->line, NULL,
				   "the { of `%s` is not closed before `%.*s` "
				   "begins",
				   item->name, (int)before->length, before->start);
	else
		nopal_problems_add(scanner->problems, scanner->file, item->line, NULL,
				   "the { of `%s` is not closed", item->name);
	nopal__problems_fix(scanner->problems, "close `%s` with }", item->name);
	*open = scan_none;
	scanner->unclosed += before != NULL;
}

/* The current token is its {. */
static void scan_section(struct scanner *scanner, const struct scan_token *name,
			 const struct scan_token *title)
{
	bool layer = name->length == strlen(scan_layer) &&
		     strncmp(name->start, scan_layer, name->length) == 0;
	struct nopal_scan_item *item;
	int index;

	scan_close_for_user(scanner, &scanner->section, name);
	if (layer)
		scan_close_for_user(scanner, &scanner->layer, name);
	index = (int)scanner->scan->count;
	item = scan_add(scanner, name);
	if (!item)
		return;
	item->section = true;
	if (title)
		scan_add_word(scanner, item, title);
	if (layer)
		scanner->layer = index;
	else
		scanner->section = index;
	scan_next(scanner);
}

/* ----------------------------------------------------------------------- keys */

/* The current token is the value.  25ms; is a habit from other languages. */
static bool scan_value(struct scanner *scanner, struct nopal_scan_item *item)
{
	struct scan_token *token = &scanner->token;
	bool ended = token->kind == SCAN_WORD && token->length > 1 &&
		     token->start[token->length - 1] == ';';
	bool good;

	if (ended) {
		nopal_problems_add(scanner->problems, scanner->file, token->line, "remove the ;",
				   "`%.*s` ends in ; but values end with the "
				   "word",
				   (int)token->length, token->start);
		token->length--;
	}
	good = scan_add_word(scanner, item, token);
	scan_next(scanner);
	return good;
}

/* The current token is its {. */
static bool scan_list(struct scanner *scanner, const struct scan_token *name,
		      struct nopal_scan_item *item)
{
	bool more = true, good = true;

	scan_next(scanner);
	while (more && scan_is_value(scanner)) {
		int line = scanner->token.line;

		good = scan_value(scanner, item) && good;
		more = scan_is(scanner, ',');
		if (more) {
			scan_next(scanner);
		} else if (scan_is_value(scanner) && scanner->token.line == line) {
			/* Else it is closed, or another statement begins. */
			nopal_problems_add(scanner->problems, scanner->file, line, "write { A, B }",
					   "a comma is missing in the list of `%.*s`",
					   (int)name->length, name->start);
			more = true;
		}
	}
	if (scan_is(scanner, '}')) {
		scan_next(scanner);
		return good;
	}
	nopal_problems_add(scanner->problems, scanner->file, name->line, "close the list with }",
			   "the list of `%.*s` is not closed", (int)name->length, name->start);
	return good;
}

/* The current token is = or the + of +=. */
static void scan_key(struct scanner *scanner, const struct scan_token *name)
{
	struct scan_token equals;
	struct nopal_scan_item *item;
	bool good;

	if (scan_is(scanner, '+'))
		scan_next(scanner);
	equals = scanner->token;
	scan_next(scanner);
	if (scanner->token.kind == SCAN_BROKEN) {
		scan_next(scanner);
		return;
	}
	if ((!scan_is_value(scanner) && !scan_is(scanner, '{')) ||
	    scanner->token.line != equals.line) {
		nopal_problems_add(scanner->problems, scanner->file, name->line, NULL,
				   "`%.*s` has no value", (int)name->length, name->start);
		nopal__problems_fix(scanner->problems, "write `%.*s = VALUE` in one line",
				    (int)name->length, name->start);
		return;
	}
	item = scan_add(scanner, name);
	if (!item)
		return;
	good = scan_is(scanner, '{') ? scan_list(scanner, name, item) : scan_value(scanner, item);
	if (!good) /* it was complained about */
		scanner->scan->count--;
}

/* ----------------------------------------------------------------- statements */

/* The current token is a word. */
static void scan_statement(struct scanner *scanner)
{
	struct scan_token name = scanner->token, title;
	struct scanner ahead;

	scan_next(scanner);
	ahead = *scanner; /* looks for a { behind the token, without taking it */
	ahead.problems = NULL;
	scan_skip_blank(&ahead);
	if (scan_is(scanner, '=') || (scan_is(scanner, '+') && *scanner->at == '=')) {
		scan_key(scanner, &name);
	} else if (scan_is(scanner, '{')) {
		scan_section(scanner, &name, NULL);
	} else if (scan_is_value(scanner) && *ahead.at == '{' && scanner->token.line == name.line) {
		title = scanner->token;
		scan_next(scanner);
		scan_section(scanner, &name, &title);
	} else if (scan_is(scanner, '(')) {
		nopal_problems_add(scanner->problems, scanner->file, name.line,
				   "to build on another config write extends = \"NAME\"",
				   "`%.*s(...)` is not a statement of a config", (int)name.length,
				   name.start);
		while (scanner->token.kind != SCAN_END && !scan_is(scanner, ')') &&
		       scanner->token.line == name.line)
			scan_next(scanner);
		if (scan_is(scanner, ')'))
			scan_next(scanner);
	} else {
		nopal_problems_add(scanner->problems, scanner->file, name.line, NULL,
				   "`%.*s` is followed by neither = nor {", (int)name.length,
				   name.start);
		nopal__problems_fix(scanner->problems, "write `%.*s = VALUE` or `%.*s {}`",
				    (int)name.length, name.start, (int)name.length, name.start);
	}
}

void nopal__scan(struct nopal_arena *arena, const char *text, const char *file,
		 struct nopal_scan *ret_scan, struct nopal_problems *problems)
{
	struct scanner scanner = {
		.at = text,
		.line = 1,
		.file = file,
		.problems = problems,
		.arena = arena,
		.scan = ret_scan,
		.layer = scan_none,
		.section = scan_none,
	};

	*ret_scan = (struct nopal_scan){ 0 };
	scan_next(&scanner);
	while (scanner.token.kind != SCAN_END && !arena->failed) {
		if (scanner.token.kind == SCAN_WORD) {
			scan_statement(&scanner);
		} else if (scan_is(&scanner, '}')) {
			int *open =
				scanner.section != scan_none ? &scanner.section : &scanner.layer;

			if (*open != scan_none) {
				*open = scan_none;
			} else if (scanner.unclosed > 0) {
				scanner.unclosed--;
			} else {
				nopal_problems_add(scanner.problems, scanner.file,
						   scanner.token.line, "remove it",
						   "this } closes nothing");
			}
			scan_next(&scanner);
		} else {
			const struct scan_token *token = &scanner.token;
			int line = token->line;

			if (token->kind != SCAN_BROKEN)
				nopal_problems_add(scanner.problems, scanner.file, token->line,
						   "begin with a key or a section",
						   "`%.*s` cannot begin a statement",
						   (int)token->length, token->start);
			scan_next(&scanner);
			while (scan_is_value(&scanner) && token->line == line)
				scan_next(&scanner); /* what went with it */
		}
	}
	scan_close_for_user(&scanner, &scanner.section, NULL);
	scan_close_for_user(&scanner, &scanner.layer, NULL);
}
