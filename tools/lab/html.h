/* SPDX-License-Identifier: MIT */
/*
 * html.h -- what the pages of labs share: their frame and style, text from outside, times.
 *
 * A page is one file that needs nothing else: no script, no font, no picture from elsewhere, and
 * its policy forbids the browser to fetch any.  It is light or dark as the reader's system is, and
 * fits a window of 360 pixels, and paper.
 */
#ifndef NOPAL_LAB_HTML_H
#define NOPAL_LAB_HTML_H

#include <stdint.h>
#include <stdio.h>

/* Text from outside, as text: what would be markup is escaped; bytes that are no UTF-8, and
 * control characters, become U+FFFD.  NULL is nothing. */
void lab_html_text(FILE *out, const char *text);
/* Of the virtual clock, in seconds, "0.250": with 3 decimals, and more, up to so many (3 to 9), where
 * there are more. */
enum { LAB_HTML_TIME = 40, LAB_HTML_EXACT = 9 };
const char *lab_html_time(int64_t time_ns, int decimals, char *ret_text);

/* From the doctype to the beginning of <main>; the title is text. */
void lab_html_open(FILE *out, const char *title);
void lab_html_close(FILE *out);

#endif
