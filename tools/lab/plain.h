/* SPDX-License-Identifier: MIT */
/* plain.h -- texts of strangers, made harmless for terminals, JSON and pages. */
#ifndef NOPAL_LAB_PLAIN_H
#define NOPAL_LAB_PLAIN_H

/* Puts a question mark for each byte that is neither of a printable character of UTF-8 nor a tab or
 * the end of a line. */
void plain_text(char *text);

#endif
