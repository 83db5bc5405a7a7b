/* SPDX-License-Identifier: MIT */
/*
 * scan.h -- the statements of a config text, each with its line.
 *
 * The text is read once, from front to back.  Nothing stops at a mistake: each is reported with its
 * line, and what is sound around it is still found, so that all problems show at once.  What the
 * names mean is config.c's affair.
 */
#ifndef NOPAL_SCAN_H
#define NOPAL_SCAN_H

#include "config/config_tree.h"

struct nopal_scan_item {
	const char *name; /* as written */
	int line;
	int parent;   /* index of the section around it; -1: none */
	bool section; /* else a key */
	/* Of a key: its one word, or those of its list.  Of a section: its title, as in layer
	 * "name" { }, or none. */
	struct nopal__values values;
};

struct nopal_scan {
	struct nopal_scan_item *items; /* sections before what is in them */
	size_t count;
};

/* Always gives what could be read; problems say what could not. */
void nopal__scan(struct nopal_arena *arena, const char *text, const char *file,
		 struct nopal_scan *ret_scan, struct nopal_problems *problems);

/* ------------------------------------------------------------ scan_value.c */

/* The text of a value of `length` bytes, its quotes among them.  NULL: problems say why not. */
const char *nopal__scan_read(struct nopal_arena *arena, const char *start, size_t length,
			     struct nopal_place place, struct nopal_problems *problems);

#endif
