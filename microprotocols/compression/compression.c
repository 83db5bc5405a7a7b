/* SPDX-License-Identifier: MIT */
/*
 * compression -- messages travel shorter where they can.
 *
 * Each message is compressed by itself: none waits for another, and any may be lost.  A message
 * that would not become shorter travels as it is.
 *
 * An arriving message is discarded, and counted so, where it claims a length above `most`, or above
 * the length that its bytes could stand for, and where its bytes are not the compressed form of
 * exactly that length.
 *
 * Paper:     none: in Cactus a service of its own, data compression.
 * Differs:   no dictionary, and no memory of earlier messages.
 * Wire:      where `compressed` is 1, the message is its length (varint) and its compressed form.
 *
 * Flow control counts the compressed form.
 */
#include <errno.h>

#include <nopal/microprotocol.h>

#include "codec.h"

enum { COMPRESSION_ZSTD, COMPRESSION_LZ4 };	      /* algorithms */
enum { COMPRESSION_COMPRESSED };		      /* attributes */
enum { COMPRESSION_UNMET };			      /* shared variables */
enum { COMPRESSION_AS_IT_WAS, COMPRESSION_SQUEEZED }; /* values on the wire */

struct compression_parameters {
	int64_t algorithm, level, min, max, single_secret;
};

static const struct nopal__codec *compression_codec(const struct compression_parameters *set)
{
	return set->algorithm == COMPRESSION_LZ4 ? &nopal__codec_lz4 : &nopal__codec_zstd;
}

/* Length and compressed form have room for less than the message itself. */
static enum nopal_verdict compression_on_from_user(struct nopal_at at,
						   struct nopal_message *message)
{
	const struct compression_parameters *set = nopal_parameters(at);
	struct nopal__codec_memory *memory = nopal_state(at);
	struct nopal_body body = { 0 };
	struct nopal_writer writer;
	size_t bytes = 0;

	nopal_set(at, message, COMPRESSION_COMPRESSED, COMPRESSION_AS_IT_WAS);
	if (message->length < (uint64_t)set->min || message->length > (uint64_t)set->max)
		return NOPAL_CONTINUE;
	body.buffer = nopal_body_buffer(at.session, (uint32_t)message->length);
	if (!body.buffer)
		return NOPAL_CONTINUE;
	writer = nopal_writer_over(body.buffer->bytes, message->length - 1);
	nopal_write_varint(&writer, message->length);
	if (!writer.full)
		bytes = compression_codec(set)->squeeze(
			at.session, memory, (int)set->level, message->one.bytes, message->length,
			writer.at, (size_t)(writer.end - writer.at));
	body.bytes = writer.start;
	body.length = nopal_written(&writer) + (uint32_t)bytes;
	if (!bytes)
		nopal_buffer_unref(body.buffer);
	else if (nopal_message_replace(at.session, message, body))
		nopal_set(at, message, COMPRESSION_COMPRESSED, COMPRESSION_SQUEEZED);
	return NOPAL_CONTINUE;
}

/* ------------------------------------------------------------------ as it was */

/* The bytes of the message in one piece; a reference of the caller's. */
static bool compression_gather(struct nopal_session *session, const struct nopal_message *message,
			       struct nopal_body *ret_body)
{
	struct nopal_writer writer;

	*ret_body = message->fragment[0];
	if (message->fragments == 1) {
		nopal_buffer_ref(ret_body->buffer);
		return true;
	}
	ret_body->buffer = nopal_body_buffer(session, (uint32_t)message->length);
	if (!ret_body->buffer)
		return false;
	ret_body->bytes = ret_body->buffer->bytes;
	ret_body->length = (uint32_t)message->length;
	writer = nopal_writer_over(ret_body->buffer->bytes, message->length);
	for (uint32_t i = 0; i < message->fragments; i++)
		nopal_write_bytes(&writer, message->fragment[i].bytes, message->fragment[i].length);
	return true;
}

enum compression_outcome {
	COMPRESSION_DONE,
	COMPRESSION_NONSENSE,
	COMPRESSION_NO_MEMORY,
};

static enum compression_outcome compression_expand(struct nopal_at at,
						   struct nopal_message *message,
						   struct nopal_reader reader)
{
	const struct compression_parameters *set = nopal_parameters(at);
	struct nopal__codec_memory *memory = nopal_state(at);
	uint64_t claim = nopal_read_varint(&reader);
	uint64_t could = nopal_read_left(&reader) * compression_codec(set)->max_expansion;
	struct nopal_body body = { .length = (uint32_t)claim };
	int failed;

