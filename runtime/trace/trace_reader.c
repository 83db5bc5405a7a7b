/* SPDX-License-Identifier: MIT */
/*
 * trace_reader.c -- reads trace files; trace.h has their form.
 *
 * The file may come from anywhere and end anywhere.  What is cut off at the end is the end; what
 * contradicts itself is damage.  Memory is bounded: names by the bytes of the file, plans by
 * NOPAL_TRACE_PLANS.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/trace.h"
#include "base/vector.h"

enum {
	NAMES = 256,		  /* of one byte: parts, kinds */
	BITS = 32,		  /* of a barrier */
	EVENTS_MAX = 1024,	  /* more names than any vocabulary has */
	DICTIONARY_MAX = 1 << 20, /* bytes of one dictionary chunk */
};

/* The names of one plan in the file. */
struct plan_names {
	char *name;
	char *part[NAMES], *kind[NAMES];
	char *hold[NOPAL_BARRIERS][BITS];
};

struct nopal_trace_reader {
	FILE *file;
	bool ended, damaged;
	uint32_t left; /* bytes of the record chunk that are not yet read */
	char *event[EVENTS_MAX];
	struct plan_names **plan; /* by number; NULL: not in the file */
	size_t plans;		  /* room of `plan` */
};

/* --------------------------------------------------------------- cursor */

static uint64_t cursor_number(struct nopal_reader *cursor, unsigned bytes)
{
	const uint8_t *at = nopal_read_bytes(cursor, bytes);

	return at ? nopal__trace_load(at, bytes) : 0;
}

/* NULL when it is not whole; the caller frees. */
static char *cursor_string(struct nopal_reader *cursor)
{
	size_t length = (size_t)cursor_number(cursor, 2);
	const uint8_t *start = nopal_read_bytes(cursor, length);
	char *text = start ? strndup((const char *)start, length) : NULL;

	cursor->bad = !text;
	/* Names go to terminals: what could steer one is replaced. */
	for (char *at = text; at && *at; at++)
		if ((unsigned char)*at < ' ' || (unsigned char)*at > '~')
			*at = '?';
	return text;
}

/* Puts the next string into `place`, in the stead of what was there. */
static void cursor_put(struct nopal_reader *cursor, char **place)
{
	char *text = cursor_string(cursor);

	if (!text)
		return;
	free(*place);
	*place = text;
}

/* ----------------------------------------------------------- dictionary */

static void reader_plan(struct nopal_trace_reader *reader, struct nopal_reader *cursor)
{
	uint64_t number = cursor_number(cursor, 4), barrier, bit;
	struct plan_names **place, *plan;

	if (cursor->bad || number >= NOPAL_TRACE_PLANS ||
	    !nopal__vector_room(&reader->plan, &reader->plans, number + 1,
				sizeof(struct plan_names *))) {
		cursor->bad = true;
		return;
	}
	place = &reader->plan[number];
	if (!*place)
		*place = calloc(1, sizeof(**place));
	plan = *place;
	if (!plan) {
		cursor->bad = true;
		return;
	}
	cursor_put(cursor, &plan->name);
	while (!cursor->bad && cursor->at < cursor->end)
		switch (cursor_number(cursor, 1)) {
		case NOPAL_ENTRY_PART:
			cursor_put(cursor, &plan->part[cursor_number(cursor, 1)]);
			break;
		case NOPAL_ENTRY_KIND:
			cursor_put(cursor, &plan->kind[cursor_number(cursor, 1)]);
			break;
		case NOPAL_ENTRY_HOLD:
			barrier = cursor_number(cursor, 1);
			bit = cursor_number(cursor, 1);
			if (barrier >= NOPAL_BARRIERS || bit >= BITS)
				cursor->bad = true;
			else
				cursor_put(cursor, &plan->hold[barrier][bit]);
			break;
		default:
			cursor->bad = true;
		}
}

/* ----------------------------------------------------------------- file */

/* False: the file ends within. */
static bool reader_bytes(struct nopal_trace_reader *reader, void *bytes, size_t length)
{
	if (fread(bytes, 1, length, reader->file) == length)
		return true;
	reader->ended = true;
	return false;
}

static void reader_dictionary(struct nopal_trace_reader *reader, enum nopal__trace_chunk type,
			      uint32_t length)
{
	struct nopal_reader cursor = { 0 };
	uint8_t *bytes;

	if (length > DICTIONARY_MAX) {
		reader->damaged = true;
		return;
	}
	bytes = malloc(length + 1u); /* never 0 */
	if (!bytes) {
		reader->damaged = true;
	} else if (reader_bytes(reader, bytes, length)) {
		cursor.at = bytes;
		cursor.end = bytes + length;
		if (type == NOPAL_CHUNK_PLAN)
			reader_plan(reader, &cursor);
		while (type == NOPAL_CHUNK_EVENTS && !cursor.bad && cursor.at < cursor.end) {
			uint64_t event = cursor_number(&cursor, 2);

			cursor.bad |= event >= EVENTS_MAX;
			if (!cursor.bad)
				cursor_put(&cursor, &reader->event[event]);
			free(cursor_string(&cursor)); /* the argument's type */
		}
		reader->damaged = cursor.bad;
	}
	free(bytes);
}

static void reader_skip(struct nopal_trace_reader *reader, uint32_t length)
{
	uint8_t bytes[4096];

	while (length) {
		uint32_t some = length < sizeof(bytes) ? length : sizeof(bytes);

		if (!reader_bytes(reader, bytes, some))
			return;
		length -= some;
	}
}

