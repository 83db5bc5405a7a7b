/* SPDX-License-Identifier: MIT */
/*
 * guests.h -- the sessions of a listener, by the address that they come from.
 *
 *   guests_enter --> waits --guests_seat--> has a seat --guests_leave--> gone
 *
 * A session that has opened and asked for nothing waits: a few may from one address, and the oldest
 * of them goes where one more comes, so that idle sessions keep no other session out.  With its
 * first request a session takes a seat: there are many seats, and few for one address.  Unfinished
 * bytes are counted for the address, too.
 *
 * An address of IPv6 counts as its /64, which belongs to one host as a whole.
 */
#ifndef NOPAL_GUESTS_H
#define NOPAL_GUESTS_H

#include <pthread.h>

#include <nopal/nopal.h>

enum {
	GUESTS_WAIT_EACH = 8, /* of one address, on one loop */
	GUESTS_WAIT_ALL = 256,
	GUESTS_SEATS_EACH = 64, /* default of one address, on all loops */
	GUESTS_SEATS_MAX = 1024,
	GUESTS_KEY_BYTES = 16,
	GUESTS_WHY_ROOM = 160,
};

/* The key that tells one address from another here. */
struct guests_key {
	uint8_t bytes[GUESTS_KEY_BYTES];
};

struct guests_account; /* of one address */

/* Of a listener, on all its loops. */
struct guests_house {
	pthread_mutex_t lock; /* of the next fields */
	struct guests_account *accounts;
	unsigned seats;
	unsigned seats_each;
	uint64_t bytes_each; /* 0: any number */
};

/* A session; part of its owner's struct. */
struct guest {
	struct guest *older, *newer;
	struct nopal_session *session;
	struct guests_key key;
	char address[NOPAL_ADDRESS_TEXT]; /* with its port, for people */
	bool seated, sent_away;
};

/* The sessions of one loop. */
struct guests {
	struct guests_house *house;
	struct guest *newest, *oldest;
	unsigned waiting;
};

void guests_house_init(struct guests_house *house, unsigned seats_each, uint64_t bytes_each);
void guests_house_fini(struct guests_house *house);

/* The session waits from now on.  Where too many wait, the one that has waited longest is aborted,
 * of its address, or of all. */
void guests_enter(struct guests *guests, struct guest *guest, struct nopal_session *session);
/* False, and `why`: too many sessions of its address, or in all, have a seat. */
bool guests_seat(struct guests *guests, struct guest *guest, char ret_why[GUESTS_WHY_ROOM]);
void guests_leave(struct guests *guests, struct guest *guest);

/* Counts so many unfinished bytes more for this address.  False, and `why`: they would be more than
 * one address may have, and are not counted.  `ret_why` NULL: bytes that are on disk already, which
 * are counted whatever the bound is. */
bool guests_claim(struct guests_house *house, const struct guests_key *key, uint64_t bytes,
		  char *ret_why);
void guests_release(struct guests_house *house, const struct guests_key *key, uint64_t bytes);

#endif
