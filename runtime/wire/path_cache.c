/* SPDX-License-Identifier: MIT */
/*
 * path_cache.c -- measurements of the path between two hosts, kept when their sessions have ended:
 * a table of fixed size, by a keyed hash.
 *
 *   free --hold--> held --last release--> idle --hold--> held
 *     ^             |                      |
 *     +-says nothing+                      +--room is wanted--> another pair's
 *
 * A record is named by its place, 1 and up; 0 is none.  Idle ones are in a list by the time of
 * their last release.
 */
#include <string.h>

#include "wire/wire.h"

struct path_record {
	struct nopal_path_pair pair;
	uint32_t holders;
	uint32_t next;	       /* of the free ones */
	uint32_t older, newer; /* idle */
	bool measured[NOPAL_PATH_FACTS];
	struct {
		int64_t value, measured_ns;
	} fact[NOPAL_PATH_FACTS];
};

struct nopal_path_cache {
	uint64_t secret[2];
	struct nopal_map by_pair;    /* by the keyed hash */
	uint32_t free;		     /* the first free record */
	uint32_t oldest, newest;     /* idle */
	struct path_record record[]; /* record[0] is none */
};
struct nopal_path_cache *nopal__path_cache_new(uint32_t room, const uint64_t secret[2])
{
	struct nopal_path_cache *cache =
		calloc(1, sizeof(*cache) + (room + 1) * sizeof(*cache->record));

	if (!cache)
		return NULL;
	memcpy(cache->secret, secret, sizeof(cache->secret));
	for (uint32_t i = room; i > 0; i--) {
		cache->record[i].next = cache->free;
		cache->free = i;
	}
	return cache;
}

void nopal__path_cache_free(struct nopal_path_cache *cache)
{
	if (!cache)
		return;
	nopal_free(NULL, cache->by_pair.slots);
	free(cache);
}

static uint64_t key_of(const struct nopal_path_cache *cache, const struct nopal_path_pair *pair)
{
	return nopal__siphash(cache->secret, pair, sizeof(*pair));
}

/* ------------------------------------------------------------- idle records */

static void idle_remove(struct nopal_path_cache *cache, uint32_t record)
{
	const struct path_record *self = &cache->record[record];

	if (self->older)
		cache->record[self->older].newer = self->newer;
	else
		cache->oldest = self->newer;
	if (self->newer)
		cache->record[self->newer].older = self->older;
	else
		cache->newest = self->older;
}

/* The record is not held, and not in the list of idle ones. */
static void record_clear(struct nopal_path_cache *cache, uint32_t record)
{
	struct path_record *self = &cache->record[record];

	nopal_map_take(&cache->by_pair, key_of(cache, &self->pair));
	memset(self, 0, sizeof(*self));
	self->next = cache->free;
	cache->free = record;
}

/* Of two pairs with one hash the first alone has a record. */
uint32_t nopal__path_cache_hold(struct nopal_path_cache *cache, const struct nopal_path_pair *pair)
{
	uint64_t key = key_of(cache, pair);
	struct path_record *self = nopal_map_get(&cache->by_pair, key);
	uint32_t oldest = cache->oldest;

	if (self && memcmp(&self->pair, pair, sizeof(*pair)) != 0)
		return 0;
	if (self && !self->holders)
		idle_remove(cache, (uint32_t)(self - cache->record));
	if (!self && !cache->free && oldest) { /* makes room */
		idle_remove(cache, oldest);
		record_clear(cache, oldest);
	}
	if (!self && cache->free) {
		self = &cache->record[cache->free];
		if (nopal_map_put(NULL, &cache->by_pair, key, self) < 0)
			return 0;
		cache->free = self->next;
		self->pair = *pair;
	}
	if (!self)
		return 0;
	self->holders++;
	return (uint32_t)(self - cache->record);
}

void nopal__path_cache_release(struct nopal_path_cache *cache, uint32_t record)
{
	struct path_record *self = &cache->record[record];
	bool measured = false;

	if (--self->holders)
		return;
	for (unsigned i = 0; i < NOPAL_PATH_FACTS; i++)
		measured |= self->measured[i];
	if (!measured) {
		record_clear(cache, record);
		return;
	}
	self->older = cache->newest;
	self->newer = 0;
	if (cache->newest)
		cache->record[cache->newest].newer = record;
	else
		cache->oldest = record;
	cache->newest = record;
}

/* -------------------------------------------------------------------- facts */

void nopal__path_cache_write(struct nopal_path_cache *cache, uint32_t record,
			     enum nopal_path_fact fact, int64_t value, int64_t now_ns)
{
	struct path_record *self = &cache->record[record];

	self->measured[fact] = true;
	self->fact[fact].value = value;
	self->fact[fact].measured_ns = now_ns;
}

bool nopal__path_cache_read(const struct nopal_path_cache *cache, uint32_t record,
			    enum nopal_path_fact fact, int64_t *ret_value, int64_t *ret_measured_ns)
{
	const struct path_record *self = &cache->record[record];

	if (!self->measured[fact])
		return false;
	*ret_value = self->fact[fact].value;
	*ret_measured_ns = self->fact[fact].measured_ns;
	return true;
}

/* ----------------------------------------------------------------- sessions */

/* The session's record, which it holds from now on; NULL: there is no room, or many peers are
 * below.  Of a stack of layers the lowest one holds it. */
static struct nopal_path_cache *record_of(const struct nopal_session *session, uint32_t *ret_record)
{
	struct nopal_composite *bottom = nopal__bottom(nopal__composite(session));
	struct nopal_world *world = bottom->world;
	struct nopal_path_pair pair;
	uint64_t secret[2];

	if (!nopal__is_lowest(bottom))
		return NULL;
	if (!world->path_cache) {
		for (int i = 0; i < 2; i++)
			secret[i] = world->ops->random(world);
		world->path_cache = nopal__path_cache_new(NOPAL_PATH_RECORDS, secret);
	}
	if (world->path_cache && !bottom->path_record) {
		memcpy(pair.local, bottom->endpoint->port.local.ip, sizeof(pair.local));
		memcpy(pair.peer, bottom->peer.ip, sizeof(pair.peer));
		bottom->path_record = nopal__path_cache_hold(world->path_cache, &pair);
	}
	*ret_record = bottom->path_record;
	return *ret_record ? world->path_cache : NULL;
}

void nopal_path_remember(struct nopal_session *session, enum nopal_path_fact fact, int64_t value)
{
	uint32_t record;
	struct nopal_path_cache *cache = record_of(session, &record);

	if (cache)
		nopal__path_cache_write(cache, record, fact, value, session->now_ns);
}

bool nopal_path_recall(struct nopal_session *session, enum nopal_path_fact fact, int64_t *ret_value,
		       int64_t *ret_age_ns)
{
	uint32_t record;
	struct nopal_path_cache *cache = record_of(session, &record);
	int64_t measured_ns;

	if (!cache || !nopal__path_cache_read(cache, record, fact, ret_value, &measured_ns))
		return false;
	*ret_age_ns = session->now_ns - measured_ns;
	return true;
}

void nopal__path_record_release(struct nopal_composite *bottom)
{
	if (bottom->path_record)
		nopal__path_cache_release(bottom->world->path_cache, bottom->path_record);
	bottom->path_record = 0;
}
