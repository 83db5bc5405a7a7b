/* SPDX-License-Identifier: MIT */
/*
 * demux.c -- the session of a datagram: by its id, or by its peer's address where the composition
 * says so.
 *
 * All sessions of an endpoint are found in the same way: a datagram is looked at before its
 * composition is known.
 */
#include <errno.h>

#include "wire/wire.h"

enum {
	ID_TABLE_AT_FIRST = 16,
	SESSIONS_MAX = 1 << 17, /* of one endpoint: a flood ends here */
};

/* ------------------------------------------------------------ sessions by id */

/* Ids are random, so their low bits are a hash already. */
static struct nopal_composite **id_slot(const struct nopal_id_table *table, uint32_t id)
{
	uint32_t i = id & (table->room - 1);

	while (table->slots[i] && table->slots[i]->local_id != id)
		i = (i + 1) & (table->room - 1);
	return &table->slots[i];
}

static struct nopal_composite *id_find(const struct nopal_id_table *table, uint32_t id)
{
	return table->room ? *id_slot(table, id) : NULL;
}

/* Closes the gap so that every other chain stays whole. */
static void id_remove(struct nopal_id_table *table, uint32_t id)
{
	uint32_t mask = table->room - 1, hole, i;
	struct nopal_composite **slot = id_slot(table, id);

	if (!*slot)
		return;
	hole = (uint32_t)(slot - table->slots);
	table->used--;
	for (i = (hole + 1) & mask; table->slots[i]; i = (i + 1) & mask) {
		uint32_t primary = table->slots[i]->local_id & mask;

		if (((i - primary) & mask) < ((i - hole) & mask))
			continue;
		table->slots[hole] = table->slots[i];
		hole = i;
	}
	table->slots[hole] = NULL;
}

static bool id_is_ours(const struct nopal_endpoint *endpoint, uint32_t id)
{
	const struct nopal_shard *shard = endpoint->port.shard;

	return !shard || nopal__shard_of(id, shard->count) == shard->index;
}

struct nopal_composite *nopal__session_of(const struct nopal_endpoint *endpoint,
					  const struct nopal_address *from, uint32_t id)
{
	const struct nopal_endpoint *primary = endpoint->alias_of ? endpoint->alias_of : endpoint;
	struct nopal_composite *composite = id_find(&primary->by_id, id);

	if (!composite || composite->layer->plan->many_paths)
		return composite;
	return endpoint == primary && nopal_address_equal(&composite->peer, from) ? composite
										  : NULL;
}

/* ------------------------------------------------------- sessions by address */

/* In the table of peers: there the address may have another session's key. */
static struct nopal_composite *session_keyed(const struct nopal_endpoint *endpoint,
					     const struct nopal_address *from, uint32_t peer_id)
{
	struct nopal_composite *composite =
		nopal_map_get(&endpoint->by_opening, nopal__opening_key(endpoint, from, peer_id));

	return composite && nopal_address_equal(&composite->peer, from) ? composite : NULL;
}

struct nopal_composite *nopal__session_at(const struct nopal_endpoint *endpoint,
					  const struct nopal_address *from)
{
	return session_keyed(endpoint, from, 0);
}

struct nopal_composite *nopal__session_with(const struct nopal_endpoint *endpoint,
					    const struct nopal_address *from, uint32_t peer_id)
{
	struct nopal_composite *composite = session_keyed(endpoint, from, peer_id);

	return composite && composite->peer_id == peer_id ? composite : NULL;
}

/* Where there is another with this address and id, the newer one has them. */
void nopal__demux_know_peer(struct nopal_composite *bottom)
{
	struct nopal_endpoint *endpoint = bottom->endpoint;
	uint64_t key = nopal__opening_key(endpoint, &bottom->peer, bottom->peer_id);
	struct nopal_composite *other = nopal_map_get(&endpoint->by_opening, key);

	if (other == bottom)
		return;
	if (bottom->opening_key)
		nopal_map_take(&endpoint->by_opening, bottom->opening_key);
	bottom->opening_key = 0;
	if (nopal_map_put(NULL, &endpoint->by_opening, key, bottom) < 0)
		return;
	if (other)
		other->opening_key = 0;
	bottom->opening_key = key;
}

