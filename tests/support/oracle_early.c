/* SPDX-License-Identifier: MIT */
/*
 * oracle_early.c -- messages that may travel in the request to open: before the sessions that are
 * judged another one, of which nobody takes notice, gets the ticket for them on a calm network.
 */
#include "support/oracle.h"

#define BEFORE_NS (100 * NOPAL_MILLISECOND)

static struct nopal_session *before; /* NULL: it has ended */

static void on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
		     void *user)
{
	(void)session, (void)end, (void)text, (void)user;
	before = NULL;
}

bool oracle_has_early(const struct oracle *oracle)
{
	return nopal_property(oracle->plan, "early") != 0;
}

void oracle_get_ticket(struct oracle *oracle)
{
	struct nopal_listener_entry *listener = oracle->endpoint[1]->listeners;
	const struct nopal_listener_entry judged = *listener;
	const struct nopal_callbacks callbacks = { .ended = on_ended };
	struct nopal_address peer;

	listener->callbacks = (struct nopal_callbacks){ 0 };
	listener->user = NULL;
	nopal_endpoint_local(oracle->endpoint[1], &peer);
	before = nopal_open(oracle->endpoint[0], oracle->plan, &peer, &callbacks, NULL);
	nopal_sim_run(oracle->world, BEFORE_NS / 2);
	if (before)
		nopal_session_abort(before, "it has its ticket");
	nopal_sim_run(oracle->world, BEFORE_NS);
	listener->callbacks = judged.callbacks;
	listener->user = judged.user;
}
