/* SPDX-License-Identifier: MIT */
/*
 * rendezvous.c -- two peers that open towards each other, and neither listens.
 *
 *      here          firewalls drop the unexpected          there
 *      meet ---------------------------------->|
 *                    |<------------------------------------ meet
 *      meet ----------------------------------------------> gives way
 *        <------------------------------------------------- cookie
 *      meet, with the cookie -----------------------------> a listener's session
 *        <------------------------------------------------- accept
 *
 * Each peer has one session, which asks, again and again: the first requests die in the other's
 * firewall, and open one's own.  Requests are like any opening under a kind of their own, so that a
 * listener is not mistaken for a peer that meets us.  The connection of the composition decides
 * which of the two gives way (nopal_admission.rendezvous); that session becomes one as a listener
 * makes it.  A session gives way only to a peer that has shown a cookie made for this very session:
 * a request that was forged from elsewhere, or is as old as another session, gets an answer that is
 * shorter than itself, and changes nothing.
 *
 * A peer that no session of ours meets gets no answer.  Where the two run different compositions
 * each is told the difference, as by a listener; a session ends when it knows that both know, or by
 * the time for which it waits.
 */
#include <string.h>

#include "wire/wire.h"
#include "engine/turn.h"
#include "session/session.h"

struct rendezvous {
	struct nopal_composite *bottom;
	char *difference; /* of the compositions, in words; NULL: none yet */
	bool told, heard; /* of it: by the peer, and by its request */
};

static uint64_t rendezvous_key(const struct nopal_endpoint *endpoint,
			       const struct nopal_address *address)
{
	return nopal__opening_key(endpoint, address, 0);
}

static struct rendezvous *rendezvous_at(const struct nopal_endpoint *endpoint,
					const struct nopal_address *address)
{
	struct rendezvous *rendezvous =
		nopal_map_get(&endpoint->meetings, rendezvous_key(endpoint, address));

	return rendezvous && nopal_address_equal(&rendezvous->bottom->peer, address) ? rendezvous
										     : NULL;
}

static struct rendezvous *rendezvous_of(const struct nopal_composite *bottom)
{
	struct rendezvous *rendezvous = rendezvous_at(bottom->endpoint, &bottom->peer);

	return rendezvous && rendezvous->bottom == bottom ? rendezvous : NULL;
}

struct nopal_composite *nopal__rendezvous_with(const struct nopal_endpoint *endpoint,
					       const struct nopal_address *address)
{
	struct rendezvous *rendezvous = rendezvous_at(endpoint, address);

	return rendezvous ? rendezvous->bottom : NULL;
}

/* ----------------------------------------------------------------------- end */

static struct rendezvous *rendezvous_take(const struct nopal_composite *bottom)
{
	struct nopal_endpoint *endpoint = bottom->endpoint;
	struct rendezvous *rendezvous = rendezvous_of(bottom);

	if (rendezvous)
		nopal_map_take(&endpoint->meetings, rendezvous_key(endpoint, &bottom->peer));
	return rendezvous;
}

static void rendezvous_free(struct rendezvous *rendezvous)
{
	if (rendezvous)
		free(rendezvous->difference);
	free(rendezvous);
}

void nopal__rendezvous_over(struct nopal_composite *bottom)
{
	rendezvous_free(rendezvous_take(bottom));
}

bool nopal__rendezvous_ends(struct nopal_composite *bottom, enum nopal_end end)
{
	struct rendezvous *rendezvous = rendezvous_take(bottom);
	bool known = rendezvous && rendezvous->difference && end == NOPAL_UNREACHABLE;

	if (known)
		nopal__session_end(bottom, NOPAL_REFUSED, rendezvous->difference);
	rendezvous_free(rendezvous);
	return known;
}

void nopal__rendezvous_differs(struct nopal_composite *bottom, char *text, bool by_peer)
{
	struct rendezvous *rendezvous = rendezvous_of(bottom);

	if (!rendezvous) {
		free(text);
		return;
	}
	rendezvous->told |= by_peer;
	rendezvous->heard |= !by_peer;
	free(rendezvous->difference);
	rendezvous->difference = text; /* the newest: the peer may be another */
	if (rendezvous->told && rendezvous->heard)
		nopal__session_end(bottom, NOPAL_UNREACHABLE, NULL);
}

/* ------------------------------------------------------------------ give way */

void nopal__rendezvous_turn(struct nopal_composite *bottom, uint32_t peer_id)
{
	struct nopal_tracer *tracer = bottom->world->tracer;
	struct nopal_composite *top;

	nopal__rendezvous_over(bottom);
	for (struct nopal_composite *composite = bottom; composite;
	     composite = nopal__over(composite))
		composite->opener = false;
	nopal_session_set_peer_id(&bottom->session, peer_id);
	nopal__demux_know_peer(bottom);
	top = nopal__top(bottom);
	if (top->up->turned)
		top->up->turned(top);
	if (tracer)
		nopal__record(bottom, NOPAL_TRACED_SESSION, bottom->layer->index,
			      nopal__trace_plan(tracer, bottom->layer->plan), bottom->local_id,
			      nopal__trace_role(false, bottom->peer_id));
}

/* ---------------------------------------------------------------------- open */

bool nopal_plan_can_rendezvous(const struct nopal_plan *plan)
{
	const struct nopal_part *part = plan->admission;

	return part && part->microprotocol->admission->rendezvous && !plan->destinations;
}

struct nopal_composite *nopal__rendezvous_open(const struct nopal_open *open)
{
	struct nopal_endpoint *endpoint = open->endpoint;
	struct nopal_plan *plan = open->plan;
	struct nopal_composite *bottom;
	struct rendezvous *rendezvous;

	if (!open->peer || !nopal_plan_can_rendezvous(plan) || endpoint->port.shard ||
	    nopal__rendezvous_with(endpoint, open->peer))
		return NULL;
	bottom = nopal__stack_prepare(endpoint, plan, plan->flow, plan->layer_count, open->peer,
				      open->callbacks, open->user);
	if (!bottom)
		return NULL;
	rendezvous = calloc(1, sizeof(*rendezvous));
	if (!rendezvous || nopal_map_put(NULL, &endpoint->meetings,
					 rendezvous_key(endpoint, &bottom->peer), rendezvous) < 0) {
		free(rendezvous);
		nopal__callbacks_unshare(endpoint, nopal__top(bottom)->callbacks);
		nopal__session_unmake(bottom);
		return NULL;
	}
	rendezvous->bottom = bottom;
	for (struct nopal_composite *composite = bottom; composite;
	     composite = nopal__over(composite))
		composite->rendezvous = true;
	nopal__session_start(bottom);
	return nopal__top(bottom);
}
