/* SPDX-License-Identifier: MIT */
/*
 * session_look.c -- what others ask of a session, and what is told of its peer:
 * ids, names, counters, budgets, and what it waits for.
 */
#include <string.h>

#include "layers/group.h"

bool nopal_session_is_opener(const struct nopal_session *session)
{
	return nopal__composite(session)->opener;
}

bool nopal_session_rendezvous(const struct nopal_session *session)
{
	return nopal__composite(session)->rendezvous;
}

uint32_t nopal_session_local_id(const struct nopal_session *session)
{
	return nopal__composite(session)->local_id;
}

uint32_t nopal_session_peer_id(const struct nopal_session *session)
{
	return nopal__bottom(nopal__composite(session))->peer_id;
}

uint32_t nopal_session_id(const struct nopal_session *session)
{
	return nopal__composite(session)->local_id;
}

const char *nopal_session_composition(const struct nopal_session *session)
{
	return nopal__composite(session)->layer->plan->info.canonical;
}

const char *nopal_session_plan_name(const struct nopal_session *session)
{
	return nopal__composite(session)->layer->plan->info.name;
}

void nopal_session_peer(const struct nopal_session *session, struct nopal_address *ret_address)
{
	*ret_address = nopal__composite(session)->peer;
}

void *nopal_session_user(const struct nopal_session *session)
{
	return nopal__composite(session)->user;
}

void nopal_session_set_budget(struct nopal_session *session, const struct nopal_budget *budget)
{
	struct nopal_composite *composite = nopal__composite(session);

	if (!nopal__be_awake(composite))
		return;
	nopal__budget_set(&composite->awake->budget, budget);
	nopal__send_limit(composite->awake);
	composite->world->counts_unsent |= budget->unsent_bytes || budget->unsent_messages;
}

/* Datagrams are counted at the bottom, messages at the top. */
const struct nopal_counters *nopal_session_counters(const struct nopal_session *session)
{
	struct nopal_composite *composite = nopal__composite(session);
	struct nopal_composite *bottom = nopal__bottom(composite);
	static const struct nopal_counters none;

	if (!nopal__be_awake(composite))
		return &none;
	if (nopal__is_group(bottom))
		nopal__group_count(bottom);
	if (bottom != composite) {
		composite->awake->counters.datagrams_out = bottom->awake->counters.datagrams_out;
		composite->awake->counters.datagrams_in = bottom->awake->counters.datagrams_in;
		composite->awake->counters.datagram_bytes_out =
			bottom->awake->counters.datagram_bytes_out;
		composite->awake->counters.datagram_bytes_in =
			bottom->awake->counters.datagram_bytes_in;
	}
	return &composite->awake->counters;
}

static void dump_bits(const struct nopal_composite *composite, const struct nopal_segment *segment,
		      FILE *out)
{
	static const char *const names[] = { "send", "done", "deallocate" };

	for (unsigned barrier = 0; barrier < 3; barrier++)
		for (unsigned bit = 0; bit < NOPAL_HOLD_ROOM; bit++)
			if (segment->waiting[barrier] >> bit & 1)
				fprintf(out, " %s:%s", names[barrier],
					composite->layer->hold_part[barrier][bit]
						->microprotocol->name);
}

size_t nopal_session_dump(const struct nopal_session *session, FILE *out)
{
	const struct nopal_composite *composite = nopal__composite(session);
	size_t lines = 0;

	for (const struct nopal_segment *segment = nopal__pool_oldest(&composite->awake->segments);
	     segment; segment = nopal__pool_newer(segment)) {
		if (segment->incoming)
			continue;
		fprintf(out, "segment %u %s since %lld ns, transmissions %u, held by",
			segment->number, segment->wanted ? "waits" : "away",
			(long long)segment->created_ns, segment->transmissions);
		dump_bits(composite, segment, out);
		fputc('\n', out);
		lines++;
	}
	return lines;
}
