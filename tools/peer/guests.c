/* SPDX-License-Identifier: MIT */
/*
 * guests.c -- the sessions of a listener, by the address that they come from.
 */
#include <stdlib.h>
#include <string.h>

#include "peer/guests.h"
#include "peer/progress.h"

enum { GUESTS_V6_PREFIX = 8 }; /* bytes: a /64 */

struct guests_account {
	struct guests_account *next;
	struct guests_key key;
	unsigned seats;
	uint64_t bytes;
};

static bool key_is(const struct guests_key *a, const struct guests_key *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* ------------------------------------------------------------------- accounts */

void guests_house_init(struct guests_house *house, unsigned seats_each, uint64_t bytes_each)
{
	*house = (struct guests_house){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.seats_each = seats_each,
		.bytes_each = bytes_each,
	};
}

void guests_house_fini(struct guests_house *house)
{
	while (house->accounts) {
		struct guests_account *next = house->accounts->next;

		free(house->accounts);
		house->accounts = next;
	}
	pthread_mutex_destroy(&house->lock);
}

/* Called under the lock; a missing account is made.  NULL: no memory. */
static struct guests_account *account_of(struct guests_house *house, const struct guests_key *key)
{
	struct guests_account *account = house->accounts;

	while (account && !key_is(&account->key, key))
		account = account->next;
	if (account)
		return account;
	account = calloc(1, sizeof(*account));
	if (!account)
		return NULL;
	account->key = *key;
	account->next = house->accounts;
	house->accounts = account;
	return account;
}

static void account_settle(struct guests_house *house, struct guests_account *account)
{
	struct guests_account **at = &house->accounts;

	if (account->seats || account->bytes)
		return;
	while (*at != account)
		at = &(*at)->next;
	*at = account->next;
	free(account);
}

bool guests_claim(struct guests_house *house, const struct guests_key *key, uint64_t bytes,
		  char *ret_why)
{
	uint64_t max = house->bytes_each ? house->bytes_each : UINT64_MAX;
	char had[PROGRESS_RATE_ROOM], limit[PROGRESS_RATE_ROOM];
	struct guests_account *account;
	bool good;

	pthread_mutex_lock(&house->lock);
	account = account_of(house, key);
	good = !ret_why || (account && account->bytes <= max && bytes <= max - account->bytes);
	if (account && good)
		account->bytes += bytes;
	else if (account)
		snprintf(ret_why, GUESTS_WHY_ROOM,
			 "too many unfinished bytes of one address: %s beside this, "
			 "and %s may be (recv --peer-bytes)",
			 progress_size((double)account->bytes, had),
			 progress_size((double)max, limit));
	else if (!good)
		snprintf(ret_why, GUESTS_WHY_ROOM, "out of memory");
	if (account)
		account_settle(house, account);
	pthread_mutex_unlock(&house->lock);
	return good;
}

/* The account goes with the last of its seats and bytes. */
static void account_give_back(struct guests_house *house, const struct guests_key *key,
			      unsigned seats, uint64_t bytes)
{
	struct guests_account *account;

	pthread_mutex_lock(&house->lock);
	account = account_of(house, key);
	if (account) {
		account->seats -= seats;
		house->seats -= seats;
		account->bytes -= bytes < account->bytes ? bytes : account->bytes;
		account_settle(house, account);
	}
	pthread_mutex_unlock(&house->lock);
}

void guests_release(struct guests_house *house, const struct guests_key *key, uint64_t bytes)
{
	account_give_back(house, key, 0, bytes);
}

/* -------------------------------------------------------------------- sessions */

/* The session that goes, so that one more of this address may wait; NULL: all may stay. */
static struct guest *guests_surplus(const struct guests *guests, const struct guests_key *key)
{
	struct guest *first = NULL, *first_of_key = NULL;
	unsigned of_key = 0;

	for (struct guest *at = guests->oldest; at; at = at->newer) {
		if (at->seated || at->sent_away)
			continue;
		if (!first)
			first = at;
		if (!key_is(&at->key, key))
			continue;
		if (!first_of_key)
			first_of_key = at;
		of_key++;
	}
	if (of_key >= GUESTS_WAIT_EACH)
		return first_of_key;
	return guests->waiting >= GUESTS_WAIT_ALL ? first : NULL;
}

static void guests_waits_no_more(struct guests *guests, struct guest *guest)
{
	if (!guest->seated && !guest->sent_away)
		guests->waiting--;
}

void guests_enter(struct guests *guests, struct guest *guest, struct nopal_session *session)
{
	struct nopal_address address;
	struct guest *surplus;

	nopal_session_peer(session, &address);
	*guest = (struct guest){ .session = session };
	memcpy(guest->key.bytes, address.ip,
	       nopal_address_is_v4(&address) ? GUESTS_KEY_BYTES : GUESTS_V6_PREFIX);
	nopal_address_format(&address, guest->address);
	surplus = guests_surplus(guests, &guest->key);
	if (surplus) {
		guests_waits_no_more(guests, surplus);
		surplus->sent_away = true;
		nopal_session_abort(surplus->session, "too many sessions are open");
	}
	guest->older = guests->newest;
	if (guests->newest)
		guests->newest->newer = guest;
	else
		guests->oldest = guest;
	guests->newest = guest;
	guests->waiting++;
}

bool guests_seat(struct guests *guests, struct guest *guest, char ret_why[GUESTS_WHY_ROOM])
{
	struct guests_house *house = guests->house;
	struct guests_account *account;

	if (guest->seated)
		return true;
	pthread_mutex_lock(&house->lock);
	account = account_of(house, &guest->key);
	if (account && account->seats >= house->seats_each) {
		snprintf(ret_why, GUESTS_WHY_ROOM,
			 "too many sessions: %u are here from the address of "
			 "%s (--peer-sessions there)",
			 account->seats, guest->address);
	} else if (!account || house->seats >= GUESTS_SEATS_MAX) {
		snprintf(ret_why, GUESTS_WHY_ROOM,
			 "too many sessions: %u are here, of all addresses", house->seats);
	} else {
		guests_waits_no_more(guests, guest);
		guest->seated = true;
		account->seats++;
		house->seats++;
	}
	if (account)
		account_settle(house, account);
	pthread_mutex_unlock(&house->lock);
	return guest->seated;
}

void guests_leave(struct guests *guests, struct guest *guest)
{
	guests_waits_no_more(guests, guest);
	if (guest->seated)
		account_give_back(guests->house, &guest->key, 1, 0);
	*(guest->newer ? &guest->newer->older : &guests->newest) = guest->older;
	*(guest->older ? &guest->older->newer : &guests->oldest) = guest->newer;
}
