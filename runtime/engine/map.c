/* SPDX-License-Identifier: MIT */
/*
 * map.c -- numbers to pointers.
 *
 * Open addressing with linear probing; a slot without a value is empty.  Taking an entry shifts the
 * ones behind it back (Knuth, volume 3, 6.4, algorithm R), so there are no graves and probes stay
 * short.  Fullness stays below 3/4.
 */
#include <errno.h>
#include <string.h>

#include <nopal/microprotocol.h>

_Static_assert(sizeof(void *) >= sizeof(struct nopal_handle), "a value has room for a handle");

enum {
	MAP_FIRST_ROOM = 16,
	MAP_FULL_OF = 4, /* grows when more than MAP_FULL of MAP_FULL_OF are used */
	MAP_FULL = 3,
};

/* Mixed by the finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). */
static uint32_t map_home(const struct nopal_map *map, uint64_t key)
{
	key = (key ^ key >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	key = (key ^ key >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)(key ^ key >> 31) & (map->room - 1);
}

/* The slot of `key`, or the empty one where it would go. */
static uint32_t map_probe(const struct nopal_map *map, uint64_t key)
{
	uint32_t at = map_home(map, key);

	while (map->slots[at].value && map->slots[at].key != key)
		at = (at + 1) & (map->room - 1);
	return at;
}

void *nopal_map_get(const struct nopal_map *map, uint64_t key)
{
	return map->used ? map->slots[map_probe(map, key)].value : NULL;
}

static int map_grow(struct nopal_session *session, struct nopal_map *map)
{
	struct nopal_map grown = { .used = map->used };
	size_t bytes;

	if (map->room > UINT32_MAX / 2)
		return -ENOMEM;
	grown.room = map->room ? map->room * 2 : MAP_FIRST_ROOM;
	bytes = grown.room * sizeof(*grown.slots);
	grown.slots = nopal_alloc(session, bytes);
	if (!grown.slots)
		return -ENOMEM;
	memset(grown.slots, 0, bytes);
	for (uint32_t i = 0; i < map->room; i++)
		if (map->slots[i].value)
			grown.slots[map_probe(&grown, map->slots[i].key)] = map->slots[i];
	if (map->slots)
		nopal_free(session, map->slots);
	*map = grown;
	return 0;
}

int nopal_map_put(struct nopal_session *session, struct nopal_map *map, uint64_t key, void *value)
{
	struct nopal_map_slot *slot;

	if (!value)
		return -EINVAL;
	if ((uint64_t)(map->used + 1) * MAP_FULL_OF > (uint64_t)map->room * MAP_FULL) {
		int error = map_grow(session, map);

		if (error < 0)
			return error;
	}
	slot = &map->slots[map_probe(map, key)];
	map->used += !slot->value;
	*slot = (struct nopal_map_slot){ key, value };
	return 0;
}

void *nopal_map_take(struct nopal_map *map, uint64_t key)
{
	uint32_t mask = map->room - 1, hole;
	void *value;

	if (!map->used)
		return NULL;
	hole = map_probe(map, key);
	value = map->slots[hole].value;
	if (!value)
		return NULL;
	/* Fills the hole with entries behind it that may lie there. */
	for (uint32_t at = (hole + 1) & mask; map->slots[at].value; at = (at + 1) & mask) {
		uint32_t home = map_home(map, map->slots[at].key);

		/* An entry may move when its home does not lie in (hole, at]. */
		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		map->slots[hole] = map->slots[at];
		hole = at;
	}
	map->slots[hole].value = NULL;
	map->used--;
	return value;
}

void nopal_map_idle(struct nopal_session *session, struct nopal_map *map)
{
	if (map->used)
		return;
	nopal_free(session, map->slots);
	*map = (struct nopal_map){ 0 };
}
