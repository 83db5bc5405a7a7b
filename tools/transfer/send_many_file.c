/* SPDX-License-Identifier: MIT */
/*
 * send_many_file.c -- the stages of a file on its way to several receivers.
 */
#include <stdlib.h>
#include <string.h>

#include "transfer/send_many_file.h"

enum { MANY_ROUNDS_MAX = 16 };

bool many_any(const struct many *many, enum phase state)
{
	for (unsigned i = 0; i < many->count; i++)
		if (many->ones[i].phase == state)
			return true;
	return false;
}

/* --------------------------------------------------- it is over for one of them */

void many_over(struct many *many, struct destination *one, enum table_state state, const char *why,
	       const char *fix)
{
	one->phase = PHASE_OUT;
	destination_set(one, state, why, fix, loop_now(many->loop) - many->table.file.started_ns);
}

/* The session ends after the last note, or at once, where only its end tells a receiver with the
 * whole file that all is well. */
void many_leave(struct many *many, struct destination *one, enum table_state state, const char *why,
		const char *fix)
{
	bool at_once;

	many_over(many, one, state, why, fix);
	at_once = !transfer_plan_tells(many->plan) &&
		  (destination_is_whole(one) || state == TABLE_UNREACHED);
	if (many->group && one->id)
		nopal_destination_remove_host(many->group, &one->address, at_once);
}

/* The fault is here: all receivers are told. */
static void many_fail(struct many *many)
{
	const struct transfer_note note = { .type = TRANSFER_ABORT, .file = many->reader.file };

	many->table.file.error = many->reader.error;
	for (unsigned i = 0; i < many->count; i++) {
		if (many->ones[i].phase == PHASE_OUT)
			continue;
		transfer_say_text(&many->ones[i].out, note, many->reader.error);
		many_leave(many, &many->ones[i], TABLE_FAILED, NULL, NULL);
	}
	many_go_on(many);
}

/* -------------------------------------------------------------------- sending */

/* Bytes of the file among the bytes that arrived: DATA follow the notes. */
void many_measure(const struct many *many, struct destination *one,
		  const struct nopal_destination_info *info)
{
	uint64_t chunk = many->reader.chunk_bytes;
	uint64_t bytes = info->arrived_bytes > one->notes ? info->arrived_bytes - one->notes : 0;

	bytes = many->from + bytes / (chunk + TRANSFER_DATA_HEADER) * chunk;
	if (bytes > many->reader.source.size)
		bytes = many->reader.source.size;
	if (many->stage >= MANY_SENDING && one->state == TABLE_TAKING && bytes > one->bytes)
		one->bytes = bytes;
	one->given = info->given_bytes;
}

void many_measure_all(struct many *many)
{
	size_t count =
		many->group ? nopal_destinations(many->group, many->infos, many->streams) : 0;

	if (count > many->streams)
		count = many->streams;
	for (size_t i = 0; i < count; i++) {
		struct nopal_destination_info info = many->infos[i];
		struct destination *one = destination_find(many->ones, many->count, info.id);

		if (!one)
			continue;
		/* To the first stream's numbers come those of the others to the same receiver. */
		for (size_t j = 0; one->streams > 1 && j < count; j++) {
			if (j == i || !nopal_address_equal(&many->infos[j].address, &info.address))
				continue;
			info.given_bytes += many->infos[j].given_bytes;
			info.arrived_bytes += many->infos[j].arrived_bytes;
		}
		many_measure(many, one, &info);
	}
}

/* DATA for all that answered and do not have the file. */
static void many_start(struct many *many)
{
	for (unsigned i = 0; i < many->count; i++) {
		struct destination *one = &many->ones[i];

		if (one->phase != PHASE_ANSWERED)
			continue;
		one->phase = PHASE_TAKING;
		one->state = TABLE_TAKING;
		one->bytes = one->has;
		reader_start(&many->reader, &one->out, one->has);
	}
	if (!many->group)
		return;
	many_measure_all(many);
	for (unsigned i = 0; i < many->count; i++)
		many->ones[i].notes = many->ones[i].given;
	reader_from(&many->reader, many->from, many->from ? &many->from_hash : NULL);
	many->table.file.resumed_bytes = many->from;
	many->stage = MANY_SENDING;
	many_pump(many);
}

