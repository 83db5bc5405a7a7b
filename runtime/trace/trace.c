/* SPDX-License-Identifier: MIT */
/*
 * trace.c -- the writer of traces; trace.h has the form of the file.
 *
 * A record is hashed, and where there is a file put into a buffer that is written as one chunk when
 * it is full.  What is in the buffer when the process is killed is lost; what was written stays
 * readable.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/trace.h"
#include "base/text.h"
#include "base/vector.h"
#include "plan/plan.h"
#include "ports/world.h"

/* Odd words for mixing: fractions of the golden ratio and of the square roots of 2, 3, 5 and 7. */
#define MIX_STEP    UINT64_C(0x9e3779b97f4a7c15)
#define MIX_TIME    UINT64_C(0x6a09e667f3bcc909)
#define MIX_WHAT    UINT64_C(0xbb67ae8584caa73b)
#define MIX_SUBJECT UINT64_C(0x3c6ef372fe94f82b)
#define MIX_DETAIL  UINT64_C(0xa54ff53a5f1d36f1)

enum {
	BUFFER_RECORDS = 2048, /* 64 KiB: one write costs little a record */
	BUFFER_BYTES = NOPAL_TRACE_CHUNK_BYTES + BUFFER_RECORDS * NOPAL_TRACE_RECORD_BYTES,
	FILE_MODE = 0666, /* the umask takes its part */
};

/* ----------------------------------------------------------------- file */

static void trace_fail(struct nopal_tracer *tracer, int error)
{
	if (!tracer->error)
		tracer->error = error;
	tracer->failed = true;
}

static void trace_write(struct nopal_tracer *tracer, const void *bytes, size_t length)
{
	const char *at = bytes;

	while (length && !tracer->failed) {
		ssize_t written = write(tracer->file, at, length);

		if (written > 0) {
			at += written;
			length -= (size_t)written;
		} else if (written == 0) {
			trace_fail(tracer, -EIO);
		} else if (errno != EINTR) {
			trace_fail(tracer, -errno);
		}
	}
}

static void trace_chunk_head(uint8_t *at, enum nopal__trace_chunk type, size_t length)
{
	nopal__trace_store(at, type, 4);
	nopal__trace_store(at + 4, length, 4);
}

static void trace_flush(struct nopal_tracer *tracer)
{
	uint32_t length = tracer->used - NOPAL_TRACE_CHUNK_BYTES;

	if (!length)
		return;
	trace_chunk_head(tracer->buffer, NOPAL_CHUNK_RECORDS, length);
	trace_write(tracer, tracer->buffer, tracer->used);
	tracer->used = NOPAL_TRACE_CHUNK_BYTES;
}

/* -------------------------------------------------------------- records */

static inline uint64_t trace_rotate(uint64_t word, int bits)
{
	return word << bits | word >> (64 - bits);
}

/* As nopal__trace_store with 8 bytes; written out, it is one instruction. */
static inline void trace_store(uint8_t *at, uint64_t value)
{
	at[0] = (uint8_t)value;
	at[1] = (uint8_t)(value >> 8);
	at[2] = (uint8_t)(value >> 16);
	at[3] = (uint8_t)(value >> 24);
	at[4] = (uint8_t)(value >> 32);
	at[5] = (uint8_t)(value >> 40);
	at[6] = (uint8_t)(value >> 48);
	at[7] = (uint8_t)(value >> 56);
}

static bool trace_is_wanted(const struct nopal_tracer *tracer, enum nopal_trace_what what)
{
	switch (what) {
	case NOPAL_TRACED_SESSION:
	case NOPAL_TRACED_TRANSMIT:
	case NOPAL_TRACED_ARRIVE:
	case NOPAL_TRACED_DELIVER:
	case NOPAL_TRACED_NOTE:
		return tracer->detail >= NOPAL_TRACE_PACKETS;
	case NOPAL_TRACED_RAISE:
	case NOPAL_TRACED_HOLD:
	case NOPAL_TRACED_RELEASE:
	case NOPAL_TRACED_FREE:
	case NOPAL_TRACED_TIMER:
		break;
	}
	return tracer->detail >= NOPAL_TRACE_EVENTS;
}

