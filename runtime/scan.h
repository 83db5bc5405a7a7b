/* SPDX-License-Identifier: MIT */
/*
 * scan.h -- the names and lines of a config text: what libconfuse hides.
 *
 * libconfuse reads values well, but it must know every name before it starts,
 * stops at the first mistake, accepts an unclosed `{`, lets a second section
 * replace the first, trips over comments in lists, and does not say where a
 * section began.  So the text is scanned first: every statement is found with
 * its line, mistakes of structure are reported all at once, and a text is made
 * that holds the sound statements alone, each under a name of its own: n0, n1...
 */
#ifndef NOPAL_SCAN_H
#define NOPAL_SCAN_H

#include "nopal.h"
#include "text.h"

struct nopal_scan_item {
	char *name; /* as written */
	int line;
	int parent;   /* index of the section around it; -1: none */
	bool section; /* else a key */
	bool titled;  /* a section with a title: layer "name" { } */
	bool list;    /* a key whose value is a list in braces */
};

struct nopal_scan {
	struct nopal_scan_item *items;
	size_t count;
	struct nopal_text text; /* for libconfuse */
};

/* Always gives what could be read; problems say what could not. */
void nopal__scan(const char *text, const char *file,
		 struct nopal_scan *ret_scan, struct nopal_problems *problems);
void nopal__scan_fini(struct nopal_scan *scan);
/* "n7" for item 7; `name` has room for it. */
enum { NOPAL_SCAN_NAME_ROOM = 16 };
const char *nopal__scan_name(size_t index, char *name);

#endif
