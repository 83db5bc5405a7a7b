/* SPDX-License-Identifier: MIT */
#include "forge_early.h"

#include "base/bytes.h"
#include "wire/wire.h"

#include "../../microprotocols/base/early_data.h"
#include "../../microprotocols/base/handshake.h"

enum { REQUEST_HEAD = 1 + NOPAL_ID_BYTES + NOPAL_FINGERPRINT_BYTES + NOPAL_CHECK_BYTES };

/* Parts of a request with early data. */
struct early_request {
	uint8_t *extension; /* EARLY_DATA_BYTES */
	struct nopal_reader early;
	struct early_data_head head;
	uint32_t id;
};

static bool request_read(const struct arena *arena, const struct arena_datagram *datagram,
			 struct early_request *ret_request)
{
	const struct nopal_layer *layer = &arena->plan->layers[arena->plan->layer_count - 1];
	struct nopal_reader body = nopal_reader_over(datagram->bytes, datagram->length), known;
	struct handshake_connect connect;
	const uint8_t *extension;
	uint32_t behind, bytes = nopal__extensions_bytes(layer);
	uint64_t proof;
	uint8_t kind;

	nopal_read_bytes(&body, REQUEST_HEAD);
	if (body.bad || !nopal__first_byte_parse(datagram->bytes[0], &kind) ||
	    kind != NOPAL_KIND_CONNECT || !nopal__early_part(layer, &behind) ||
	    !handshake_read_connect(body, bytes, &connect, &known))
		return false;
	ret_request->early = handshake_early(body, known);
	known.at = known.end - bytes;
	nopal_read_bytes(&known, behind);
	extension = nopal_read_bytes(&known, EARLY_DATA_BYTES);
	if (!extension || !nopal_read_left(&ret_request->early) ||
	    !early_data_read_head(extension, &ret_request->head, &proof))
		return false;
	ret_request->extension = (uint8_t *)(uintptr_t)extension;
	ret_request->id = (uint32_t)nopal__get(datagram->bytes + 1, NOPAL_ID_BYTES);
	return true;
}

void forge_early(const struct arena *arena, struct arena_datagram *datagram)
{
	struct request_context context = { arena->acceptor[0], &datagram->from };
	const struct nopal_request at_listener = {
		.context = &context,
		.fingerprint = arena->plan->info.fingerprint,
		.now_ns = nopal_world_now(arena->world),
	};
	struct early_request request;
	struct nopal_ticket ticket;

	if (request_read(arena, datagram, &request) &&
	    nopal_request_ticket(&at_listener, request.head.given_ns, &ticket))
		nopal__put(request.extension + EARLY_DATA_HEAD_BYTES,
			   early_data_proof(&ticket, &request.head, request.id, request.early),
			   EARLY_DATA_BYTES - EARLY_DATA_HEAD_BYTES);
}

bool forge_early_nonce(const struct arena *arena, const struct arena_datagram *datagram,
		       uint64_t *ret_nonce)
{
	struct early_request request;

	if (!request_read(arena, datagram, &request))
		return false;
	*ret_nonce = request.head.nonce;
	return true;
}
