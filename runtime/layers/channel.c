/* SPDX-License-Identifier: MIT */
/*
 * channel.c -- one transmission for many: the channel of a group.
 *
 *          group  ---- multicast ---->  239.77.0.1 ....            one datagram,
 *        /   |   \                  :     :    :              as many arrivals
 *     dest dest dest                v     v    v
 *       |    |    |                 layer above the destination's session
 *
 * A destination is a session of its own all the same: through that session it opened, asks for the
 * segments that it misses, and gets copies as long as it does not receive the channel.  So a
 * network without multicast costs copies, and nothing else.
 *
 * The address is of IPv4 or of IPv6, and so are the receivers that can join it: a sender has
 * another address towards a destination of the other family, by which no receiver of the channel
 * knows it.
 *
 * A multicast datagram carries the fields of the upper layers alone, the id of the channel in the
 * place of a session's, and the seal of the composition.  The datagram is received at an alias of
 * the endpoint, a port of its own at the multicast address, and belongs to the session whose peer
 * sent the datagram from its own address and has told the id.
 */
#include <errno.h>
#include <string.h>

#include "layers/group.h"
#include "engine/segment.h"
#include "engine/turn.h"
#include "wire/wire.h"

bool nopal__has_channel(const struct nopal_composite *composite)
{
	return nopal__is_group(composite) && composite->group->channel;
}

/* ------------------------------------------------------------------ speaking */

static bool same_family(const struct nopal_address *a, const struct nopal_address *b)
{
	return nopal_address_is_v4(a) == nopal_address_is_v4(b);
}

int64_t nopal_channel_open(struct nopal_session *session, uint32_t index,
			   const struct nopal_address *group, unsigned hops)
{
	struct nopal_composite *composite = nopal__composite(session);
	const struct nopal_world_ops *ops = composite->world->ops;
	struct nopal_casting casting = { .group = group, .hops = hops };
	int error = 0;

	if (!nopal__is_group(composite) || !composite->layer->plan->channel ||
	    !nopal_address_is_multicast(group))
		return -EINVAL;
	if (index >= composite->group->count)
		return -ENOTCONN; /* towards whom? */
	if (composite->group->channel && !nopal_channel_reaches(session, index))
		return -EAFNOSUPPORT;
	if (composite->group->channel)
		return composite->peer_id;
	casting.toward = &composite->group->member[index]->peer;
	if (!same_family(group, casting.toward))
		return -EAFNOSUPPORT;
	if (ops->multicast_from)
		error = ops->multicast_from(composite->world, composite->endpoint, &casting);
	if (error)
		return error;
	composite->peer = *group;
	composite->peer_id = (uint32_t)nopal_random(session) | 1;
	composite->group->channel = true;
	return composite->peer_id;
}

bool nopal_channel_reaches(const struct nopal_session *session, uint32_t index)
{
	const struct nopal_composite *composite = nopal__composite(session);

	return nopal__has_channel(composite) &&
	       same_family(&composite->peer, &composite->group->member[index]->peer);
}

/* Where a segment of the group says its kind, to the layer of destinations too. */
static uint8_t multicast_kind_slot(const struct nopal_plan *plan)
{
	return plan->layers[plan->destinations].above_kind_slot;
}

static const struct nopal_header *multicast_header(const struct nopal_composite *composite)
{
	return &composite->layer->plan->kinds[NOPAL_KIND_MULTICAST].header;
}

static uint32_t multicast_bytes(const struct nopal_composite *group,
				const struct nopal_segment *segment)
{
	return 1 + NOPAL_ID_BYTES + multicast_header(group)->bytes + segment->body.length +
	       group->layer->plan->trailer_bytes;
}

bool nopal__channel_may_leave(struct nopal_composite *group, const struct nopal_segment *segment)
{
	return nopal__train_ready(group, multicast_bytes(group, segment));
}

void nopal__multicast(struct nopal_composite *group, struct nopal_segment *segment)
{
	const struct nopal_plan *plan = group->layer->plan;
	uint32_t bytes = multicast_bytes(group, segment);
	uint8_t *at = bytes <= plan->datagram_bytes
			      ? nopal__train_room(group, nopal__first_way(group), bytes)
			      : NULL;

	if (!at)
		return; /* as one lost on the way */
	segment->attribute[multicast_kind_slot(plan)] = segment->kind;
	*at++ = nopal__first_byte(NOPAL_KIND_MULTICAST);
	at = nopal__put(at, group->peer_id, NOPAL_ID_BYTES);
	at = nopal__fields_put(multicast_header(group), segment, at);
	if (segment->body.length)
		memcpy(at, segment->body.bytes, segment->body.length);
	nopal__train_add_open(group, group->endpoint, bytes);
	if (bytes > nopal_path_limit(&group->session))
		nopal__train_end_long(group->endpoint, true);
	group->group->gone.datagrams_out++;
	group->group->gone.datagram_bytes_out += bytes;
}

void nopal_control_multicast(struct nopal_session *session, struct nopal_segment *segment,
			     uint32_t length)
{
	struct nopal_composite *composite = nopal__composite(session);

	nopal__control_note(composite, segment, length);
	if (nopal__has_channel(composite))
		nopal__multicast(composite, segment);
	nopal__segment_free(composite, segment);
}

