/* SPDX-License-Identifier: MIT */
/*
 * early.c -- early data: what the role connection and a microprotocol with early data need of each
 * other, of the listener and of the messages that wait.
 *
 *   opener                                      listener
 *   a session, as any other ------------------>
 *     <------------------------- its ticket: a time, and a key made of it, of the opener's
 *                                IP address and of the composition
 *   the next session:
 *   request + messages + proof by the key -----> the guard admits its nonce once:
 *     <------------------------------ answer     delivered, and said to be taken
 *
 * A message that travels early passes no other microprotocol: at the opener it waits for the session
 * to open, as all do, and is done when the answer says that it was taken; at the listener it is
 * delivered when the session has opened, before any segment.
 */
#include <string.h>

#include "wire/wire.h"
#include "wire/guard.h"
#include "engine/message.h"
#include "registry/registry.h"

enum { EARLY_LENGTH_BYTES = 2 }; /* before each message */

/* --------------------------------------------------------- the part that has it */

static bool early_at(struct nopal_session *session, struct nopal_at *ret_at)
{
	uint32_t behind;

	*ret_at = (struct nopal_at){ session,
				     nopal__early_part(nopal__composite(session)->layer, &behind) };
	return ret_at->part != NULL;
}

static const struct nopal_early *early_of(const struct nopal_part *part)
{
	return part->microprotocol->extension->early;
}

bool nopal_early_ready(struct nopal_session *session)
{
	struct nopal_at at;

	return early_at(session, &at) && early_of(at.part)->ready(at);
}

struct nopal_reader nopal_early_pack(struct nopal_session *session, uint32_t room)
{
	struct nopal_at at;

	return early_at(session, &at) ? early_of(at.part)->pack(at, room)
				      : (struct nopal_reader){ 0 };
}

bool nopal_early_refused(struct nopal_session *session)
{
	struct nopal_at at;

	return !early_at(session, &at) || early_of(at.part)->refused(at);
}

enum nopal_admission_verdict nopal_early_admit(const struct nopal_request *request,
					       struct nopal_reader extensions,
					       struct nopal_reader early)
{
	const struct request_context *context = request->context;
	const struct nopal_listener_entry *entry =
		nopal__listener_of(context->endpoint, request->fingerprint);
	const struct nopal_plan *plan = entry ? entry->plan : NULL;
	struct nopal_at at = { 0 };
	const uint8_t *bytes;
	uint32_t behind;

	if (plan)
		at.part = nopal__early_part(&plan->layers[plan->layer_count - 1], &behind);
	if (!at.part || !nopal_read_bytes(&extensions, behind))
		return NOPAL_ADMIT_DROP;
	bytes = nopal_read_bytes(&extensions, at.part->microprotocol->extension->bytes);
	return bytes ? early_of(at.part)->admit(at, request, bytes, early) : NOPAL_ADMIT_DROP;
}

bool nopal_early_arrived(struct nopal_session *session, struct nopal_reader early)
{
	struct nopal_at at;

	return !early_at(session, &at) || early_of(at.part)->arrived(at, early);
}

void nopal_early_deliver(struct nopal_session *session)
{
	struct nopal_at at;

	if (nopal__composite(session)->life != NOPAL_LIFE_ENDED && early_at(session, &at))
		early_of(at.part)->deliver(at);
}

/* ------------------------------------------------------------ tickets and guard */

/* Both halves of the key; of the address without its port, which a NAT may change. */
static void ticket_make(const struct nopal_guard *guard, const struct nopal_address *opener,
			uint64_t fingerprint, int64_t given_ns, struct nopal_ticket *ret_ticket)
{
	uint8_t bytes[64];

	ret_ticket->given_ns = given_ns;
	for (unsigned half = 0; half < 2; half++) {
		struct nopal_writer writer = nopal_writer_over(bytes, sizeof(bytes));

		nopal_write(&writer, half, 1);
		nopal_write_bytes(&writer, opener->ip, sizeof(opener->ip));
		nopal_write(&writer, fingerprint, sizeof(fingerprint));
		nopal_write(&writer, (uint64_t)given_ns, sizeof(given_ns));
		ret_ticket->key[half] = nopal__guard_hash(guard, bytes, nopal_written(&writer));
	}
}

static struct nopal_guard *guard_of(const struct nopal_session *session)
{
	const struct nopal_composite *bottom = nopal__bottom(nopal__composite(session));
	const struct nopal_listener_entry *entry =
		nopal__listener_of(bottom->endpoint, bottom->layer->plan->info.fingerprint);

