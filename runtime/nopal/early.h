/* SPDX-License-Identifier: MIT */
/*
 * early.h -- early data: messages that travel in the very request to open a session.  Part of
 * microprotocol.h, which includes it.
 *
 * Two parts meet here, and neither knows the other.  The role connection has a place for a block of
 * bytes in its request, and asks when to send, admit and deliver it; a microprotocol with `early` in
 * its handshake extension decides.  What both need of a world is here: tickets, which a listener
 * gives an opener for a later session; the listener's replay guard; messages that wait for their
 * session to open.
 */
#include "microprotocol.h" /* which includes this page in its place */

#ifndef NOPAL_EARLY_H
#define NOPAL_EARLY_H

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------- for the role connection */

/* The opener, before its first request: may messages travel in it?  Then it leaves at the end of
 * this instant, when the application has had a chance to send them. */
bool nopal_early_ready(struct nopal_session *session);
/* The opener: what travels in its requests, at most `room` bytes; the same each time. */
struct nopal_reader nopal_early_pack(struct nopal_session *session, uint32_t room);
/* The opener: the listener did not admit the request.  False: an earlier copy may have been, so
 * nothing can be sent again, and the session has ended. */
bool nopal_early_refused(struct nopal_session *session);
/* A listener without a session: a request with early data, and the reader at its extensions.
 * REPLY: it is to prove its address, as any other. */
enum nopal_admission_verdict nopal_early_admit(const struct nopal_request *request,
					       struct nopal_reader extensions,
					       struct nopal_reader early);
/* The listener's session, when the extensions were read and before the answer is written.  False:
 * the session is refused. */
bool nopal_early_arrived(struct nopal_session *session, struct nopal_reader early);
/* The listener's session is open: what came early is delivered now. */
void nopal_early_deliver(struct nopal_session *session);

/* -------------------------------------- for a microprotocol that has them in its extension */

/* What a listener tells an opener for a later session from the same IP address, for the same
 * composition.  Who has it can prove that; nobody else can. */
struct nopal_ticket {
	int64_t given_ns; /* by the clock of the listener's guard; 0: there is none */
	uint64_t key[2];
};

/* At the listener's session.  `nonces`: how many its replay guard has room for, where this is its
 * first ticket.  False: it gives none. */
bool nopal_ticket_give(struct nopal_session *session, uint32_t nonces,
		       struct nopal_ticket *ret_ticket);
/* At the opener: for the next session to this peer of this world; the oldest of many makes room. */
void nopal_ticket_keep(struct nopal_session *session, const struct nopal_ticket *ticket);
/* False: there is none, or the session is a rendezvous. */
bool nopal_ticket_recall(struct nopal_session *session, struct nopal_ticket *ret_ticket,
			 int64_t *ret_age_ns);
/* The ticket that was given at that time to the sender of the request; false: none was. */
bool nopal_request_ticket(const struct nopal_request *request, int64_t given_ns,
			  struct nopal_ticket *ret_ticket);
/* SipHash-2-4 of these bytes under the ticket's key. */
uint64_t nopal_ticket_hash(const struct nopal_ticket *ticket, const void *bytes, size_t length);

enum nopal_guarded {
	NOPAL_GUARD_UNKNOWN, /* no ticket of this listener since it began, or not of this address */
	NOPAL_GUARD_LATE,    /* not within the window of time */
	NOPAL_GUARD_SEEN,    /* its nonce was admitted before */
	NOPAL_GUARD_FULL,    /* there is no room for its nonce */
	NOPAL_GUARD_NEW,     /* admitted now, and never again */
};
/* Asks the listener's replay guard for a request that left at `sent_ns` of the guard's clock, and
 * counts the answer at the endpoint; `ticket_is_good` false: it is unknown. */
enum nopal_guarded nopal_request_guard(const struct nopal_request *request, bool ticket_is_good,
				       uint64_t nonce, int64_t sent_ns, int64_t window_ns);
/* The same in a session that was admitted without: the nonce is used up.  Nothing is counted. */
enum nopal_guarded nopal_session_guard(struct nopal_session *session, uint64_t nonce,
				       int64_t sent_ns, int64_t window_ns);

/* At the opener, while messages wait for the session to open: writes the first of them, as many as
 * fit, up to one that may not travel early: the property with this slot is 0 (slot 0: all may), or
 * another property is not.  Returns their number.  They are not withdrawn any more. */
uint32_t nopal_early_write(struct nopal_session *session, unsigned slot,
			   struct nopal_writer *writer);
/* Before the session opens: the peer has what was written, or it is sent as any other message. */
void nopal_early_settle(struct nopal_session *session, bool taken);
/* At the listener: delivers what was written. */
void nopal_early_give(struct nopal_session *session, struct nopal_reader messages);

enum { NOPAL_EARLY_TAG_BYTES = 16 };
/* Seals what was written by the composition's seal, in place, under a key that both sides had
 * before and the context, which no other session has; NOPAL_EARLY_TAG_BYTES follow the bytes.
 * Returns the bytes there are then: as many where the composition has no secrets; negative: it has,
 * and no such key. */
int nopal_early_close(struct nopal_session *session, struct nopal_reader context, uint8_t *bytes,
		      uint32_t length);
/* The inverse; negative: the bytes are not the peer's. */
int nopal_early_open(struct nopal_session *session, struct nopal_reader context, uint8_t *bytes,
		     uint32_t length);

#ifdef __cplusplus
}
#endif

#endif