/* ----------------------------------------------------------------- receiving */

/* The session that a multicast datagram belongs to; NULL: none, counted. */
static struct nopal_composite *receiver(struct nopal_endpoint *alias,
					const struct nopal_arrival *arrival, const uint8_t *bytes,
					uint32_t length)
{
	struct nopal_composite *composite;
	uint8_t kind;

	if (length < 1 + NOPAL_ID_BYTES || !nopal__first_byte_parse(bytes[0], &kind) ||
	    kind != NOPAL_KIND_MULTICAST) {
		alias->port.counters.malformed++;
		return NULL;
	}
	composite =
		nopal_map_get(&alias->by_opening,
			      nopal__opening_key(alias, &arrival->from,
						 (uint32_t)nopal__get(bytes + 1, NOPAL_ID_BYTES)));
	if (!composite || composite->life == NOPAL_LIFE_ENDED || !nopal__be_awake(composite)) {
		alias->port.counters.unknown_session++;
		return NULL;
	}
	nopal__touch(composite);
	return composite;
}

static void multicast_receive(struct nopal_endpoint *alias, const struct nopal_arrival *arrival,
			      uint8_t *bytes, uint32_t length)
{
	struct nopal_composite *composite = receiver(alias, arrival, bytes, length);
	const struct nopal_plan *plan;
	struct nopal_segment *segment;
	uint64_t kind;

	if (!composite)
		return;
	plan = composite->layer->plan;
	composite->awake->counters.datagrams_in++;
	composite->awake->counters.datagram_bytes_in += length;
	segment = nopal__unpack(composite, NOPAL_KIND_MULTICAST, arrival->buffer, bytes, length,
				1 + NOPAL_ID_BYTES);
	if (!segment)
		return;
	kind = segment->attribute[multicast_kind_slot(plan)];
	if (kind >= NOPAL_KIND_ROOM || !(composite->layer->kinds >> kind & 1)) {
		composite->awake->counters.rx_malformed++;
		nopal__segment_free(composite, segment);
		return;
	}
	segment->kind = (uint8_t)kind;
	segment->path = NOPAL_PATH_CHANNEL;
	segment->attribute[plan->destination_slot] = composite->below->destination->id;
	nopal__segment_arrive(composite, segment);
}

/* ---------------------------------------------------------- joining, leaving */

/* The alias closes with the last session that receives a channel there. */
static void alias_leave(struct nopal_endpoint *alias)
{
	if (--alias->channels == 0)
		nopal_endpoint_close(alias);
}

/* An alias of the endpoint at the address of the channel; NULL: none can be opened. */
static struct nopal_endpoint *alias_of(const struct nopal_composite *composite,
				       const struct nopal_address *group)
{
	const struct nopal_hearing hearing = { .beside = composite->endpoint,
					       .from = &composite->peer };
	struct nopal_endpoint *alias = composite->endpoint->aliases;

	while (alias && !(alias->channels && nopal_address_equal(&alias->port.local, group)))
		alias = alias->next_alias;
	if (alias)
		return alias;
	alias = nopal__endpoint_open(&(struct nopal_port){ .world = composite->world,
							   .local = *group,
							   .hearing = &hearing },
				     NULL);
	if (alias && nopal_endpoint_share(alias, composite->endpoint) < 0) {
		nopal_endpoint_close(alias);
		return NULL;
	}
	return alias;
}

/* Called by who was told of it by its peer; once more changes nothing. */
int nopal_channel_join(struct nopal_session *session, const struct nopal_address *group,
		       uint32_t id)
{
	struct nopal_composite *composite = nopal__composite(session);
	struct nopal_channel *channel;
	struct nopal_endpoint *alias;
	uint64_t key;

	if (!nopal_is_destination(session) || !composite->layer->plan->channel ||
	    !nopal_address_is_multicast(group))
		return -EINVAL;
	if (!same_family(group, &composite->peer))
		return -EAFNOSUPPORT;
	if (composite->channel)
		return composite->channel->id == id ? 0 : -EEXIST;
	alias = alias_of(composite, group);
	if (!alias)
		return -EADDRNOTAVAIL;
	alias->channels++;
	alias->channel_receive = multicast_receive;
	channel = calloc(1, sizeof(*channel));
	key = nopal__opening_key(alias, &composite->peer, id);
	if (!channel || nopal_map_get(&alias->by_opening, key) ||
	    nopal_map_put(NULL, &alias->by_opening, key, composite) < 0) {
		free(channel);
		alias_leave(alias);
		return -ENOMEM;
	}
	*channel = (struct nopal_channel){ alias, id, key };
	composite->channel = channel;
	return 0;
}

void nopal__channel_leave(struct nopal_composite *composite)
{
	struct nopal_channel *channel = composite->channel;

	if (!channel)
		return;
	composite->channel = NULL;
	nopal_map_take(&channel->alias->by_opening, channel->key);
	alias_leave(channel->alias);
	free(channel);
}
