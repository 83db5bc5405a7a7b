/* SPDX-License-Identifier: MIT */
/*
 * oracle_ends.c -- what the applications of the oracle are told: openings, messages, outcomes,
 * ends; and which ends are allowed.
 */
#include <stdio.h>
#include <string.h>

#include "support/oracle.h"
#include "layers/streams.h"

static void moved(struct oracle *oracle)
{
	oracle->moves++;
	oracle->moved_ns = nopal_world_now(oracle->world);
}

/* ------------------------------------------------------------------- callbacks */

/* Where somebody matches tags, nothing is delivered that was not asked for. */
static void ask_for_next(struct nopal_session *session)
{
	nopal_receive_post(session, 0, 0, 0);
}

/* The sender of a message: in a group the message says so. */
static struct oracle_side *sender(struct oracle_side *side, const struct nopal_message *message)
{
	struct oracle *oracle = side->oracle;
	uint64_t from;

	for (unsigned i = 0; i < oracle->sides; i++)
		if (!(oracle->group && side->opener) && oracle_speaks_to(&oracle->side[i], side))
			return &oracle->side[i];
	from = nopal_message_property(message, oracle->property[ORACLE_DESTINATION_BIT]);
	for (unsigned i = oracle->openers; i < oracle->sides; i++)
		if (oracle->side[i].destination == (int64_t)from)
			return &oracle->side[i];
	return NULL;
}

static void on_received(struct nopal_session *session, struct nopal_message *message, void *user)
{
	static uint8_t bytes[ORACLE_LONGEST + 1];
	size_t length = nopal_message_copy(message, 0, bytes, sizeof(bytes));
	struct oracle_side *side = user, *from;
	int index;

	ask_for_next(session);
	if (!side)
		return;
	from = sender(side, message);
	index = from ? oracle_index_of(from, bytes, length) : -1;
	side->delivered++;
	moved(side->oracle);
	if (side->ended)
		oracle_violated(side->oracle, "delivered after the end");
	if (index < 0) {
		oracle_violated(side->oracle,
				"integrity: a message of %zu bytes was delivered that nobody sent",
				length);
		return;
	}
	oracle_heard(side, from, index, message);
	side->hash = side->hash * UINT64_C(1099511628211) + (uint64_t)index + length;
}

static void on_sent(struct nopal_session *session, uint64_t cookie, enum nopal_outcome outcome,
		    void *user)
{
	struct oracle_side *side = user;

	(void)session;
	if (!side)
		return;
	moved(side->oracle);
	oracle_outcome(side, cookie, outcome);
}

static void on_opened(struct nopal_session *session, void *user)
{
	struct oracle_side *side = user;

	if (!side)
		return;
	side->session = session;
	moved(side->oracle);
	ask_for_next(session);
	if (side->messages)
		oracle_push(side);
}

static void on_writable(struct nopal_session *session, void *user)
{
	struct oracle_side *side = user;

	(void)session;
	if (side && side->messages)
		oracle_push(side);
}

/* A stream's id is the same at both ends. */
static uint32_t stream_of(const struct nopal_session *session)
{
	const struct nopal_composite *composite = nopal__composite(session);

	while (composite->below && !nopal__is_flow(composite->below))
		composite = composite->below;
	return composite->below ? composite->stream : 0;
}

static struct oracle_side *accepted_side(struct oracle *oracle, const struct nopal_session *session)
{
	for (unsigned i = 0; i < oracle->openers; i++) {
		const struct oracle_side *opener = &oracle->side[i];

		if (opener->session && stream_of(opener->session) == stream_of(session))
			return &oracle->side[oracle->openers + i];
	}
	return oracle->openers == 1 ? &oracle->side[1] : NULL;
}

/* A damaged request opened a session that nobody asked for; this is the right one. */
static void begin_anew(struct oracle_side *side)
{
	side->orphan = side->begun = side->ended = false;
	side->pushed = side->outcomes = 0;
	for (uint32_t i = 0; i < side->messages; i++)
		side->message[i].outcome = side->message[i].withdrawn = 0;
}

/* A session that is asked for anew, by what was under way when the first one ended, is nobody's. */
static void *on_accepted(struct nopal_session *session, void *user)
{
	struct oracle_side *side = user; /* of this host, the first one */

	if (!side->oracle->group)
		side = accepted_side(side->oracle, session);
	if (side && side->orphan)
		begin_anew(side);
	if (!side || side->begun)
		return NULL;
	side->session = session;
	side->begun = true;
	return side;
}

/* A side that talks closes when it has said all; of a group, when the group has, for one that
 * closes leaves it. */
static void on_peer_closed(struct nopal_session *session, void *user)
{
	struct oracle_side *side = user;

	if (!side || !side->messages) {
		nopal_session_close(session);
		return;
	}
	side->peer_closed = true;
	oracle_push(side);
}

