/* SPDX-License-Identifier: MIT */
/*
 * page.h -- a trial as one self-contained page: the verdict, the steps in virtual time, the ladder
 * as a drawing, who holds what, and the hint.
 *
 * All text is escaped, and the same trial gives the same bytes.
 */
#ifndef NOPAL_LAB_PAGE_H
#define NOPAL_LAB_PAGE_H

#include "lab/ladder.h"
#include "lab/questions.h"

struct lab_page {
	const char *lab;   /* "Lab 6: loss" */
	const char *about; /* the submission, the seed; NULL: nothing */
	const struct lab_trial *trial;
	size_t most_rows;	       /* of the ladder; 0: LAB_LADDER_ROWS */
	const struct lab_asked *asked; /* questions about it; NULL: none */
	int asked_count;
	const char *const *names; /* of its hosts */
	const char *holders; /* a line a hold, as nopal_session_dump() says; NULL or "": none */
	const char *hint;    /* NULL: none */
	const char *section, *link; /* of the hand-out, and the address of its page; NULL: none */
};

void lab_page_print(const struct lab_page *page, FILE *out);

/* The drawing alone: an element <svg>, and its key. */
void lab_drawing_print(const struct lab_ladder *ladder, FILE *out);

#endif