static inline __attribute__((always_inline)) void trace_put(struct nopal_tracer *tracer,
							    int64_t now_ns, uint32_t session,
							    enum nopal_trace_what what,
							    uint8_t part, uint16_t number,
							    uint64_t a, uint64_t b)
{
	/* Bytes 8 to 15 of the record as one number. */
	uint64_t packed = (uint64_t)session | (uint64_t)(uint8_t)what << 32 | (uint64_t)part << 40 |
			  (uint64_t)number << 48;
	uint64_t hash = tracer->hash;
	uint8_t *at;

	if (!trace_is_wanted(tracer, what))
		return;
	/* The products do not wait for each other: the chain from record to record is one
	 * multiplication. */
	hash ^= (uint64_t)now_ns * MIX_TIME + trace_rotate(packed * MIX_WHAT, 16) +
		trace_rotate(a * MIX_SUBJECT, 32) + trace_rotate(b * MIX_DETAIL, 48);
	hash *= MIX_STEP;
	tracer->hash = hash ^ hash >> 29;
	if (tracer->file < 0 || tracer->failed)
		return;
	at = tracer->buffer + tracer->used;
	trace_store(at, (uint64_t)now_ns);
	trace_store(at + 8, packed);
	trace_store(at + 16, a);
	trace_store(at + 24, b);
	tracer->used += NOPAL_TRACE_RECORD_BYTES;
	if (tracer->used == BUFFER_BYTES)
		trace_flush(tracer);
}

/* Out of the way of the rest: a call costs there what it has to keep. */
static __attribute__((noinline)) void trace_tell(struct nopal_tracer *tracer, int64_t now_ns,
						 uint32_t session, enum nopal_trace_what what,
						 uint8_t part, uint16_t number, uint64_t a,
						 uint64_t b)
{
	tracer->listener->record(tracer->listener, what, part, number, a, b);
	trace_put(tracer, now_ns, session, what, part, number, a, b);
}

void nopal__trace(struct nopal_tracer *tracer, int64_t now_ns, uint32_t session,
		  enum nopal_trace_what what, uint8_t part, uint16_t number, uint64_t a, uint64_t b)
{
	if (!tracer)
		return;
	if (tracer->listener)
		trace_tell(tracer, now_ns, session, what, part, number, a, b);
	else
		trace_put(tracer, now_ns, session, what, part, number, a, b);
}

/* ----------------------------------------------------------- dictionary */

/* A chunk is a text in an arena of its own, and begins with room for its head. */
static void chunk_number(struct nopal_text *chunk, uint64_t value, unsigned bytes)
{
	uint8_t number[sizeof(value)];

	nopal__trace_store(number, value, bytes);
	nopal__append_part(chunk, (const char *)number, bytes);
}

static void chunk_string(struct nopal_text *chunk, const char *text)
{
	size_t length = strlen(text);

	if (length > UINT16_MAX)
		length = UINT16_MAX;
	chunk_number(chunk, length, 2);
	nopal__append_part(chunk, text, length);
}

/* Writes the chunk, behind the records that came before it. */
static void chunk_end(struct nopal_text *chunk, struct nopal_tracer *tracer,
		      enum nopal__trace_chunk type)
{
	if (chunk->arena->failed) {
		trace_fail(tracer, -ENOMEM);
	} else {
		trace_chunk_head((uint8_t *)chunk->start, type,
				 chunk->length - NOPAL_TRACE_CHUNK_BYTES);
		trace_flush(tracer);
		trace_write(tracer, chunk->start, chunk->length);
	}
	nopal__arena_release(chunk->arena);
}

static void trace_part(struct nopal_text *chunk, const struct nopal_part *part)
{
	const struct nopal_kind *kind = part->microprotocol->kinds;
	const struct nopal_hold *hold = part->microprotocol->holds;

	chunk_number(chunk, NOPAL_ENTRY_PART, 1);
	chunk_number(chunk, part->index, 1);
	chunk_string(chunk, part->microprotocol->name);
	for (int i = 0; kind && kind[i].name && i < NOPAL_MAX_KINDS; i++) {
		chunk_number(chunk, NOPAL_ENTRY_KIND, 1);
		chunk_number(chunk, part->kind[i], 1);
		chunk_string(chunk, kind[i].name);
	}
	for (; hold && hold->why; hold++) {
		char text[256]; /* longer reasons are cut */

		snprintf(text, sizeof(text), "%s: %s", part->microprotocol->name, hold->why);
		chunk_number(chunk, NOPAL_ENTRY_HOLD, 1);
		chunk_number(chunk, hold->barrier, 1);
		chunk_number(chunk, (unsigned)__builtin_ctz(part->hold[hold->barrier]), 1);
		chunk_string(chunk, text);
	}
}