	if (reader.bad || !claim || claim > (uint64_t)set->max || claim > could)
		return COMPRESSION_NONSENSE;
	body.buffer = nopal_body_buffer(at.session, body.length);
	if (!body.buffer)
		return COMPRESSION_NO_MEMORY;
	body.bytes = body.buffer->bytes;
	failed = compression_codec(set)->expand(at.session, memory, reader.at,
						nopal_read_left(&reader), body.buffer->bytes,
						body.length);
	if (failed) {
		nopal_buffer_unref(body.buffer);
		return failed == -ENOMEM ? COMPRESSION_NO_MEMORY : COMPRESSION_NONSENSE;
	}
	return nopal_message_replace(at.session, message, body) ? COMPRESSION_DONE
								: COMPRESSION_NO_MEMORY;
}

static enum nopal_verdict compression_on_to_user(struct nopal_at at, struct nopal_message *message)
{
	uint64_t form = nopal_get(at, message, COMPRESSION_COMPRESSED);
	enum compression_outcome outcome = COMPRESSION_NONSENSE;
	struct nopal_body body;

	if (form == COMPRESSION_AS_IT_WAS)
		return NOPAL_CONTINUE;
	if (form == COMPRESSION_SQUEEZED) {
		outcome = COMPRESSION_NO_MEMORY;
		if (compression_gather(at.session, message, &body)) {
			outcome = compression_expand(at, message, nopal_body_reader(&body));
			nopal_buffer_unref(body.buffer);
		}
	}
	if (outcome == COMPRESSION_DONE)
		return NOPAL_CONTINUE;
	nopal_message_discard(at.session, message);
	if (outcome == COMPRESSION_NO_MEMORY && nopal_shared_get(at, COMPRESSION_UNMET))
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "no room for a message that arrived");
	return NOPAL_STOP;
}

static void compression_idle(struct nopal_at at)
{
	const struct compression_parameters *set = nopal_parameters(at);
	struct nopal__codec_memory *memory = nopal_state(at);

	compression_codec(set)->idle(at.session, memory);
}

static void compression_validate(const void *parameters, struct nopal_problems *problems)
{
	const struct compression_parameters *set = parameters;
	const struct nopal__codec *codec = compression_codec(set);

	if (!codec->built)
		nopal_problem(problems, "algorithm", "this nopal was built without it",
			      "take the other one, or build with libzstd and liblz4");
	else if (set->level > codec->max_level)
		nopal_problem(problems, "level", "the algorithm has no such level",
			      "at most 19 for zstd, 12 for lz4");
}

const struct nopal_microprotocol nopal_compression = {
	NOPAL_DESCRIBE(compression, compression, "messages travel shorter where they can"),
	.many = true,
	.provides = NOPAL_ROLES({ "compression", true }),
	.excludes = NOPAL_RELATIONS({ "confidentiality",
				      "how short a message became tells of its secrets",
				      .unless = "single_secret" }),
	/* The same of what a layer below seals. */
	.promises = NOPAL_PROMISES(
		{ NOPAL_INTEGRITY, NOPAL_OPENING_STAGE, NOPAL_FORBIDS, NOPAL_READERS,
		  "how short a message became tells of its secrets", .when = "!single_secret" }),
	.parameters_size = sizeof(struct compression_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_WORDS(compression, algorithm, "algorithm", "zstd", "zstd|lz4",
			    "how: zstd shortens more, lz4 works less", .wire = true),
		NOPAL_NUMBER(compression, level, "level", COUNT, "1", "1", "19",
			     "of effort, to 19 for zstd, to 12 for lz4"),
		NOPAL_NUMBER(compression, min, "least", SIZE, "64B", "1B", "1GiB",
			     "shorter messages are left alone"),
		NOPAL_NUMBER(compression, max, "most", SIZE, "16MiB", "1B", "1GiB",
			     "longer messages are left alone, and refused", .wire = true),
		NOPAL_ON_OFF(
			compression, single_secret, "single_secret", "off",
			"nobody can put text beside a secret and see how long the message became")),
	.validate = compression_validate,
	.attributes =
		NOPAL_ATTRIBUTES([COMPRESSION_COMPRESSED] = { "compressed", NOPAL_WRITE,
							      "1: a length and the compressed form",
							      .wire_bytes = 1,
							      .kinds = NOPAL_DATA }),
	.shared = NOPAL_SHARED(
		[COMPRESSION_UNMET] = { "reliability_unmet", NOPAL_READ_OPTIONAL, 0,
					"1: no memory for a message breaks the session" }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(MSG_FROM_USER, compression_on_from_user, .before = "message_segments"),
		NOPAL_ON(MSG_TO_USER, compression_on_to_user)),
	.raises = NOPAL_RAISES("SESSION_BROKEN"),
	.state_size = sizeof(struct nopal__codec_memory),
	.idle = compression_idle,
};
