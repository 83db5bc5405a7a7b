/* SPDX-License-Identifier: MIT */
/*
 * found_lost.h -- marks that loss detection leaves on lost segments: they show afterwards that a
 * segment was only late, and how late.
 *
 * The attributes are the first of the part's own.
 */
#ifndef NOPAL_FOUND_LOST_H
#define NOPAL_FOUND_LOST_H

#include <nopal/microprotocol.h>

enum {
	FOUND_LOST_AGAIN,
	FOUND_LOST_LEFT_NS,
	FOUND_LOST_NUMBER,
}; /* attributes */

#define FOUND_LOST_ATTRIBUTES                                                                      \
	[FOUND_LOST_AGAIN] = { "found_lost_at", NOPAL_WRITE,                                       \
			       "first packet number after its loss was found",                     \
			       .kinds = NOPAL_CARRIED },                                           \
	[FOUND_LOST_LEFT_NS] = { "late_left_ns", NOPAL_WRITE,                                      \
				 "transmission of what was taken for lost; 0: it was lost",        \
				 .kinds = NOPAL_CARRIED },                                         \
	[FOUND_LOST_NUMBER] = { "segment_number", NOPAL_READ_OPTIONAL,                             \
				"of which an ack may say nothing" }

/* Numbers of which the last ack said whether they arrived. */
struct found_lost_told {
	uint64_t cumulative, from, end; /* end 0: of all */
};

static inline struct found_lost_told found_lost_told(const struct nopal_ack *ack)
{
	struct found_lost_told told = { 0 };

	if (ack->told_end)
		told = (struct found_lost_told){ ack->cumulative, ack->told_from, ack->told_end };
	return told;
}

/* The segment of a transmission whose outcome is open, where the ack would have told of it; else
 * NULL. */
static inline struct nopal_segment *found_lost_open(struct nopal_at at,
						    const struct found_lost_told *told,
						    uint64_t packet_number)
{
	const struct nopal_transmission *transmission =
		nopal_transmission_find(at.session, packet_number);
	struct nopal_segment *segment;
	uint64_t number;

	if (!transmission || !transmission->open)
		return NULL;
	segment = nopal_segment_find(at.session, transmission->segment);
	if (!segment || !told->end)
		return segment;
	number = nopal_get(at, segment, FOUND_LOST_NUMBER);
	if (number > told->cumulative && (number < told->from || number >= told->end))
		return NULL;
	return segment;
}

/* The segment at the cumulative ack, where its last transmission is open; else NULL. */
static inline struct nopal_segment *found_lost_cumulative(struct nopal_at at,
							  struct nopal_handle cumulative)
{
	const struct nopal_transmission *transmission;
	struct nopal_segment *segment = NULL;

	if (cumulative.generation)
		segment = nopal_segment_find(at.session, cumulative);
	if (!segment)
		return NULL;
	transmission = nopal_transmission_find(at.session, segment->packet_number);
	return transmission && transmission->open ? segment : NULL;
}

/* The last transmission of the segment is lost: settles that, and raises SEGMENT_LOST. */
static inline void found_lost(struct nopal_at at, struct nopal_segment *segment)
{
	nopal_set(at, segment, FOUND_LOST_AGAIN, nopal_next_packet_number(at.session));
	nopal_set(at, segment, FOUND_LOST_LEFT_NS, (uint64_t)segment->transmitted_ns);
	nopal_segment_settle(at.session, segment);
	nopal_raise_SEGMENT_LOST(at.session, segment);
}

#endif
