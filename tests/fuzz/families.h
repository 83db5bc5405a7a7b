/* SPDX-License-Identifier: MIT */
/*
 * families.h -- the compositions that fuzzed sessions run: each has parsers of the wire that the
 * others have not.  An input names its family by its first byte, so that new ones belong at the end
 * of the table.
 */
#ifndef NOPAL_FUZZ_FAMILIES_H
#define NOPAL_FUZZ_FAMILIES_H

#include <nopal/nopal.h>

struct family {
	const char *name, *config;
	unsigned acceptors; /* hosts that listen; the first is the one that matters */
	bool many_paths;    /* each end has a second address */
	bool keyed;	    /* both ends have the key of one file */
};

/* The family of an input that begins with this byte. */
const struct family *family_of(uint8_t byte);
const struct family *family_named(const char *name);
/* Its plan, made at the first call and kept; owned by the family.  NULL: this build lacks a library
 * that the composition wants.  Any other mistake ends the program. */
struct nopal_plan *family_plan(const struct family *family);

#endif
