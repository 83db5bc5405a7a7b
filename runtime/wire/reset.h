/* SPDX-License-Identifier: MIT */
/*
 * reset.h -- answers to datagrams of sessions that are not known, and their proof: reset.c.
 */
#ifndef NOPAL_RESET_H
#define NOPAL_RESET_H

#include "session/endpoint_sessions.h"

enum {
	NOPAL_RESET_TOKEN_BYTES = 16,
	NOPAL_RESET_PROOF_BYTES = 16,
};

/* Do the sessions of the plan know resets? */
static inline bool nopal__plan_resets(const struct nopal_plan *plan)
{
	return plan->admission && plan->demux == NOPAL_DEMUX_ID;
}

/* Draws the key from the endpoint's secret. */
void nopal__reset_key_draw(struct nopal_endpoint *endpoint);
/* NOPAL_RESET_PROOF_BYTES of an opening: our own, and the peer's. */
void nopal__proof_write(struct nopal_composite *bottom, struct nopal_writer *writer);
bool nopal__proof_read(struct nopal_composite *bottom, struct nopal_reader *reader);

#define NOPAL_TEXT_RESTARTED "the peer knows nothing of this session any more (it was restarted?)"
/* The peer knows nothing of the session. */
void nopal__peer_restarted(struct nopal_composite *bottom);

/* A datagram of an established kind came for no session. */
void nopal__stray_receive(struct nopal_endpoint *endpoint, const struct nopal_address *from,
			  uint8_t kind, const uint8_t *bytes, uint32_t length);
void nopal__reset_receive(struct nopal_endpoint *endpoint, const struct nopal_address *from,
			  const uint8_t *bytes, uint32_t length);

#endif