/* END, or SHARE of a file that is spread. */
static void many_end(struct many *many)
{
	many->stage = MANY_ENDING;
	if (!many->table.spread) {
		uint64_t data = many->reader.source.size - many->from +
				many->reader.chunks * TRANSFER_DATA_HEADER;

		/* A composition may leave out slow receivers; they have no file then. */
		many_measure_all(many);
		for (unsigned i = 0; i < many->count; i++) {
			struct destination *one = &many->ones[i];

			/* Of several streams some may have gone, with their numbers. */
			if (one->phase != PHASE_TAKING || one->streams > 1 ||
			    one->given >= one->notes + data)
				continue;
			many_leave(
				many, one, TABLE_FAILED, "too slow for the others: it missed some",
				"the same command again, to it alone; or a longer fan_out.backlog");
		}
	}
	for (unsigned i = 0; i < many->count; i++) {
		struct destination *one = &many->ones[i];

		if (one->phase != PHASE_TAKING)
			continue;
		one->phase = PHASE_ENDED;
		transfer_say(&one->out, &many->end);
	}
	many_go_on(many);
}

bool many_flush(struct many *many)
{
	bool flushed = true;

	for (unsigned i = 0; i < many->count; i++)
		flushed = transfer_flush(&many->ones[i].out) && flushed;
	return flushed;
}

void many_pump(struct many *many)
{
	struct transfer_note end;
	enum reader_stop stop;
	struct range gap;
	int64_t wait_ns;

	if (many->stage != MANY_SENDING || many->interrupted || !many_flush(many))
		return;
	stop = reader_pump(&many->reader, &many->group, MANY_DATA, &wait_ns);
	if (stop == READER_PACED) {
		/* The sender waits, and not for the receivers. */
		loop_event_start(many->step, wait_ns);
		many->judge.moved_ns = loop_now(many->loop) + wait_ns;
	}
	if (stop == READER_FULL || stop == READER_PACED)
		return;
	if (stop == READER_ALL && many->rounds &&
	    ranges_gap(many->held, many->held_count, many->reader.end, many->reader.source.size,
		       &gap)) {
		reader_range(&many->reader, gap.from, gap.end);
		many_pump(many);
	} else if (stop == READER_FAILED || !reader_end(&many->reader, &end)) {
		many_fail(many);
	} else {
		if (!many->rounds)
			many->table.file.hash = end.hash;
		many->end = end;
		if (many->table.spread)
			many->end.type = TRANSFER_SHARE;
		many->stage = MANY_DRAINING;
		many_go_on(many);
	}
}

/* ------------------------------------------------------------------- checking */

/* The shortest beginning that goes beyond the bytes compared so far; 0: there is none. */
static uint64_t check_mark(const struct many *many)
{
	uint64_t mark = 0;

	for (unsigned i = 0; i < many->count; i++) {
		const struct destination *one = &many->ones[i];

		if (one->phase == PHASE_ANSWERED && one->has > many->reader.source.offset &&
		    (!mark || one->has < mark))
			mark = one->has;
	}
	return mark;
}

static void check_anew(struct many *many)
{
	many->from = 0;
	for (unsigned i = 0; i < many->count; i++)
		if (many->ones[i].has < many->reader.source.size)
			many->ones[i].has = 0;
}

/* A receiver with all of it is told so, and answers for good. */
static void check_settle(struct many *many)
{
	struct transfer_note end;

	if (!reader_end(&many->reader, &end)) {
		many_fail(many);
		return;
	}
	many->table.file.hash = end.hash;
	many->stage = MANY_SETTLING;
	for (unsigned i = 0; i < many->count; i++) {
		struct destination *one = &many->ones[i];

		if (one->phase != PHASE_ANSWERED || one->has < end.size || !end.size)
			continue;
		one->has_it = true;
		one->phase = PHASE_ENDED;
		reader_start(&many->reader, &one->out, end.size);
		transfer_say(&one->out, &end);
	}
	many_go_on(many);
}

void many_check(struct many *many)
{
	struct reader *reader = &many->reader;
	uint64_t mark = check_mark(many);

	if (!mark) {
		check_settle(many);
		return;
	}
	if (!reader_hash(reader, mark)) {
		many_fail(many);
		return;
	}
	if (reader->source.offset == mark) {
		uint64_t hash = file_hash_value(&reader->source.hash);
		bool good = true;

		/* Compares the beginnings of this length; all go on where the first of them
		 * ends. */
		for (unsigned i = 0; i < many->count; i++) {
			struct destination *one = &many->ones[i];

			if (one->phase != PHASE_ANSWERED || one->has != mark || one->hash == hash)
				continue;
			one->has = 0;
			good = false;
		}
		if (!many->from && mark < reader->source.size) {
			many->from = mark;
			many->from_hash = reader->source.hash;
		}
		if (!good)
			check_anew(many);
	}
	loop_event_start(many->step, 0);
}

