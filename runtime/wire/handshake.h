/* SPDX-License-Identifier: MIT */
/*
 * handshake.h -- requests that arrive for no session yet, and their replies: handshake.c.
 */
#ifndef NOPAL_HANDSHAKE_H
#define NOPAL_HANDSHAKE_H

#include "session/endpoint_sessions.h"

/* Of nopal_request.context. */
struct request_context {
	struct nopal_endpoint *endpoint;
	const struct nopal_address *from;
};

/* Bytes of the handshake extensions of a layer: extensions.c. */
uint32_t nopal__extensions_bytes(const struct nopal_layer *layer);
uint64_t nopal__opening_key(const struct nopal_endpoint *endpoint, const struct nopal_address *from,
			    uint32_t peer_id);
/* A session for a peer of another protocol; NULL: no listener takes it. */
struct nopal_composite *nopal__interop_accept(struct nopal_endpoint *endpoint,
					      const struct nopal_address *from,
					      const uint8_t *bytes, uint32_t length);
void nopal__opening_receive(struct nopal_endpoint *endpoint, const struct nopal_address *from,
			    struct nopal_buffer *buffer, uint8_t *bytes, uint32_t length);
void nopal__reply_receive(struct nopal_composite *composite, struct nopal_buffer *buffer,
			  uint8_t *bytes, uint32_t length);
void nopal__opening_pack(struct nopal_composite *composite, const struct nopal_segment *segment);

#endif
