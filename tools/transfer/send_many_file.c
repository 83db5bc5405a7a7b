/* SPDX-License-Identifier: MIT */
/*
 * send_many_file.c -- the stages of a file on its way to many.
 */
#include <stdlib.h>
#include <string.h>

#include "transfer/send_many_check.h"
#include "transfer/send_many_file.h"
#include "transfer/send_many_shares.h"

enum { MANY_ROUNDS_MAX = 16 };

int64_t many_now(const struct many *many)
{
	return nopal_world_now(loop_world(many->loop));
}

void many_name(const struct many *many, struct many_one *one, uint32_t id)
{
	one->id = id;
	one->out = (struct transfer_outbox){ .to = { many->destination, id } };
}

struct many_one *many_find(const struct many *many, uint64_t id)
{
	for (unsigned i = 0; i < many->count; i++)
		if (many->ones[i].id == id && id)
			return &many->ones[i];
	return NULL;
}

bool many_any(const struct many *many, enum many_state state)
{
	for (unsigned i = 0; i < many->count; i++)
		if (many->ones[i].state == state)
			return true;
	return false;
}

void many_say(const struct many *many, struct many_one *one, enum transfer_type type,
	      uint64_t offset)
{
	const struct transfer_note note = { .type = type,
					    .file = many->reader.file,
					    .offset = offset };

	transfer_say(&one->out, &note);
}

/* --------------------------------------------------- it is over for one of them */

void many_over(struct many *many, struct many_one *one, enum table_state state, const char *why)
{
	one->state = MANY_OUT;
	one->row->state = state;
	one->row->took_ns = many_now(many) - many->table.file.started_ns;
	free(one->row->why);
	one->row->why = why ? strdup(why) : NULL;
}

/* A receiver's last note arrives, and its session ends: or the other way round, where it has all
 * and only that tells it. */
void many_leave(struct many *many, struct many_one *one, enum table_state state, const char *why)
{
	bool at_once;

	many_over(many, one, state, why);
	at_once = !transfer_plan_tells(many->plan) &&
		  (table_is_whole(one->row) || state == TABLE_UNREACHED);
	if (many->group && one->id)
		nopal_destination_remove(many->group, one->id, at_once);
}

void many_fail(struct many *many)
{
	struct transfer_note note = { .type = TRANSFER_ABORT, .file = many->reader.file };

	snprintf(note.text, sizeof(note.text), "%s", many->reader.error);
	many->table.file.error = many->reader.error;
	for (unsigned i = 0; i < many->count; i++) {
		if (many->ones[i].state == MANY_OUT)
			continue;
		transfer_say(&many->ones[i].out, &note);
		many_leave(many, &many->ones[i], TABLE_FAILED, NULL);
	}
	many_go_on(many);
}

static void many_close(struct many *many)
{
	many->stage = MANY_CLOSING;
	for (unsigned i = 0; i < many->count; i++)
		if (many->ones[i].state != MANY_OUT)
			many_over(many, &many->ones[i], TABLE_SHARE, NULL);
	if (!many->group)
		return;
	if (many->table.spread && !transfer_plan_tells(many->plan))
		nopal_session_abort(many->group, "all was sent");
	else
		nopal_session_close(many->group);
}

void many_offer(struct many *many, struct many_one *one)
{
	struct transfer_note note;

	reader_offer(&many->reader, &note);
	one->state = MANY_OFFERED;
	transfer_say(&one->out, &note);
}

/* -------------------------------------------------------------------- sending */

/* Of the bytes that arrived, those of the file: DATA follow the notes. */
void many_measure(const struct many *many, struct many_one *one,
		  const struct nopal_destination_info *info)
{
	uint64_t chunk = many->reader.chunk_bytes;
	uint64_t bytes = info->arrived_bytes > one->notes ? info->arrived_bytes - one->notes : 0;

	bytes = many->from + bytes / (chunk + TRANSFER_DATA_HEADER) * chunk;
	if (bytes > many->reader.source.size)
		bytes = many->reader.source.size;
	if (one->row->state == TABLE_TAKING && bytes > one->row->bytes)
		one->row->bytes = bytes;
}

void many_measure_all(struct many *many)
{
	size_t count = many->group ? nopal_destinations(many->group, many->infos, many->count) : 0;

	for (size_t i = 0; i < count && i < many->count; i++) {
		struct many_one *one = many_find(many, many->infos[i].id);

		if (one)
			many_measure(many, one, &many->infos[i]);
	}
}

static void many_count_given(struct many *many)
{
	size_t count = nopal_destinations(many->group, many->infos, many->count);

	for (size_t i = 0; i < count && i < many->count; i++) {
		struct many_one *one = many_find(many, many->infos[i].id);

		if (one)
			one->given = many->infos[i].given_bytes;
	}
}