/* --------------------------------------------------------------------- shares */

void many_forget_held(struct destination *one)
{
	free(one->held);
	one->held = NULL;
	one->held_count = 0;
}

void many_on_held(struct many *many, struct destination *one, const struct nopal_message *message)
{
	const struct transfer_note end = { .type = TRANSFER_END,
					   .file = many->reader.file,
					   .size = many->reader.source.size,
					   .hash = many->table.file.hash };
	struct range held[TRANSFER_RANGES_MAX];
	size_t count;

	many_forget_held(one);
	if (!transfer_held(message, many->reader.source.size, held, &count)) {
		many_leave(many, one, TABLE_FAILED, "it says that it holds bytes beyond the file",
			   NULL);
		return;
	}
	one->held = malloc((count + 1) * sizeof(*held));
	if (!one->held) {
		many_leave(many, one, TABLE_FAILED, "out of memory", NULL);
		return;
	}
	memcpy(one->held, held, count * sizeof(*held));
	one->held_count = count;
	one->bytes = ranges_bytes(held, count);
	if (one->bytes == many->reader.source.size)
		transfer_say(&one->out, &end); /* a file, after all */
	else
		one->phase = PHASE_TAKING;
}

/* ------------------------------------------------------------------- next stage */

/* Every byte is at a receiver, or is sent to the receivers that are left; else the file ends. */
static void many_judge_shares(struct many *many)
{
	uint64_t size = many->reader.source.size;
	size_t count = 0;
	struct range *held;

	/* The ranges that remaining receivers hold together, in order. */
	for (unsigned i = 0; i < many->count; i++)
		count += many->ones[i].held_count + 1;
	held = realloc(many->held, count * sizeof(*held));
	many->held = held ? held : many->held;
	many->held_count = 0;
	for (unsigned i = 0; held && i < many->count; i++) {
		const struct destination *one = &many->ones[i];

		if (destination_is_whole(one) && size)
			held[many->held_count++] = (struct range){ .end = size };
		if (one->phase == PHASE_TAKING && one->held_count)
			memcpy(held + many->held_count, one->held, one->held_count * sizeof(*held));
		if (one->phase == PHASE_TAKING)
			many->held_count += one->held_count;
	}
	if (held) {
		ranges_sort(held, many->held_count);
		many->table.union_bytes = ranges_bytes(held, many->held_count);
	}
	if (held && many_any(many, PHASE_TAKING) && many->table.union_bytes != size &&
	    many->rounds < MANY_ROUNDS_MAX) {
		many->rounds++;
		many->stage = MANY_SENDING;
		reader_range(&many->reader, 0, 0);
		many_pump(many);
		return;
	}
	many->stage = MANY_CLOSING;
	for (unsigned i = 0; i < many->count; i++)
		if (many->ones[i].phase != PHASE_OUT)
			many_over(many, &many->ones[i], TABLE_SHARE, NULL, NULL);
	if (!many->group)
		return;
	if (many->table.spread && !transfer_plan_tells(many->plan))
		nopal_session_abort(many->group, "all was sent");
	else
		nopal_session_close(many->group);
}

void many_go_on(struct many *many)
{
	bool ended = many_any(many, PHASE_ENDED);
	bool left = ended || many_any(many, PHASE_ANSWERED) || many_any(many, PHASE_TAKING);
	/* A note that follows DATA in a receiver's own session comes after them; not so DATA that
	 * left through a channel, or to another receiver. */
	bool is_drained = many->outcomes == many->reader.chunks ||
			  !(many->table.spread || nopal_plan_provides(many->plan, "channel"));

	if (many->stage == MANY_CLOSING || many_any(many, PHASE_OPENING) ||
	    many_any(many, PHASE_ASKED) || many_any(many, PHASE_WAITING))
		return;
	if (!left || (many->stage == MANY_ENDING && !ended)) {
		many_judge_shares(many);
	} else if (many->stage == MANY_GATHERING) {
		/* All have answered. */
		for (unsigned i = 0; i < many->count; i++)
			if (many->ones[i].phase == PHASE_ANSWERED && !many->ones[i].has)
				check_anew(many);
		if (!check_mark(many)) {
			many_start(many);
			return;
		}
		many->stage = MANY_CHECKING;
		loop_event_start(many->step, 0);
	} else if (many->stage == MANY_SETTLING && !ended) {
		many_start(many);
	} else if (many->stage == MANY_DRAINING && is_drained) {
		many_end(many);
	}
}
