/* SPDX-License-Identifier: MIT */
/*
 * rendezvous.c -- two that open towards each other, and neither listens.
 *
 *      here         what is not expected is dropped         there
 *      meet ---------------------------------->|
 *                    |<------------------------------------ meet
 *      meet ----------------------------------------------> gives way
 *        <------------------------------------------------- cookie
 *      meet, with the cookie -----------------------------> a listener's session
 *        <------------------------------------------------- accept
 *
 * Each has one session, which asks, again and again: the first requests die in the other's
 * firewall, and open one's own.  Requests are those of any opening under a kind of their own, so
 * that a listener is not mistaken for a peer that meets us.  The connection of the composition
 * decides which of the two gives way (nopal_admission.meet); that one's session becomes what a
 * listener would have made.  It gives way only to who has shown a cookie that was made for this
 * very session:
 * what was forged from elsewhere, or is as old as another session, is answered by less than it is,
 * and changes nothing.
 *
 * Whom no session of ours meets is told nothing.  Where the two run different compositions each is
 * told the difference, as by a listener; a session ends when it knows that both know, or by the
 * time for which it waits.
 */
#include <string.h>

#include "wire/rendezvous.h"
#include "engine/turn.h"
#include "session/session.h"
#include "wire/demux.h"
#include "wire/handshake.h"

struct meeting {
	struct nopal_composite *bottom;
	char *difference; /* of the compositions, in words; NULL: none yet */
	bool told, heard; /* of it: by the peer, and by its request */
};

static uint64_t meeting_key(const struct nopal_endpoint *endpoint,
			    const struct nopal_address *address)
{
	return nopal__opening_key(endpoint, address, 0);
}

static struct meeting *meeting_at(const struct nopal_endpoint *endpoint,
				  const struct nopal_address *address)
{
	struct meeting *meeting =
		nopal_map_get(&endpoint->meetings, meeting_key(endpoint, address));

	return meeting && nopal_address_equal(&meeting->bottom->peer, address) ? meeting : NULL;
}

static struct meeting *meeting_of(const struct nopal_composite *bottom)
{
	struct meeting *meeting = meeting_at(bottom->endpoint, &bottom->peer);

	return meeting && meeting->bottom == bottom ? meeting : NULL;
}

struct nopal_composite *nopal__meeting_with(const struct nopal_endpoint *endpoint,
					    const struct nopal_address *address)
{
	struct meeting *meeting = meeting_at(endpoint, address);

	return meeting ? meeting->bottom : NULL;
}

/* --------------------------------------------------------------- how it ends */

static struct meeting *meeting_take(const struct nopal_composite *bottom)
{
	struct nopal_endpoint *endpoint = bottom->endpoint;
	struct meeting *meeting = meeting_of(bottom);

	if (meeting)
		nopal_map_take(&endpoint->meetings, meeting_key(endpoint, &bottom->peer));
	return meeting;
}

static void meeting_free(struct meeting *meeting)
{
	if (meeting)
		free(meeting->difference);
	free(meeting);
}

void nopal__meeting_over(struct nopal_composite *bottom)
{
	meeting_free(meeting_take(bottom));
}

bool nopal__meeting_ends(struct nopal_composite *bottom, enum nopal_end end)
{
	struct meeting *meeting = meeting_take(bottom);
	bool known = meeting && meeting->difference && end == NOPAL_UNREACHABLE;

	if (known)
		nopal__session_end(bottom, NOPAL_REFUSED, meeting->difference);
	meeting_free(meeting);
	return known;
}

void nopal__meeting_differs(struct nopal_composite *bottom, char *text, bool by_peer)
{
	struct meeting *meeting = meeting_of(bottom);

	if (!meeting) {
		free(text);
		return;
	}
	meeting->told |= by_peer;
	meeting->heard |= !by_peer;
	free(meeting->difference);
	meeting->difference = text; /* the newest: the peer may be another */
	if (meeting->told && meeting->heard)
		nopal__session_end(bottom, NOPAL_UNREACHABLE, NULL);
}

/* ------------------------------------------------------------- who gives way */

static void turn_note(struct nopal_composite *bottom)
{
	struct nopal_tracer *tracer = bottom->world->tracer;

	if (tracer)
		nopal__record(bottom, NOPAL_TRACED_SESSION, bottom->layer->index,
			      nopal__trace_plan(tracer, bottom->layer->plan), bottom->local_id,
			      nopal__trace_role(false, bottom->peer_id));
}

void nopal__meeting_turn(struct nopal_composite *bottom, uint32_t peer_id)
{
	struct nopal_composite *top;

	nopal__meeting_over(bottom);
	for (struct nopal_composite *composite = bottom; composite;
	     composite = nopal__over(composite))
		composite->opener = false;
	nopal_session_set_peer_id(&bottom->session, peer_id);
	nopal__demux_know_peer(bottom);
	top = nopal__top(bottom);
	if (top->up->turned)
		top->up->turned(top);
	turn_note(bottom);
}

/* ---------------------------------------------------------------------- open */

bool nopal_plan_can_meet(const struct nopal_plan *plan)
{
	const struct nopal_part *part = plan->admission;

	return part && part->microprotocol->admission->meet && !plan->destinations;
}

static bool meeting_begin(struct nopal_composite *bottom)
{
	struct nopal_endpoint *endpoint = bottom->endpoint;
	struct meeting *meeting = calloc(1, sizeof(*meeting));

	if (!meeting)
		return false;
	meeting->bottom = bottom;
	if (nopal_map_put(NULL, &endpoint->meetings, meeting_key(endpoint, &bottom->peer),
			  meeting) < 0) {
		free(meeting);
		return false;
	}
	for (struct nopal_composite *composite = bottom; composite;
	     composite = nopal__over(composite))
		composite->meets = true;
	return true;
}

/* Of a flow its top, else the session's. */
static struct nopal_composite *meeting_open(struct nopal_endpoint *endpoint,
					    struct nopal_plan *plan,
					    const struct nopal_address *peer,
					    const struct nopal_callbacks *callbacks, void *user)
{
	struct nopal_composite *bottom = nopal__stack_prepare(
		endpoint, plan, plan->flow, plan->layer_count, peer, callbacks, user);

	if (!bottom)
		return NULL;
	if (!meeting_begin(bottom)) {
		nopal__callbacks_unshare(endpoint, nopal__top(bottom)->callbacks);
		nopal__session_unmake(bottom);
		return NULL;
	}
	nopal__session_start(bottom);
	return nopal__top(bottom);
}

struct nopal_session *nopal_rendezvous_open(struct nopal_endpoint *endpoint,
					    struct nopal_plan *plan,
					    const struct nopal_address *peer,
					    const struct nopal_callbacks *callbacks, void *user)
{
	struct nopal_composite *top;
	bool outermost;

	if (!nopal_plan_can_meet(plan) || endpoint->port.shard ||
	    nopal__meeting_with(endpoint, peer))
		return NULL;
	outermost = nopal__turn_begin(endpoint->port.world);
	top = meeting_open(endpoint, plan, peer, callbacks, user);
	if (top && top->up->begin)
		top = top->up->begin(top, callbacks, user);
	nopal__turn_end(endpoint->port.world, outermost);
	return top ? &top->session : NULL;
}
