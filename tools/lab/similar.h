/* SPDX-License-Identifier: MIT */
/*
 * similar.h -- how much two submissions have in common, beside what was handed out.
 *
 * Winnowing (Schleimer, Wilkerson and Aiken, "Winnowing: local algorithms for document
 * fingerprinting", 2003): a source becomes tokens in which all names that are not words of C or of
 * Nopal are one, so that renaming hides nothing; of each window of hashes of a few tokens the least
 * is a fingerprint.  Fingerprints of the skeleton do not count.
 */
#ifndef NOPAL_LAB_SIMILAR_H
#define NOPAL_LAB_SIMILAR_H

#include <stddef.h>
#include <stdint.h>

struct similar {
	uint64_t *prints; /* ascending, each once */
	size_t count;
};

/* The fingerprints of a source that `without` has not (NULL: all). */
void similar_read(const char *source, const struct similar *without, struct similar *ret_similar);
/* Of the prints of both, the share that both have; 0 where one has hardly any. */
double similar_share(const struct similar *one, const struct similar *other);
void similar_fini(struct similar *similar);

#endif