struct nopal_trace_reader *nopal_trace_open(const char *path, struct nopal_problems *problems)
{
	struct nopal_trace_reader *reader = calloc(1, sizeof(*reader));
	uint8_t head[NOPAL_TRACE_HEAD_BYTES];

	if (!reader) {
		nopal_problems_add(problems, path, 0, NULL, "out of memory");
		return NULL;
	}
	reader->file = fopen(path, "rbe");
	if (!reader->file)
		nopal_problems_add(problems, path, 0, NULL, "cannot open the trace: %s",
				   strerror(errno));
	else if (!reader_bytes(reader, head, sizeof(head)) ||
		 memcmp(head, NOPAL_TRACE_MAGIC, NOPAL_TRACE_MAGIC_BYTES) != 0)
		nopal_problems_add(problems, path, 0, "give a file that `--trace FILE` wrote",
				   "this is not a trace");
	else if (nopal__trace_load(head + 8, 4) != NOPAL_TRACE_VERSION ||
		 nopal__trace_load(head + 12, 4) != NOPAL_TRACE_RECORD_BYTES)
		nopal_problems_add(problems, path, 0, "read it with the version that wrote it",
				   "trace version %llu, but this program reads %d",
				   (unsigned long long)nopal__trace_load(head + 8, 4),
				   NOPAL_TRACE_VERSION);
	else
		return reader;
	nopal_trace_close(reader);
	return NULL;
}

int nopal_trace_next(struct nopal_trace_reader *reader, struct nopal_trace_record *ret_record)
{
	uint8_t bytes[NOPAL_TRACE_RECORD_BYTES];
	struct nopal_trace_record record;

	while (!reader->left && !reader->ended && !reader->damaged) {
		uint8_t head[NOPAL_TRACE_CHUNK_BYTES];
		uint32_t type, length;

		/* Reads the next chunk: all of it, but of records only the head. */
		if (reader_bytes(reader, head, sizeof(head))) {
			type = (uint32_t)nopal__trace_load(head, 4);
			length = (uint32_t)nopal__trace_load(head + 4, 4);
			switch (type) {
			case NOPAL_CHUNK_EVENTS:
			case NOPAL_CHUNK_PLAN:
				reader_dictionary(reader, type, length);
				break;
			case NOPAL_CHUNK_RECORDS:
				reader->left = length;
				reader->damaged = length % NOPAL_TRACE_RECORD_BYTES != 0;
				break;
			default:
				reader_skip(reader, length);
			}
		}
	}
	if (reader->damaged)
		return -EIO;
	if (reader->ended || !reader_bytes(reader, bytes, sizeof(bytes)))
		return 0;
	reader->left -= NOPAL_TRACE_RECORD_BYTES;
	record = (struct nopal_trace_record){
		.time_ns = (int64_t)nopal__trace_load(bytes, 8),
		.session = (uint32_t)nopal__trace_load(bytes + 8, 4),
		.what = bytes[12],
		.part = bytes[13],
		.number = (uint16_t)nopal__trace_load(bytes + 14, 2),
		.a = nopal__trace_load(bytes + 16, 8),
		.b = nopal__trace_load(bytes + 24, 8),
	};
	if (record.what < NOPAL_TRACED_SESSION || record.what > NOPAL_TRACED_NOTE) {
		reader->damaged = true;
		return -EIO;
	}
	*ret_record = record;
	return 1;
}

/* ---------------------------------------------------------------- names */

static const struct plan_names *reader_names(const struct nopal_trace_reader *reader, unsigned plan)
{
	return plan < reader->plans ? reader->plan[plan] : NULL;
}

const char *nopal_trace_event_name(const struct nopal_trace_reader *reader, unsigned event)
{
	return event < EVENTS_MAX ? reader->event[event] : NULL;
}

const char *nopal_trace_part_name(const struct nopal_trace_reader *reader, unsigned plan,
				  unsigned part)
{
	const struct plan_names *names = reader_names(reader, plan);

	return names && part < NAMES ? names->part[part] : NULL;
}

const char *nopal_trace_kind_name(const struct nopal_trace_reader *reader, unsigned plan,
				  unsigned kind)
{
	const struct plan_names *names = reader_names(reader, plan);

	if (names && kind < NAMES && names->kind[kind])
		return names->kind[kind];
	return kind == 0 ? "data" : NULL;
}

const char *nopal_trace_hold_name(const struct nopal_trace_reader *reader, unsigned plan,
				  unsigned barrier, unsigned bit)
{
	const struct plan_names *names = reader_names(reader, plan);

	if (!names || barrier >= NOPAL_BARRIERS || bit >= BITS)
		return NULL;
	return names->hold[barrier][bit];
}

const char *nopal_trace_plan_name(const struct nopal_trace_reader *reader, unsigned plan)
{
	const struct plan_names *names = reader_names(reader, plan);

	return names ? names->name : NULL;
}

static void names_free(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
}

void nopal_trace_close(struct nopal_trace_reader *reader)
{
	if (!reader)
		return;
	for (size_t i = 0; i < reader->plans; i++) {
		struct plan_names *plan = reader->plan[i];

		if (plan) {
			free(plan->name);
			names_free(plan->part, NAMES);
			names_free(plan->kind, NAMES);
			for (int barrier = 0; barrier < NOPAL_BARRIERS; barrier++)
				names_free(plan->hold[barrier], BITS);
			free(plan);
		}
	}
	free(reader->plan);
	names_free(reader->event, EVENTS_MAX);
	if (reader->file)
		fclose(reader->file);
	free(reader);
}