int nopal__demux_accept(struct nopal_composite *bottom)
{
	struct nopal_endpoint *endpoint = bottom->endpoint;

	if (bottom->layer->plan->demux == NOPAL_DEMUX_ID)
		return 0;
	return nopal_map_put(NULL, &endpoint->by_opening,
			     nopal__opening_key(endpoint, &bottom->peer, 0), bottom);
}

enum nopal_known nopal__demux_knows(const struct nopal_endpoint *endpoint, uint32_t id,
				    uint32_t peer_id)
{
	const struct nopal_endpoint *primary = endpoint->alias_of ? endpoint->alias_of : endpoint;
	const struct nopal_composite *composite = id_find(&primary->by_id, id);

	if (!id_is_ours(primary, id) || (composite && !composite->peer_known))
		return NOPAL_KNOWN_NOT;
	if (!composite || composite->life == NOPAL_LIFE_ENDED)
		return NOPAL_UNHEARD_OF;
	return composite->peer_id == peer_id ? NOPAL_KNOWN : NOPAL_KNOWN_OTHERWISE;
}

bool nopal__demux_suits(struct nopal_endpoint *endpoint, const struct nopal_plan *plan)
{
	if (endpoint->alias_of)
		return false;
	if (endpoint->port.shard && plan->demux != NOPAL_DEMUX_ID)
		return false; /* ids name the shard */
	if (!endpoint->demux_is_set)
		endpoint->demux = plan->demux;
	endpoint->demux_is_set = true;
	return endpoint->demux == plan->demux;
}

/* ------------------------------------------------------------------- in, out */

/* Gives the session its id and its place in the tables. */
int nopal__demux_enter(struct nopal_composite *bottom)
{
	struct nopal_endpoint *endpoint = bottom->endpoint;
	struct nopal_id_table *table = &endpoint->by_id, grown = { .used = table->used };

	if (!nopal__is_lowest(bottom)) { /* nothing arrives for it; a name in traces */
		bottom->local_id = (uint32_t)nopal_random(&bottom->session) | 1;
		return 0;
	}
	if (table->used == SESSIONS_MAX)
		return -ENOMEM;
	if (table->used * 2 >= table->room) {
		grown.room = table->room ? table->room * 2 : ID_TABLE_AT_FIRST;
		grown.slots = calloc(grown.room, sizeof(*grown.slots));
		if (!grown.slots)
			return -ENOMEM;
		for (uint32_t i = 0; i < table->room; i++)
			if (table->slots[i])
				*id_slot(&grown, table->slots[i]->local_id) = table->slots[i];
		free(table->slots);
		*table = grown;
	}
	/* An opener needs a free address.  A peer that opens to us may be anyone: its session has
	 * none before it is accepted. */
	if (bottom->opener && ((bottom->layer->plan->demux != NOPAL_DEMUX_ID &&
				nopal__session_at(endpoint, &bottom->peer)) ||
			       nopal__demux_accept(bottom) < 0))
		return -EADDRINUSE;
	do
		bottom->local_id = (uint32_t)nopal_random(&bottom->session);
	while (bottom->local_id == 0 || !id_is_ours(endpoint, bottom->local_id) ||
	       id_find(table, bottom->local_id));
	*id_slot(table, bottom->local_id) = bottom;
	table->used++;
	return 0;
}

void nopal__demux_forget(struct nopal_composite *bottom)
{
	struct nopal_endpoint *endpoint = bottom->endpoint;

	if (!nopal__is_lowest(bottom))
		return;
	id_remove(&endpoint->by_id, bottom->local_id);
	if (bottom->layer->plan->demux != NOPAL_DEMUX_ID &&
	    nopal__session_at(endpoint, &bottom->peer) == bottom)
		nopal_map_take(&endpoint->by_opening,
			       nopal__opening_key(endpoint, &bottom->peer, 0));
	if (bottom->opening_key)
		nopal_map_take(&endpoint->by_opening, bottom->opening_key);
}
