/* SPDX-License-Identifier: MIT */
/*
 * request.h -- requests to open, before there is a session: of handshake.c and interop.c.
 */
#ifndef NOPAL_REQUEST_H
#define NOPAL_REQUEST_H

#include "session/endpoint_sessions.h"

/* What nopal_request.context points to. */
struct request_context {
	const struct nopal_endpoint *endpoint;
	const struct nopal_address *from;
};

/* Of a datagram, all of which is still to be read. */
static inline struct nopal_request nopal__request(const struct request_context *context,
						  const uint8_t *bytes, uint32_t length)
{
	return (struct nopal_request){
		.body = nopal_reader_over(bytes, length),
		.datagram_bytes = length,
		.now_ns = context->endpoint->port.world->now_ns,
		.context = context,
		.half_open = context->endpoint->half_open,
	};
}

/* A session for what asks, without more ado; NULL: there is no room. */
struct nopal_composite *nopal__accept_at_once(struct nopal_endpoint *endpoint,
					      const struct nopal_listener_entry *entry,
					      const struct nopal_request *request);

#endif
