/* SPDX-License-Identifier: MIT */
/*
 * outstanding.h -- segments that have left and whose outcome is open, by number.
 *
 * A ring of handles and a bitmap over [base, end): finding, adding and taking cost a load each, and
 * a stretch of numbers is asked for 64 at a time.  The ring grows in the session's memory; it is
 * made with a transmission, and given back when the session rests.
 *
 *        base                        end
 *   ......|1 1 0 1 0 0 1 1 1 1 0 1 1|......      1: open
 */
#ifndef NOPAL_OUTSTANDING_H
#define NOPAL_OUTSTANDING_H

#include <nopal/microprotocol.h>

enum { OUTSTANDING_WORD = 64, OUTSTANDING_AT_FIRST = 64 };

struct outstanding {
	struct nopal_handle *ring; /* by number modulo room */
	uint64_t *open;		   /* a bit a number, likewise */
	uint64_t base;		   /* no number below is open */
	uint64_t end;		   /* one past the highest that has left */
	uint32_t room;		   /* power of two; 0: nothing has left yet */
};

static inline void outstanding_begin(struct outstanding *sent, uint64_t first)
{
	sent->base = first;
	sent->end = first;
}

static inline uint64_t *outstanding_word(const struct outstanding *sent, uint64_t number)
{
	return &sent->open[(number & (sent->room - 1)) / OUTSTANDING_WORD];
}

static inline uint64_t outstanding_bit(uint64_t number)
{
	return UINT64_C(1) << number % OUTSTANDING_WORD;
}

static inline bool outstanding_is_open(const struct outstanding *sent, uint64_t number)
{
	return number >= sent->base && number < sent->end &&
	       (*outstanding_word(sent, number) & outstanding_bit(number));
}

/* Which of the 64 numbers from `from` on are open: bit 0 is `from`, which is in [base, end). */
static inline uint64_t outstanding_open(const struct outstanding *sent, uint64_t from)
{
	unsigned shift = from % OUTSTANDING_WORD;
	uint64_t word = *outstanding_word(sent, from) >> shift;

	if (shift)
		word |= *outstanding_word(sent, from + OUTSTANDING_WORD)
			<< (OUTSTANDING_WORD - shift);
	if (sent->end - from < OUTSTANDING_WORD)
		word &= (UINT64_C(1) << (sent->end - from)) - 1;
	return word;
}

/* Moves the base up to the first open number. */
static inline void outstanding_advance(struct outstanding *sent)
{
	/* most often the next one is open, or there is none */
	while (sent->base < sent->end && !outstanding_is_open(sent, sent->base)) {
		uint64_t word = outstanding_open(sent, sent->base);

		sent->base += word ? (unsigned)__builtin_ctzll(word) : OUTSTANDING_WORD;
	}
	if (sent->base > sent->end)
		sent->base = sent->end;
}

static inline int outstanding_grow(struct nopal_session *session, struct outstanding *sent,
				   uint64_t needed)
{
	uint32_t room = sent->room ? sent->room : OUTSTANDING_AT_FIRST;
	struct outstanding grown = *sent;

	while (room < needed && room <= UINT32_MAX / 2)
		room *= 2;
	grown.room = room;
	grown.ring = nopal_alloc(session, room * sizeof(*grown.ring));
	grown.open = nopal_alloc(session, room / OUTSTANDING_WORD * sizeof(*grown.open));
	if (!grown.ring || !grown.open || room < needed) {
		nopal_free(session, grown.ring);
		nopal_free(session, grown.open);
		return -1;
	}
	for (uint64_t number = sent->base; number < sent->end; number++) {
		if (!outstanding_is_open(sent, number))
			continue;
		grown.ring[number & (room - 1)] = sent->ring[number & (sent->room - 1)];
		*outstanding_word(&grown, number) |= outstanding_bit(number);
	}
	nopal_free(session, sent->ring);
	nopal_free(session, sent->open);
	*sent = grown;
	return 0;
}

/* A segment leaves for the first time; not always in the order of numbers. Negative: over
 * budget. */
static inline int outstanding_add(struct nopal_session *session, struct outstanding *sent,
				  uint64_t number, struct nopal_handle segment)
{
	uint64_t base = number < sent->base ? number : sent->base;
	uint64_t end = number < sent->end ? sent->end : number + 1;

	if (base == sent->base && sent->base == sent->end)
		base = number;
	if (end - base > sent->room && outstanding_grow(session, sent, end - base) < 0)
		return -1;
	sent->base = base;
	sent->end = end;
	sent->ring[number & (sent->room - 1)] = segment;
	*outstanding_word(sent, number) |= outstanding_bit(number);
	return 0;
}

/* Gives the memory back where no number is open. */
static inline void outstanding_idle(struct nopal_session *session, struct outstanding *sent)
{
	if (sent->base != sent->end)
		return;
	nopal_free(session, sent->ring);
	nopal_free(session, sent->open);
	sent->ring = NULL;
	sent->open = NULL;
	sent->room = 0;
}

/* The handle of an open number. */
static inline struct nopal_handle outstanding_at(const struct outstanding *sent, uint64_t number)
{
	return sent->ring[number & (sent->room - 1)];
}

/* The segment of a number, where that is open; else NULL. */
static inline struct nopal_segment *outstanding_find(struct nopal_session *session,
						     const struct outstanding *sent,
						     uint64_t number)
{
	if (!outstanding_is_open(sent, number))
		return NULL;
	return nopal_segment_find(session, outstanding_at(sent, number));
}

/* The same, and the number is open no more. */
static inline struct nopal_handle outstanding_take(struct outstanding *sent, uint64_t number)
{
	*outstanding_word(sent, number) &= ~outstanding_bit(number);
	if (number == sent->base)
		outstanding_advance(sent);
	return sent->ring[number & (sent->room - 1)];
}

/* The number is open no more, if it was. */
static inline void outstanding_close(struct outstanding *sent, uint64_t number)
{
	if (outstanding_is_open(sent, number))
		outstanding_take(sent, number);
}

/* As outstanding_add, and where there is no room the session ends: false. */
static inline bool outstanding_track(struct nopal_session *session, struct outstanding *sent,
				     uint64_t number, const struct nopal_segment *segment)
{
	if (outstanding_add(session, sent, number, segment->handle) == 0)
		return true;
	nopal_session_break(session, NOPAL_RESOURCE, "no room to keep track of a segment");
	return false;
}

#endif