void many_start(struct many *many)
{
	for (unsigned i = 0; i < many->count; i++) {
		struct many_one *one = &many->ones[i];

		if (one->state != MANY_ANSWERED)
			continue;
		one->state = MANY_TAKING;
		one->row->state = TABLE_TAKING;
		one->row->bytes = one->has;
		many_say(many, one, TRANSFER_START, one->has);
	}
	if (!many->group)
		return;
	many_count_given(many);
	for (unsigned i = 0; i < many->count; i++)
		many->ones[i].notes = many->ones[i].given;
	if (many->from)
		reader_back(&many->reader, many->from, &many->from_hash);
	else
		reader_from(&many->reader, 0);
	many->table.file.resumed_bytes = many->from;
	many->stage = MANY_SENDING;
	many_pump(many);
}

/* A note that follows DATA to one receiver by its own session comes after them; not so where they
 * left through a channel, or to somebody else. */
static bool many_is_drained(const struct many *many)
{
	return many->outcomes == many->reader.chunks ||
	       !(many->table.spread || nopal_plan_provides(many->plan, "channel"));
}

/* END, or where all have only a share of it, SHARE. */
static void many_end(struct many *many)
{
	many->stage = MANY_ENDING;
	if (!many->table.spread) {
		uint64_t data = many->reader.source.size - many->from +
				many->reader.chunks * TRANSFER_DATA_HEADER;

		/* A composition may leave out who is slow; it has no file then. */
		many_count_given(many);
		for (unsigned i = 0; i < many->count; i++) {
			struct many_one *one = &many->ones[i];

			if (one->state != MANY_TAKING || one->given >= one->notes + data)
				continue;
			many_leave(many, one, TABLE_FAILED,
				   "too slow for the others: it missed some");
			one->row->fix =
				"the same command again, to it alone; or a longer fan_out.backlog";
		}
	}
	for (unsigned i = 0; i < many->count; i++) {
		struct many_one *one = &many->ones[i];

		if (one->state != MANY_TAKING)
			continue;
		one->state = MANY_ENDED;
		transfer_say(&one->out, &many->end);
	}
	many_go_on(many);
}

static void many_fed(struct many *many)
{
	struct transfer_note end;
	struct range gap;

	if (many->rounds && ranges_gap(many->held, many->held_count, many->reader.end,
				       many->reader.source.size, &gap)) {
		reader_range(&many->reader, gap.from, gap.end);
		many_pump(many);
		return;
	}
	if (!reader_end(&many->reader, &end)) {
		many_fail(many);
		return;
	}
	if (!many->rounds)
		many->table.file.hash = end.hash;
	many->end = end;
	if (many->table.spread)
		many->end.type = TRANSFER_SHARE;
	many->stage = MANY_DRAINING;
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
	enum reader_stop stop;
	int64_t wait_ns;

	if (many->stage != MANY_SENDING || many->interrupted || !many_flush(many))
		return;
	stop = reader_pump(&many->reader, &many->group, MANY_DATA, &wait_ns);
	if (stop == READER_PACED) {
		/* We wait, and not for the receivers. */
		loop_event_start(many->paced, wait_ns);
		many->judge.moved_ns = many_now(many) + wait_ns;
	} else if (stop == READER_FAILED) {
		many_fail(many);
	} else if (stop == READER_ALL) {
		many_fed(many);
	}
}

/* ----------------------------------------------------------------- what is next */

/* Every byte is with somebody, or is sent to those that are left. */
static void many_judge_shares(struct many *many)
{
	if (!many_unite(many) || !many_any(many, MANY_TAKING) ||
	    many->table.union_bytes == many->reader.source.size ||
	    many->rounds == MANY_ROUNDS_MAX) {
		many_close(many);
		return;
	}
	many->rounds++;
	many->stage = MANY_SENDING;
	reader_range(&many->reader, 0, 0);
	many_pump(many);
}

/* Something changed: is the stage over? */
void many_go_on(struct many *many)
{
	bool left = many_any(many, MANY_ANSWERED) || many_any(many, MANY_TAKING) ||
		    many_any(many, MANY_ENDED);

	if (many->stage == MANY_CLOSING || many_any(many, MANY_OPENING) ||
	    many_any(many, MANY_OFFERED) || many_any(many, MANY_WAITING))
		return;
	if (!left) {
		if (many->table.spread)
			many_unite(many);
		many_close(many);
		return;
	}
	if (many->stage == MANY_GATHERING)
		many_gathered(many);
	else if (many->stage == MANY_SETTLING && !many_any(many, MANY_ENDED))
		many_start(many);
	else if (many->stage == MANY_DRAINING && many_is_drained(many))
		many_end(many);
	else if (many->stage == MANY_ENDING && !many_any(many, MANY_ENDED))
		many_judge_shares(many);
}
