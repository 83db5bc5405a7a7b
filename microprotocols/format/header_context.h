/* SPDX-License-Identifier: MIT */
/*
 * header_context.h -- contexts, by which earlier headers foretell the fields of this one.
 * header_compression.c describes the scheme.
 *
 * Values are as on the wire: the low bytes of numbers.
 */
#ifndef NOPAL_HEADER_CONTEXT_H
#define NOPAL_HEADER_CONTEXT_H

#include <nopal/microprotocol.h>

enum header_form {
	HEADER_PLAIN,
	HEADER_DEFINES,
	HEADER_COMPACT,
	HEADER_STRAYED,
};

enum {
	HEADER_ID_BITS = 6,
	HEADER_ID = (1 << HEADER_ID_BITS) - 1,
	HEADER_RING = 8,   /* contexts that the receiver keeps */
	HEADER_FIELDS = 8, /* that are foretold; others are spelled out */
	HEADER_BYTE = 0xff,
	HEADER_BYTE_BITS = 8,
	HEADER_ANCHOR_BYTES = 2,
	HEADER_ANCHOR = 0xffff,
	HEADER_HEAD = 4, /* of a definition: first byte and masks */
	/* A definition has its own strays behind it, so much at most. */
	HEADER_BEHIND = 4,
	/* Distances from where a context began.  Definitions lie within the first, so that the low
	 * bytes of what lies within the second say which anchor is meant, counted from any of
	 * them. */
	HEADER_RENEW = 1 << 13,
	HEADER_REACH = 1 << 14,
};
_Static_assert(HEADER_RENEW + HEADER_REACH < (HEADER_ANCHOR + 1) / 2,
	       "the low bytes of an anchor say which one is meant");

struct header_context {
	uint64_t anchor;
	uint64_t base[HEADER_FIELDS]; /* at the anchor */
	uint8_t id;
	uint8_t moving, spelled; /* masks; both: near */
	bool live;
};

/* The fields of data here, and which of them is the anchor. */
struct header_fields {
	const struct nopal_field *field;
	unsigned count, foretold; /* all; those that a context has */
	unsigned anchor;	  /* count: there is none */
	uint8_t mask;		  /* of those that may follow an anchor */
};

struct header_fields nopal__header_fields(const struct nopal_session *session);

static inline bool header_in(unsigned mask, unsigned field)
{
	return field < HEADER_FIELDS && (mask >> field & 1);
}

uint64_t nopal__header_value(const struct header_fields *all, const struct nopal_segment *segment,
			     unsigned field);
/* 0 where there is no anchor. */
uint64_t nopal__header_anchor(const struct header_fields *all, const struct nopal_segment *segment);
/* Mask of the fields whose values the context cannot say. */
uint8_t nopal__header_strays(const struct header_fields *all, const struct header_context *context,
			     const struct nopal_segment *segment);
/* How far the segment is from where the context began, either way. */
uint64_t nopal__header_away(const struct header_fields *all, const struct header_context *context,
			    const struct nopal_segment *segment);

void nopal__header_plain(const struct header_fields *all, const struct nopal_segment *segment,
			 struct nopal_writer *writer);
void nopal__header_compact(const struct header_fields *all, const struct header_context *context,
			   const struct nopal_segment *segment, struct nopal_writer *writer);
/* False, and nothing is written: it has too many strays, or is too far away. */
bool nopal__header_define(const struct header_fields *all, const struct header_context *context,
			  const struct nopal_segment *segment, struct nopal_writer *writer);
/* Reads a header of any form; definitions go to the ring, by their ids. */
bool nopal__header_read(struct nopal_session *session, struct header_context *ring,
			struct nopal_segment *segment, struct nopal_reader *reader);

#endif
