/* SPDX-License-Identifier: MIT */
/*
 * interop.c -- who speaks another protocol opens a session: by its first datagram, or by a
 * handshake of that protocol, whose answers are the session's own.
 */
#include "wire/handshake.h"
#include "wire/request.h"
#include "wire/wire.h"

static bool interop_opens(const struct nopal_plan *plan, struct nopal_reader datagram)
{
	const struct nopal_format *format = plan->format->microprotocol->format;
	uint8_t kind;

	if (format->opens && !format->opens((struct nopal_at){ .part = plan->format }, datagram))
		return false;
	if (!plan->admission)
		return !format->kind_of ||
		       format->kind_of((struct nopal_at){ .part = plan->format }, datagram) < 0;
	kind = nopal__interop_kind(plan, datagram.at, (uint32_t)nopal_read_left(&datagram));
	return plan->kinds[kind].class == NOPAL_KIND_OPENING;
}

/* Nothing but a session answers there. */
static bool interop_admits(const struct nopal_plan *plan, struct nopal_request *request)
{
	const struct nopal_part *part = plan->admission;
	struct nopal_writer nowhere = { 0 };

	return !part ||
	       part->microprotocol->admission->admit((struct nopal_at){ .part = part }, request,
						     &nowhere) == NOPAL_ADMIT_ACCEPT;
}

struct nopal_composite *nopal__interop_accept(struct nopal_endpoint *endpoint,
					      const struct nopal_address *from,
					      const uint8_t *bytes, uint32_t length)
{
	struct request_context context = { endpoint, from };
	struct nopal_request request = nopal__request(&context, bytes, length);

	endpoint->port.counters.requests++;
	for (const struct nopal_listener_entry *entry = endpoint->listeners; entry;
	     entry = entry->next)
		if (interop_opens(entry->plan, request.body) &&
		    interop_admits(entry->plan, &request))
			return nopal__accept_at_once(endpoint, entry, &request);
	endpoint->port.counters.refused++;
	return NULL;
}
