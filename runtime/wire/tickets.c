/* SPDX-License-Identifier: MIT */
/*
 * tickets.c -- tickets that listeners gave, kept by the openers' world for later sessions: one for
 * each peer and composition, a fixed number; the oldest makes room.
 */
#include <string.h>

#include "wire/wire.h"

enum { TICKETS_ROOM = 256 };

struct ticket_record {
	struct nopal_address peer;
	uint64_t fingerprint;
	struct nopal_ticket ticket; /* given_ns 0: free */
	int64_t kept_ns;
};

struct nopal_tickets {
	struct ticket_record record[TICKETS_ROOM];
};

static bool record_is_of(const struct ticket_record *record, const struct nopal_address *peer,
			 uint64_t fingerprint)
{
	return record->ticket.given_ns && record->fingerprint == fingerprint &&
	       nopal_address_equal(&record->peer, peer);
}

/* That of the peer, or else a free one, or else the oldest. */
static struct ticket_record *record_for(struct nopal_tickets *tickets,
					const struct nopal_address *peer, uint64_t fingerprint)
{
	struct ticket_record *oldest = tickets->record;

	for (struct ticket_record *record = tickets->record;
	     record < tickets->record + TICKETS_ROOM; record++) {
		if (record_is_of(record, peer, fingerprint))
			return record;
		if (oldest->ticket.given_ns &&
		    (!record->ticket.given_ns || record->kept_ns < oldest->kept_ns))
			oldest = record;
	}
	return oldest;
}

void nopal__tickets_keep(struct nopal_world *world, const struct nopal_address *peer,
			 uint64_t fingerprint, const struct nopal_ticket *ticket)
{
	if (!world->tickets)
		world->tickets = calloc(1, sizeof(*world->tickets));
	if (world->tickets)
		*record_for(world->tickets, peer, fingerprint) =
			(struct ticket_record){ *peer, fingerprint, *ticket, world->now_ns };
}

bool nopal__tickets_recall(const struct nopal_world *world, const struct nopal_address *peer,
			   uint64_t fingerprint, struct nopal_ticket *ret_ticket,
			   int64_t *ret_age_ns)
{
	const struct nopal_tickets *tickets = world->tickets;

	for (uint32_t i = 0; tickets && i < TICKETS_ROOM; i++)
		if (record_is_of(&tickets->record[i], peer, fingerprint)) {
			*ret_ticket = tickets->record[i].ticket;
			*ret_age_ns = world->now_ns - tickets->record[i].kept_ns;
			return true;
		}
	return false;
}

void nopal__tickets_merge(struct nopal_tickets **into, const struct nopal_tickets *from)
{
	if (from && !*into)
		*into = calloc(1, sizeof(**into));
	for (uint32_t i = 0; from && *into && i < TICKETS_ROOM; i++) {
		const struct ticket_record *record = &from->record[i];
		struct ticket_record *place;

		if (!record->ticket.given_ns)
			continue;
		place = record_for(*into, &record->peer, record->fingerprint);
		if (!place->ticket.given_ns || place->kept_ns < record->kept_ns)
			*place = *record;
	}
}
