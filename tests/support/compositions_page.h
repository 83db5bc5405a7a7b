/* SPDX-License-Identifier: MIT */
/*
 * compositions_page.h -- docs/compositions.md of the build folder: how many compositions there are,
 * by family; which microprotocols cannot meet, and why; and what each line of a shipped config is
 * worth.  All of it comes from the registry and the configs.
 */
#ifndef NOPAL_TEST_COMPOSITIONS_PAGE_H
#define NOPAL_TEST_COMPOSITIONS_PAGE_H

#include <stdio.h>

void compositions_page(FILE *out);
/* The part on pairs alone, of one microprotocol; NULL: of all. */
void compositions_page_pairs(FILE *out, const char *about);

#endif
