/* SPDX-License-Identifier: MIT */
/*
 * application.c -- the application, above the uppermost composite of a session: its callbacks, and
 * callbacks that many sessions share.
 */
#include <string.h>

#include "session/send.h"
#include "session/session.h"

static void application_opened(struct nopal_composite *composite)
{
	if (composite->callbacks && composite->callbacks->opened)
		composite->callbacks->opened(&composite->session, composite->user);
}

static void application_received(struct nopal_composite *composite, struct nopal_message *message)
{
	if (composite->callbacks && composite->callbacks->received)
		composite->callbacks->received(&composite->session, message, composite->user);
}

/* Applications are told neither of expiry nor of what was waived. */
static void application_outcome(struct nopal_composite *composite,
				const struct nopal_message *message, enum nopal_outcome outcome)
{
	if (outcome == NOPAL_OUTCOME_LOST || outcome == NOPAL_OUTCOME_UNKNOWN)
		composite->awake->undelivered++;
	if (outcome == NOPAL_OUTCOME_EXPIRED)
		outcome = NOPAL_OUTCOME_LOST;
	if (outcome == NOPAL_OUTCOME_WAIVED)
		outcome = NOPAL_OUTCOME_UNKNOWN;
	if (composite->callbacks && composite->callbacks->sent)
		composite->callbacks->sent(&composite->session, message->cookie, outcome,
					   composite->user);
}

static void application_peer_closed(struct nopal_composite *composite)
{
	if (composite->callbacks && composite->callbacks->peer_closed)
		composite->callbacks->peer_closed(&composite->session, composite->user);
	else
		nopal__session_close(composite);
}

/* nopal_send said EAGAIN: has it room again? */
static void application_turn_end(struct nopal_composite *composite)
{
	if (!composite->send_blocked || composite->life != NOPAL_LIFE_OPEN ||
	    !nopal__send_has_room(composite->awake, composite->awake->send_refused))
		return;
	composite->send_blocked = false;
	if (composite->callbacks && composite->callbacks->writable)
		composite->callbacks->writable(&composite->session, composite->user);
}

static void application_ended(struct nopal_composite *composite, enum nopal_end end,
			      const char *text)
{
	if (composite->callbacks && composite->callbacks->ended)
		composite->callbacks->ended(&composite->session, end, text, composite->user);
}

const struct nopal_up nopal__application_up = {
	.name = "application",
	.opened = application_opened,
	.pop = application_received,
	.outcome = application_outcome,
	.peer_closed = application_peer_closed,
	.turn_end = application_turn_end,
	.ended = application_ended,
};

/* --------------------------------------------------------- shared callbacks */

/* Sessions are many and sets of callbacks few. */
const struct nopal_callbacks *nopal__callbacks_share(struct nopal_endpoint *endpoint,
						     const struct nopal_callbacks *callbacks)
{
	static const struct nopal_callbacks none;
	struct nopal_shared_callbacks *shared = endpoint->callbacks;

	if (!callbacks)
		return &none;
	while (shared && memcmp(&shared->callbacks, callbacks, sizeof(*callbacks)) != 0)
		shared = shared->next;
	if (!shared) {
		shared = calloc(1, sizeof(*shared));
		if (!shared)
			return NULL;
		shared->callbacks = *callbacks;
		shared->next = endpoint->callbacks;
		endpoint->callbacks = shared;
	}
	shared->sessions++;
	return &shared->callbacks;
}

/* Callbacks of a listener are not among the shared ones. */
void nopal__callbacks_unshare(struct nopal_endpoint *endpoint,
			      const struct nopal_callbacks *callbacks)
{
	struct nopal_shared_callbacks **at = &endpoint->callbacks, *shared;

	while (*at && &(*at)->callbacks != callbacks)
		at = &(*at)->next;
	shared = *at;
	if (!shared || --shared->sessions)
		return;
	*at = shared->next;
	free(shared);
}
