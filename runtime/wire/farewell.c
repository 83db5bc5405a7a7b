/* SPDX-License-Identifier: MIT */
/*
 * farewell.c -- a session that ends by itself tells its peer why.
 *
 *   ABORT   first byte, id, end 1, text to the end, trailer
 *
 * The farewell leaves when the session is freed, once, and sealed as every datagram of the session.
 * Since it may get lost, the endpoint keeps the last few as they left, and repeats one to the peer
 * that still sends to that session.
 */
#include <string.h>

#include "wire/wire.h"
#include "engine/segment.h"
#include "session/session.h"

enum {
	FAREWELL_SAID_MAX = NOPAL_FAILURE_TEXT - 60, /* of a text that travels */
	FAREWELL_BYTES =
		1 + NOPAL_ID_BYTES + 1 + FAREWELL_SAID_MAX + 64, /* and of the longest trailer */
	FAREWELLS = 16,
};

struct nopal_farewell {
	uint32_t id; /* of the session that ended; 0: this one is free */
	uint32_t length;
	struct nopal_address peer;
	uint8_t bytes[FAREWELL_BYTES];
};

struct nopal_farewells {
	uint32_t next;
	struct nopal_farewell last[FAREWELLS];
};

/* ----------------------------------------------------------------- in bytes */

void nopal_failure_write(struct nopal_writer *writer, const struct nopal_failure *failure)
{
	size_t length = strnlen(failure->text, FAREWELL_SAID_MAX), room;

	nopal_write(writer, failure->end, 1);
	room = (size_t)(writer->end - writer->at);
	nopal_write_bytes(writer, failure->text, length < room ? length : room);
}

bool nopal_failure_read(struct nopal_reader *reader, struct nopal_failure *ret_failure,
			char text[static NOPAL_FAILURE_TEXT])
{
	uint64_t end = nopal_read(reader, 1);
	size_t length = nopal_read_left(reader);
	const uint8_t *bytes = nopal_read_bytes(reader, length);
	const char *head = length ? "the peer aborted: " : "the peer aborted";
	size_t at;

	if (reader->bad || end <= NOPAL_ENDED_WELL || end > NOPAL_ENDS_LAST ||
	    length > FAREWELL_SAID_MAX)
		return false;
	if (end != NOPAL_ABORTED)
		head = "the session broke at the peer: ";
	at = strlen(head);
	memcpy(text, head, at);
	for (size_t i = 0; i < length; i++)
		text[at++] = bytes[i] >= ' ' && bytes[i] < 0x7f ? (char)bytes[i] : '?';
	text[at] = '\0';
	*ret_failure = (struct nopal_failure){ (enum nopal_end)end, text };
	return true;
}

/* -------------------------------------------------------------------- said */

/* The train's last datagram is the one that was packed just now. */
void nopal__farewell_tell(struct nopal_composite *bottom)
{
	const struct nopal_plan *plan = bottom->layer->plan;
	struct nopal_endpoint *endpoint = bottom->endpoint;
	uint8_t body[1 + FAREWELL_SAID_MAX];
	struct nopal_writer writer = nopal_writer_over(body, sizeof(body));
	struct nopal_segment segment = { .kind = NOPAL_KIND_ABORT, .body.bytes = body };
	struct nopal_farewell *kept;
	uint32_t length;

	if (!bottom->peer_known || !bottom->awake || plan->demux == NOPAL_DEMUX_INTEROP)
		return;
	nopal_failure_write(&writer,
			    &(struct nopal_failure){ bottom->end, bottom->awake->end_text
									  ? bottom->awake->end_text
									  : "" });
	segment.body.length = nopal_written(&writer);
	nopal__pack_out(bottom, &segment);
	if (plan->demux != NOPAL_DEMUX_ID || bottom->awake->paths)
		return;
	nopal__train_finish(bottom);
	length = plan->head_bytes + segment.body.length + plan->trailer_bytes;
	if (endpoint->train_of != bottom || endpoint->train_length < length ||
	    length > FAREWELL_BYTES)
		return;
	if (!endpoint->farewells)
		endpoint->farewells = calloc(1, sizeof(*endpoint->farewells));
	if (!endpoint->farewells)
		return;
	kept = &endpoint->farewells->last[endpoint->farewells->next++ % FAREWELLS];
	kept->id = bottom->local_id;
	kept->length = length;
	kept->peer = bottom->peer;
	memcpy(kept->bytes, endpoint->train + endpoint->train_length - length, length);
}

bool nopal__farewell_repeat(struct nopal_endpoint *endpoint, const struct nopal_address *from,
			    uint32_t id, uint32_t longer_than)
{
	const struct nopal_farewell *last = endpoint->farewells ? endpoint->farewells->last : NULL;

	for (unsigned i = 0; last && i < FAREWELLS; i++)
		if (last[i].id == id && last[i].length < longer_than &&
		    nopal_address_equal(&last[i].peer, from)) {
			nopal__endpoint_answer(endpoint, from, last[i].bytes, last[i].length);
			return true;
		}
	return false;
}

/* ------------------------------------------------------------------- heard */

void nopal__farewell_receive(struct nopal_composite *bottom, struct nopal_segment *segment)
{
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	char text[NOPAL_FAILURE_TEXT];
	struct nopal_failure failure;
	bool good = nopal_path_is_open(&bottom->session, segment->path) &&
		    nopal_failure_read(&reader, &failure, text);

	nopal__segment_free(bottom, segment);
	if (good)
		nopal__session_ended_there(bottom, failure.end, failure.text);
	else
		bottom->awake->counters.rx_malformed++;
}