	return entry ? entry->guard : NULL;
}

bool nopal_ticket_give(struct nopal_session *session, uint32_t nonces,
		       struct nopal_ticket *ret_ticket)
{
	const struct nopal_composite *bottom = nopal__bottom(nopal__composite(session));
	uint64_t fingerprint = bottom->layer->plan->info.fingerprint, key[2];
	struct nopal_listener_entry *entry = nopal__listener_of(bottom->endpoint, fingerprint);

	if (!entry)
		return false;
	if (!entry->guard) {
		nopal_random_bytes(session, key, sizeof(key));
		entry->guard = nopal__guard_new(nonces, key, session->now_ns);
	}
	if (!entry->guard)
		return false;
	ticket_make(entry->guard, &bottom->peer, fingerprint,
		    nopal__guard_clock(entry->guard, session->now_ns), ret_ticket);
	return true;
}

void nopal_ticket_keep(struct nopal_session *session, const struct nopal_ticket *ticket)
{
	const struct nopal_composite *bottom = nopal__bottom(nopal__composite(session));

	nopal__tickets_keep(bottom->world, &bottom->peer, bottom->layer->plan->info.fingerprint,
			    ticket);
}

bool nopal_ticket_recall(struct nopal_session *session, struct nopal_ticket *ret_ticket,
			 int64_t *ret_age_ns)
{
	const struct nopal_composite *bottom = nopal__bottom(nopal__composite(session));

	return !bottom->rendezvous &&
	       nopal__tickets_recall(bottom->world, &bottom->peer,
				     bottom->layer->plan->info.fingerprint, ret_ticket, ret_age_ns);
}

bool nopal_request_ticket(const struct nopal_request *request, int64_t given_ns,
			  struct nopal_ticket *ret_ticket)
{
	const struct request_context *context = request->context;
	const struct nopal_listener_entry *entry =
		nopal__listener_of(context->endpoint, request->fingerprint);

	if (!entry || !entry->guard || given_ns <= 0 ||
	    given_ns > nopal__guard_clock(entry->guard, request->now_ns))
		return false;
	ticket_make(entry->guard, context->from, request->fingerprint, given_ns, ret_ticket);
	return true;
}

uint64_t nopal_ticket_hash(const struct nopal_ticket *ticket, const void *bytes, size_t length)
{
	return nopal__siphash(ticket->key, bytes, length);
}

enum nopal_guarded nopal_request_guard(const struct nopal_request *request, bool ticket_is_good,
				       uint64_t nonce, int64_t sent_ns, int64_t window_ns)
{
	const struct request_context *context = request->context;
	struct nopal_endpoint_counters *counters = &context->endpoint->port.counters;
	uint64_t *const counter[] = {
		[NOPAL_GUARD_UNKNOWN] = &counters->early_unknown,
		[NOPAL_GUARD_LATE] = &counters->early_late,
		[NOPAL_GUARD_SEEN] = &counters->early_replayed,
		[NOPAL_GUARD_FULL] = &counters->early_full,
		[NOPAL_GUARD_NEW] = &counters->early_admitted,
	};
	enum nopal_guarded guarded = NOPAL_GUARD_UNKNOWN;

	if (ticket_is_good) {
		struct nopal_guard *guard =
			nopal__listener_of(context->endpoint, request->fingerprint)->guard;

		guarded = nopal__guard_admit(guard, nonce, sent_ns,
					     nopal__guard_clock(guard, request->now_ns), window_ns);
	}
	++*counter[guarded];
	return guarded;
}

enum nopal_guarded nopal_session_guard(struct nopal_session *session, uint64_t nonce,
				       int64_t sent_ns, int64_t window_ns)
{
	struct nopal_guard *guard = guard_of(session);

	return guard ? nopal__guard_admit(guard, nonce, sent_ns,
					  nopal__guard_clock(guard, session->now_ns), window_ns)
		     : NOPAL_GUARD_UNKNOWN;
}

/* ------------------------------------------------------- messages, at the opener */

/* The application has said nothing of the message but that it may travel early. */
static bool may_be_early(const struct nopal_composite *composite,
			 const struct nopal_message *message, unsigned slot)
{
	uint64_t said = composite->layer->plan->properties;

	if (message->urgent || (slot && !message->attribute[slot]))
		return false;
	for (; said; said &= said - 1) {
		unsigned other = (unsigned)__builtin_ctzll(said);

		if (other != slot && message->attribute[other])
			return false;
	}
	return true;
}

