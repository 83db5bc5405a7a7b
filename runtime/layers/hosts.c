/* SPDX-License-Identifier: MIT */
/*
 * hosts.c -- several streams to one host of a group: destinations with one address.
 *
 *       group
 *      /  |  \
 *     1---2   3          1 and 2 are streams to one host: a ring
 *
 * Each stream is a session of its own: handshake, numbers, losses, congestion and end.  By which of
 * them a message goes is decided by the role host_streams; without it, an address stands in a group
 * once.
 */
#include "layers/group.h"

struct nopal_composite *nopal__host_find(const struct nopal_composite *group,
					 const struct nopal_address *address)
{
	const struct nopal_group *all = group->group;
	struct nopal_composite *found = NULL;

	for (uint32_t i = all->count; i-- > 0;)
		if (nopal_address_equal(&all->member[i]->peer, address) &&
		    (!found || found->destination->removed))
			found = all->member[i];
	return found;
}

/* A peer's address tells its streams apart only with a session's id beside it. */
bool nopal__host_takes_streams(const struct nopal_composite *group)
{
	const struct nopal_plan *plan = group->layer->plan;

	return plan->host_streams && plan->demux == NOPAL_DEMUX_ID;
}

void nopal__host_enter(const struct nopal_composite *group, struct nopal_composite *member)
{
	struct nopal_composite *other = nopal__host_find(group, &member->peer);
	struct nopal_destination *one = member->destination;

	one->host = one->id;
	one->next_stream = one;
	if (!other)
		return;
	one->host = other->destination->host;
	one->next_stream = other->destination->next_stream;
	other->destination->next_stream = one;
}

void nopal__host_leave(struct nopal_destination *destination)
{
	struct nopal_destination *before = destination;

	while (before->next_stream != destination)
		before = before->next_stream;
	before->next_stream = destination->next_stream;
	destination->next_stream = destination;
}

bool nopal__host_has_another(const struct nopal_destination *destination)
{
	const struct nopal_destination *one = destination->next_stream;

	while (one != destination && (one->removed || one->ended))
		one = one->next_stream;
	return one != destination;
}
