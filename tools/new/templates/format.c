/* SPDX-License-Identifier: MIT */
/*
 * sample -- a header of four bytes: a magic number, the message number.
 *
 *   0           2               4
 *   |  magic    |  number       |  bytes of the message
 *
 * Paper:     none.
 * Wire:      magic 2; low bytes of message_number, 2.
 */
#include <nopal/microprotocol.h>

enum { SAMPLE_NUMBER }; /* its attributes */
enum { SAMPLE_MAGIC = 0x4e4f, SAMPLE_FIELD_BYTES = 2, SAMPLE_HEADER_BYTES = 4 };

struct sample {
	uint64_t sent;	  /* messages that the application sent */
	uint64_t highest; /* number that arrived */
};

static enum nopal_verdict sample_on_sent(struct nopal_at at, struct nopal_message *message)
{
	struct sample *self = nopal_state(at);

	nopal_set(at, message, SAMPLE_NUMBER, ++self->sent);
	return NOPAL_CONTINUE;
}

static void sample_pack(struct nopal_at at, const struct nopal_segment *segment,
			struct nopal_writer *writer)
{
	nopal_write(writer, SAMPLE_MAGIC, SAMPLE_FIELD_BYTES);
	nopal_write(writer, nopal_get(at, segment, SAMPLE_NUMBER), SAMPLE_FIELD_BYTES);
}

/* Datagrams may be anybody's: one that is not of this format is dropped, and counted. */
static bool sample_unpack(struct nopal_at at, struct nopal_segment *segment,
			  struct nopal_reader *reader)
{
	struct sample *self = nopal_state(at);
	uint64_t magic = nopal_read(reader, SAMPLE_FIELD_BYTES);
	uint16_t low = (uint16_t)nopal_read(reader, SAMPLE_FIELD_BYTES);
	/* The number with these low bytes that is nearest to the highest. */
	int16_t ahead = (int16_t)(uint16_t)(low - (uint16_t)self->highest);
	int64_t number = (int64_t)self->highest + ahead;

	if (reader->bad || magic != SAMPLE_MAGIC || number <= 0)
		return false;
	if (ahead > 0)
		self->highest = (uint64_t)number;
	nopal_set(at, segment, SAMPLE_NUMBER, (uint64_t)number);
	return true;
}

const struct nopal_microprotocol nopal_sample = {
	NOPAL_DESCRIBE(sample, format,
		       "a header of four bytes: a magic number, the message number"),
	.provides = NOPAL_ROLES({ "data_format", true }, { "message_numbers", true }),
	.needs =
		NOPAL_RELATIONS({ .role = "network", .because = "it writes headers of datagrams" }),
	.excludes = NOPAL_RELATIONS(
		{ .role = "integrity", .because = "its trailer would be part of the message" }),
	.promises = NOPAL_PROMISES(NOPAL_NAMELESS_FORMAT),
	.attributes = NOPAL_ATTRIBUTES([SAMPLE_NUMBER] = { "message_number", NOPAL_WRITE,
							   "of the message, from 1",
							   .wire_bytes = SAMPLE_FIELD_BYTES,
							   .kinds = NOPAL_DATA }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(MSG_FROM_USER, sample_on_sent, .before = "message_segments")),
	.state_size = sizeof(struct sample),
	.format = &(const struct nopal_format){ .interop = true,
						.bytes = SAMPLE_HEADER_BYTES,
						.carries = (const char *const[]){ "message_number",
										  NULL },
						.pack = sample_pack,
						.unpack = sample_unpack },
};