uint16_t nopal__trace_plan(struct nopal_tracer *tracer, const struct nopal_plan *plan)
{
	/* The runtime's own; microprotocols name theirs after them. */
	static const char *const kinds[NOPAL_KIND_FIRST_OWN] = {
		[NOPAL_KIND_DATA] = "data",	  [NOPAL_KIND_DATA_OPENING] = "opening data",
		[NOPAL_KIND_CONNECT] = "connect", [NOPAL_KIND_REPLY] = "reply",
		[NOPAL_KIND_ABORT] = "abort",
	};
	uint32_t number = 0;

	if (!tracer)
		return 0;
	while (number < tracer->plans && tracer->plan[number] != plan)
		number++;
	if (number < tracer->plans || number == UINT16_MAX)
		return (uint16_t)number;
	if (!nopal__vector_room(&tracer->plan, &tracer->plans_room, number + 1u,
				sizeof(struct nopal_plan *))) {
		trace_fail(tracer, -ENOMEM);
		return (uint16_t)number;
	}
	/* The reference keeps the address from becoming another plan's. */
	tracer->plan[number] = nopal_plan_ref((struct nopal_plan *)plan);
	tracer->plans++;
	if (tracer->file >= 0 && number < NOPAL_TRACE_PLANS) {
		size_t parts = nopal_plan_part_count(plan);
		struct nopal_arena arena = { 0 };
		struct nopal_text chunk = { .arena = &arena };

		chunk_number(&chunk, 0, NOPAL_TRACE_CHUNK_BYTES);
		chunk_number(&chunk, number, 4);
		chunk_string(&chunk, nopal_plan_info(plan)->name);
		for (unsigned code = 0; code < NOPAL_KIND_FIRST_OWN; code++) {
			chunk_number(&chunk, NOPAL_ENTRY_KIND, 1);
			chunk_number(&chunk, code, 1);
			chunk_string(&chunk, kinds[code]);
		}
		for (size_t i = 0; i < parts; i++)
			trace_part(&chunk, nopal_plan_part(plan, i));
		chunk_end(&chunk, tracer, NOPAL_CHUNK_PLAN);
	}
	return (uint16_t)number;
}

/* -------------------------------------------------------- start and stop */

static void trace_free(struct nopal_tracer *tracer)
{
	for (uint32_t i = 0; i < tracer->plans; i++)
		nopal_plan_unref(tracer->plan[i]);
	if (tracer->listener)
		tracer->listener->free(tracer->listener);
	free(tracer->plan);
	free(tracer->buffer);
	free(tracer);
}

/* The head of a file. */
static int trace_head(struct nopal_tracer *tracer)
{
	uint8_t head[NOPAL_TRACE_HEAD_BYTES];
	struct nopal_arena arena = { 0 };
	struct nopal_text chunk = { .arena = &arena };

	tracer->buffer = malloc(BUFFER_BYTES);
	if (!tracer->buffer)
		return -ENOMEM;
	tracer->used = NOPAL_TRACE_CHUNK_BYTES;
	memcpy(head, NOPAL_TRACE_MAGIC, NOPAL_TRACE_MAGIC_BYTES);
	nopal__trace_store(head + 8, NOPAL_TRACE_VERSION, 4);
	nopal__trace_store(head + 12, NOPAL_TRACE_RECORD_BYTES, 4);
	trace_write(tracer, head, sizeof(head));
	chunk_number(&chunk, 0, NOPAL_TRACE_CHUNK_BYTES);
	for (uint16_t i = NOPAL_NO_EVENT + 1; i < NOPAL_CUSTOM; i++) {
		chunk_number(&chunk, i, 2);
		chunk_string(&chunk, nopal_event_name(i));
		chunk_string(&chunk, nopal_event_argument(i));
	}
	chunk_end(&chunk, tracer, NOPAL_CHUNK_EVENTS);
	return 0;
}

/* `file` -1: a hash alone. */
static int trace_begin(struct nopal_world *world, int file, enum nopal_trace_detail detail)
{
	struct nopal_tracer *tracer = calloc(1, sizeof(*tracer));
	int error;

	if (!tracer)
		return -ENOMEM;
	tracer->detail = detail;
	tracer->file = file;
	tracer->hash = MIX_STEP;
	error = file >= 0 ? trace_head(tracer) : 0;
	if (error < 0) {
		trace_free(tracer);
		return error;
	}
	world->tracer = tracer;
	return 0;
}

int nopal_trace_start(struct nopal_world *world, const char *path, enum nopal_trace_detail detail)
{
	int file = -1, error;

	if (world->tracer)
		return -EALREADY;
	if (detail == NOPAL_TRACE_OFF)
		return 0;
	if (path)
		file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, FILE_MODE);
	if (path && file < 0)
		return -errno;
	error = trace_begin(world, file, detail);
	if (error < 0 && file >= 0)
		close(file);
	return error;
}

int nopal_trace_start_fd(struct nopal_world *world, int file, enum nopal_trace_detail detail)
{
	if (world->tracer)
		return -EALREADY;
	if (file < 0 || detail == NOPAL_TRACE_OFF)
		return -EINVAL;
	return trace_begin(world, file, detail);
}

int nopal_trace_stop(struct nopal_world *world)
{
	struct nopal_tracer *tracer = world->tracer;
	int error;

	if (!tracer)
		return 0;
	if (tracer->file >= 0) {
		trace_flush(tracer);
		if (close(tracer->file) < 0 && errno != EINTR)
			trace_fail(tracer, -errno);
	}
	error = tracer->error;
	trace_free(tracer);
	world->tracer = NULL;
	return error;
}

uint64_t nopal_trace_hash(const struct nopal_world *world)
{
	return world->tracer ? world->tracer->hash : 0;
}