uint32_t nopal_early_write(struct nopal_session *session, unsigned slot,
			   struct nopal_writer *writer)
{
	struct nopal_composite *composite = nopal__composite(session);
	const struct nopal_awake *awake = composite->awake;
	uint32_t written = 0;

	for (; written < awake->waiting_open_count; written++) {
		struct nopal_message *message =
			nopal_message_find(session, awake->waiting_open[written]);
		size_t room = (size_t)(writer->end - writer->at);

		if (!message || !may_be_early(composite, message, slot) ||
		    EARLY_LENGTH_BYTES + message->length > room)
			break;
		message->early = true;
		nopal_write(writer, message->length, EARLY_LENGTH_BYTES);
		nopal_write_bytes(writer, message->one.bytes, message->length);
	}
	return written;
}

void nopal_early_settle(struct nopal_session *session, bool taken)
{
	const struct nopal_awake *awake = nopal__composite(session)->awake;

	for (uint32_t i = 0; i < awake->waiting_open_count; i++) {
		struct nopal_message *message = nopal_message_find(session, awake->waiting_open[i]);

		if (message)
			message->early &= taken;
	}
}

/* ----------------------------------------------------- messages, at the listener */

static void deliver(struct nopal_composite *composite, const uint8_t *bytes, uint32_t length)
{
	struct nopal_buffer *buffer = nopal_buffer_new(length);
	struct nopal_message *message = buffer ? nopal__message_make(composite, length) : NULL;

	if (!message) {
		nopal_buffer_unref(buffer);
		nopal_session_break(&composite->session, NOPAL_RESOURCE,
				    "no room for a message that came early");
		return;
	}
	if (length)
		memcpy(buffer->bytes, bytes, length);
	message->one = (struct nopal_body){ buffer, buffer->bytes, length };
	message->fragments = 1;
	message->incoming = message->delivered = message->early = true;
	message->pins++;
	composite->awake->counters.messages_delivered++;
	composite->awake->counters.bytes_delivered += length;
	nopal__record(composite, NOPAL_TRACED_DELIVER, UINT8_MAX, 0, message->number, length);
	nopal__up(composite)->pop(composite, message);
	message->settled |= !message->kept;
	nopal__message_unpin(composite, message);
}

void nopal_early_give(struct nopal_session *session, struct nopal_reader messages)
{
	struct nopal_composite *composite = nopal__composite(session);

	while (nopal_read_left(&messages) && composite->life != NOPAL_LIFE_ENDED) {
		uint32_t length = (uint32_t)nopal_read(&messages, EARLY_LENGTH_BYTES);
		const uint8_t *bytes = nopal_read_bytes(&messages, length);

		if (messages.bad)
			return;
		deliver(composite, bytes, length);
	}
}

/* --------------------------------------------------------------------- the seal */

/* The part that seals; `*ret_open`: without one, or by one that keeps no secrets, the bytes travel as
 * they are. */
static const struct nopal_part *early_seal(const struct nopal_session *session, bool *ret_open)
{
	const struct nopal_part *part = nopal__composite(session)->layer->plan->seal;

	*ret_open = !part || !nopal__answers(part->microprotocol, "confidentiality");
	return part;
}

int nopal_early_close(struct nopal_session *session, struct nopal_reader context, uint8_t *bytes,
		      uint32_t length)
{
	bool open;
	const struct nopal_part *part = early_seal(session, &open);

	if (open)
		return (int)length;
	if (!part->microprotocol->seal->close_early ||
	    !part->microprotocol->seal->close_early((struct nopal_at){ session, part }, context,
						    bytes, length))
		return -1;
	return (int)length + NOPAL_EARLY_TAG_BYTES;
}

int nopal_early_open(struct nopal_session *session, struct nopal_reader context, uint8_t *bytes,
		     uint32_t length)
{
	bool open;
	const struct nopal_part *part = early_seal(session, &open);

	if (open)
		return (int)length;
	if (length < NOPAL_EARLY_TAG_BYTES || !part->microprotocol->seal->open_early ||
	    !part->microprotocol->seal->open_early((struct nopal_at){ session, part }, context,
						   bytes, length - NOPAL_EARLY_TAG_BYTES))
		return -1;
	return (int)length - NOPAL_EARLY_TAG_BYTES;
}