static void on_destination(struct nopal_session *session, const struct nopal_destination_info *info,
			   void *user)
{
	struct oracle_side *side = user;
	struct oracle *oracle;

	(void)session;
	if (!side)
		return;
	oracle = side->oracle;
	moved(oracle);
	for (unsigned i = oracle->openers; side->opener && info->ended && i < oracle->sides; i++)
		if (oracle->side[i].destination == (int64_t)info->id)
			oracle->side[i].dropped = info->end != NOPAL_ENDED_WELL;
}

static unsigned layer_of(const struct nopal_plan *plan, const struct nopal_part *part)
{
	unsigned layer = plan->layer_count - 1;

	while (part->index < plan->layers[layer].first_part)
		layer--;
	return layer;
}

/* A checker is right to complain of what nobody promised where it stands, of any message. */
static bool is_right(struct oracle *oracle, const char *text)
{
	struct nopal_service service;
	bool promised = true;

	if (strstr(text, "check_holds"))
		return oracle->set || oracle->cruel;
	if (!strstr(text, "check_fifo"))
		return false;
	for (uint32_t i = 0; i < oracle->plan->part_count; i++) {
		const struct nopal_part *part = &oracle->plan->parts[i];

		if (strcmp(part->microprotocol->name, "check_fifo") != 0)
			continue;
		nopal_plan_service(oracle->plan, layer_of(oracle->plan, part),
				   oracle->run->plain ? NULL : "urgent|out_of_band|destination",
				   &service);
		promised &= nopal_promises(&service, NOPAL_ORDER, NOPAL_FORWARD) &&
			    nopal_promises(&service, NOPAL_DUPLICATES, NOPAL_ONCE_A_SESSION);
	}
	return !promised;
}

/* Silence and attempts in vain may end a session where the network is cruel, where a parameter says
 * how soon, or where it may stand still; and its own limits, where these were set. */
static bool may_break(struct oracle *oracle, enum nopal_end end)
{
	bool stands = !oracle_promised(oracle, 0, NOPAL_PROGRESS, NOPAL_GOES_ON);

	if (oracle->run->strict)
		return false;
	if (end == NOPAL_RESOURCE || end == NOPAL_REFUSED)
		return oracle->set || stands;
	if (end == NOPAL_NOT_AUTHENTIC)
		return oracle->set && oracle->corrupts;
	return (oracle->set || oracle->cruel || stands) &&
	       (end == NOPAL_PEER_LOST || end == NOPAL_UNREACHABLE || end == NOPAL_GAVE_UP ||
		end == NOPAL_UNDELIVERED);
}

/* Without a handshake nobody says that it is at its end. */
static bool is_left(const struct oracle_side *side, enum nopal_end end)
{
	const struct oracle *oracle = side->oracle;

	if (oracle->handshake || end != NOPAL_PEER_LOST || side->opener)
		return false;
	for (unsigned i = 0; i < oracle->openers; i++)
		if (!oracle->side[i].ended && oracle_speaks_to(&oracle->side[i], side))
			return false;
	return true;
}

/* The side has told its peer, or could not; a session that ends because of that is no news. */
static void note_break(struct oracle_side *side, enum nopal_end end, const char *text)
{
	struct oracle *oracle = side->oracle;
	bool unheard = oracle->run->answers && !oracle->handshake;

	for (unsigned i = oracle->openers; unheard && i < oracle->sides; i++)
		unheard = !oracle->side[i].begun;
	side->orphan =
		oracle->corrupts && !side->opener && !side->delivered && end == NOPAL_PEER_LOST;
	if (unheard || side->orphan || is_left(side, end))
		return;
	if (is_right(oracle, text))
		oracle->told = true;
	else if (oracle->broken || oracle->run->cut_ns || may_break(oracle, end))
		oracle->broken = true;
	else
		oracle_violated(oracle, "a session broke: %s", text);
}

static void on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
		     void *user)
{
	struct oracle_side *side = user;

	if (!side)
		return;
	moved(side->oracle);
	if (side->ended)
		oracle_violated(side->oracle, "a session ended twice");
	side->ended = true;
	side->end = (int)end;
	side->end_ns = nopal_world_now(side->oracle->world);
	side->session = NULL;
	snprintf(side->end_text, sizeof(side->end_text), "%s", text);
	side->deserted = !side->opener && strcmp(text, "the peer is silent") == 0;
	side->counters = *nopal_session_counters(session);
	if (end == NOPAL_ABORTED) /* a limit of forgeries */
		side->oracle->broken |= side->oracle->set;
	else if (end != NOPAL_ENDED_WELL)
		note_break(side, end, text);
}

const struct nopal_callbacks oracle_callbacks = {
	.accepted = on_accepted,
	.opened = on_opened,
	.received = on_received,
	.sent = on_sent,
	.writable = on_writable,
	.destination = on_destination,
	.peer_closed = on_peer_closed,
	.ended = on_ended,
};
