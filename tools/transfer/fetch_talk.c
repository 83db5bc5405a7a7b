/* SPDX-License-Identifier: MIT */
/*
 * fetch_talk.c -- one file from several servers: notes to each server, and its answers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "file/file_hash.h"
#include "frame/tool.h"
#include "transfer/fetch_talk.h"

enum {
	FETCH_FILE = 1, /* number of the file in every session */
	FETCH_ABORTS_MAX = 3,
};
#define FETCH_AGAIN_NS (1 * NOPAL_SECOND)
#define FETCH_CLOSE_NS (300 * NOPAL_MILLISECOND) /* then sessions are cut, with parts under way */

int64_t fetch_now(const struct fetch *fetch)
{
	return nopal_world_now(fetch->world);
}

static unsigned fetch_index(const struct fetch *fetch, const struct destination *one)
{
	return (unsigned)(one - fetch->ones);
}

static bool fetch_is_there(const struct destination *one)
{
	return one->phase == PHASE_ASKED || one->phase == PHASE_ANSWERED ||
	       one->phase == PHASE_TAKING;
}

/* -------------------------------------------------------------- a server goes away */

/* A server's wrong block is reported to the end. */
static void fetch_row(const struct fetch *fetch, struct destination *one, enum table_state state,
		      const char *why, const char *fix)
{
	if (!one->wrong)
		destination_set(one, state, why, fix, fetch_now(fetch) - fetch->started_ns);
}

/* Nothing is asked of the server any more. */
static void fetch_stop(struct fetch *fetch, struct destination *one, enum phase state)
{
	one->phase = state;
	one->offer.type = 0;
	if (fetch->lister == one)
		fetch->lister = NULL;
	if (fetch->known)
		fetch_plan_leave(&fetch->parts, fetch_index(fetch, one));
}

void fetch_leave_out(struct fetch *fetch, struct destination *one, enum table_state state,
		     const char *why, const char *fix)
{
	fetch_stop(fetch, one, PHASE_OUT);
	fetch_row(fetch, one, state, why, fix);
	if (fetch->group && one->id)
		nopal_destination_remove(fetch->group, one->id, true);
}

/* ------------------------------------------------------------- a server is asked */

void fetch_say(struct destination *one, struct transfer_note *note)
{
	note->file = FETCH_FILE;
	transfer_say(&one->out, note);
}

/* WANTs, as many as the server is good for, and the session takes. */
static void fetch_ask_one(struct fetch *fetch, struct destination *one)
{
	uint64_t part;

	while (one->phase == PHASE_TAKING && one->out.session && !one->out.count &&
	       fetch_plan_ask(&fetch->parts, fetch_index(fetch, one), fetch_now(fetch), &part)) {
		struct range block = file_blocks_range(&fetch->blocks, part);
		struct transfer_note want = { .type = TRANSFER_WANT,
					      .offset = block.from,
					      .size = block.end - block.from };

		fetch_say(one, &want);
	}
}

/* A part that one server brought or left may change the file that is chosen, and the requests to
 * all servers. */
static void fetch_ask_all(struct fetch *fetch)
{
	fetch_choose(fetch);
	for (unsigned i = 0; fetch->begun && i < fetch->count; i++)
		fetch_ask_one(fetch, &fetch->ones[i]);
}

void fetch_begin(struct fetch *fetch)
{
	fetch->begun = true;
	nopal_batch_start(fetch->world);
	fetch_ask_all(fetch);
	nopal_batch_stop(fetch->world);
	if (fetch_plan_is_whole(&fetch->parts))
		fetch->hooks->whole(fetch->user);
}

/* -------------------------------------------------------------- a server answers */

void fetch_join(struct fetch *fetch, struct destination *one)
{
	one->phase = PHASE_TAKING;
	fetch_row(fetch, one, TABLE_TAKING, NULL, NULL);
	fetch_plan_join(&fetch->parts, fetch_index(fetch, one));
	if (fetch->begun)
		fetch_ask_one(fetch, one);
}

static uint64_t fetch_hash(const struct nopal_message *message)
{
	size_t skip = TRANSFER_DATA_HEADER;
	struct file_hash hash;

	file_hash_init(&hash);
	for (size_t i = 0; i < nopal_message_pieces(message); i++) {
		uint32_t length;
		const uint8_t *piece = nopal_message_piece(message, i, &length);
		size_t passed = skip < length ? skip : length;

		file_hash_update(&hash, piece + passed, length - passed);
		skip -= passed;
	}
	return file_hash_value(&hash);
}

/* The server is put aside; or left out, where this was one too many. */
static void fetch_on_wrong(struct fetch *fetch, struct destination *one, uint64_t part)
{
	static const char *const fix =
		"look at the file there, or its disk, and start `nopal serve` again";
	struct range block = file_blocks_range(&fetch->blocks, part);
	char why[TRANSFER_TEXT_ROOM];

	snprintf(why, sizeof(why),
		 "bytes %llu to %llu from it are not the file's, and were thrown away",
		 (unsigned long long)block.from, (unsigned long long)(block.end - 1));
	fetch_row(fetch, one, TABLE_FAILED, why, fix);
	one->wrong = true;
	if (!fetch_plan_wrong(&fetch->parts, fetch_index(fetch, one), part))
		fetch_leave_out(fetch, one, TABLE_FAILED, why, fix);
}

/* The answer to a request is a block, which is compared with its hash before any use. */
static void fetch_on_data(struct fetch *fetch, struct destination *one,
			  const struct nopal_message *message, uint64_t offset)
{
	uint64_t length = nopal_message_length(message) - TRANSFER_DATA_HEADER;
	bool was_whole = fetch_plan_is_whole(&fetch->parts);
	enum fetch_came came = FETCH_UNASKED;
	bool good = true;
	uint64_t index;

	if (file_blocks_find(&fetch->blocks, offset, length, &index)) {
		good = fetch_hash(message) == fetch->blocks.hashes[index];
		if (good)
			came = fetch_plan_came(&fetch->parts, fetch_index(fetch, one), index,
					       length, fetch_now(fetch));
	}
	if (!good) {
		fetch_on_wrong(fetch, one, index);
	} else if (came == FETCH_NEW) {
		one->bytes += length;
		fetch->hooks->part(fetch->user, offset, message);
	} else if (came == FETCH_TWICE) {
		one->twice_bytes += length;
	} else {
		fetch_leave_out(fetch, one, TABLE_FAILED, "it sent bytes that it was not asked for",
				NULL);
	}
	if (fetch->closing)
		return;
	fetch_ask_all(fetch);
	if (!was_whole && fetch_plan_is_whole(&fetch->parts))
		fetch->hooks->whole(fetch->user);
}

/* -------------------------------------------------------------------- callbacks */

static void fetch_on_received(struct nopal_session *session, struct nopal_message *message,
			      void *user)
{
	struct fetch *fetch = user;
	struct destination *one = destination_find(
		fetch->ones, fetch->count, nopal_message_property(message, fetch->destination));
	struct transfer_note note;

	(void)session;
	if (!one)
		return;
	if (transfer_received(message, &note)) {
		/* Until the file is known, any note may bring that nearer. */
		one->heard_ns = fetch->alive_ns = fetch_now(fetch);
		if (fetch->judge && !fetch->known)
			live_judge_moved(fetch->judge);
		if (note.file != FETCH_FILE || fetch->closing || !fetch_is_there(one))
			return;
		if (note.type == TRANSFER_OFFER && one->phase == PHASE_ASKED)
			one->offer = note;
		else if (note.type == TRANSFER_END && one->phase == PHASE_ASKED && one->offer.type)
			fetch_announced(fetch, one, &note);
		else if (note.type == TRANSFER_HASHES)
			fetch_listed(fetch, one, message, &note);
		else if (note.type == TRANSFER_DATA && one->phase == PHASE_TAKING && fetch->begun)
			fetch_on_data(fetch, one, message, note.offset);
		else if (note.type == TRANSFER_ABORT)
			fetch_leave_out(fetch, one, TABLE_FAILED, note.text, NULL);
		else if (note.type == TRANSFER_ANSWER && note.verdict != TRANSFER_YES)
			fetch_leave_out(fetch, one, TABLE_REFUSED, note.text, NULL);
		if (note.type != TRANSFER_ABORT && note.type != TRANSFER_ANSWER)
			return;
	} else {
		fetch_leave_out(fetch, one, TABLE_FAILED, TRANSFER_STRANGER, NULL);
	}
	fetch_ask_all(fetch);
}

/* A server that refuses the composition, or the request, will do so the next time, too. */
static void fetch_on_destination(struct nopal_session *session,
				 const struct nopal_destination_info *info, void *user)
{
	struct fetch *fetch = user;
	struct destination *one = destination_find(fetch->ones, fetch->count, info->id);
	const char *why = info->text, *fix = tool_ended_fix(info->end);
	enum table_state row = table_state_of_end(info->end);
	bool out = info->end == NOPAL_REFUSED;

	if (info->ended && fetch->judge)
		live_judge_destination_ended(fetch->judge, info);
	if (!one)
		return;
	if (!info->ended) {
		struct transfer_note ask = { .type = TRANSFER_ASK };

		one->out.session = session;
		one->heard_ns = fetch->alive_ns = fetch_now(fetch);
		if (fetch->closing || one->phase != PHASE_OPENING)
			return;
		one->phase = PHASE_ASKED;
		snprintf(ask.text, sizeof(ask.text), "%s", fetch->name);
		fetch_say(one, &ask);
		return;
	}
	one->id = 0;
	one->out = (struct transfer_outbox){ 0 };
	if (one->phase == PHASE_OUT || fetch->closing)
		return;
	if (info->end == NOPAL_ENDED_WELL)
		why = "it closed the session";
	/* `nopal serve` of version 1 aborts the session, as it does not know the request. */
	if (info->end == NOPAL_ABORTED && one->phase == PHASE_ASKED)
		one->aborts++;
	if (one->aborts == FETCH_ABORTS_MAX) {
		out = true;
		row = TABLE_REFUSED;
		why = "it aborts the session when it is asked, as another version does";
		fix = "take the same nopal on both sides, or ask it later";
	}
	fetch_stop(fetch, one, out ? PHASE_OUT : PHASE_AWAY);
	one->again_ns = fetch_now(fetch) + FETCH_AGAIN_NS;
	fetch_row(fetch, one, row, why, fix);
	fetch_ask_all(fetch);
}

static void fetch_on_writable(struct nopal_session *session, void *user)
{
	struct fetch *fetch = user;

	(void)session;
	for (unsigned i = 0; i < fetch->count; i++)
		transfer_flush(&fetch->ones[i].out);
	if (!fetch->closing)
		fetch_ask_all(fetch);
}

static void fetch_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			   void *user)
{
	struct fetch *fetch = user;

	(void)text;
	if (fetch->judge)
		live_judge_end(fetch->judge, session, end);
	if (fetch->judge && end == NOPAL_ABORTED && fetch->closing)
		fetch->judge->facts.receiver_end = JUDGE_OPEN; /* cut by fetch_tick() */
	fetch->group = NULL;
	if (fetch->closing)
		fetch->hooks->closed(fetch->user);
}

static const struct nopal_callbacks fetch_callbacks = {
	.received = fetch_on_received,
	.writable = fetch_on_writable,
	.destination = fetch_on_destination,
	.ended = fetch_on_ended,
};

/* ----------------------------------------------------------------- time, and life */

static void fetch_try(struct fetch *fetch, struct destination *one)
{
	int64_t id;

	one->again_ns = fetch_now(fetch) + FETCH_AGAIN_NS;
	if (!fetch->group)
		fetch->group =
			nopal_session_open(&(struct nopal_open){ .endpoint = fetch->endpoint,
								 .plan = fetch->plan,
								 .callbacks = &fetch_callbacks,
								 .user = fetch });
	if (!fetch->group)
		return;
	id = nopal_destination_add(fetch->group, &one->address);
	if (id < 0)
		return;
	destination_name(one, fetch->destination, (uint32_t)id);
	one->phase = PHASE_OPENING;
}

bool fetch_open(struct fetch *fetch)
{
	fetch->destination = nopal_property(fetch->plan, "destination");
	fetch->started_ns = fetch->alive_ns = fetch_now(fetch);
	for (unsigned i = 0; i < fetch->count; i++)
		fetch_try(fetch, &fetch->ones[i]);
	return fetch->group != NULL;
}

void fetch_tick(struct fetch *fetch)
{
	static const char *const words[][2] = {
		{ "no server answers",
		  "start `nopal serve` there first, or wait longer with --wait" },
		{ "all servers are gone", "start one of them again, and give the same command" },
		{ "no server gives it", "the reason of each server is above; names are as they are "
					"below the served folder" },
		{ "no server is left that gives the rest",
		  "the reason of each server is above; name another one that has the file, too" },
	};
	unsigned out = 0, which = fetch->known ? 1 : 0;

	if (fetch->closing) {
		if (fetch->group && fetch_now(fetch) - fetch->closing_ns > FETCH_CLOSE_NS)
			nopal_session_abort(fetch->group, "it has the file");
		return;
	}
	nopal_batch_start(fetch->world);
	for (unsigned i = 0; i < fetch->count; i++) {
		struct destination *one = &fetch->ones[i];
		int64_t now_ns = fetch_now(fetch);

		if (one->phase == PHASE_AWAY && now_ns >= one->again_ns)
			fetch_try(fetch, one);
		if (fetch_is_there(one)) {
			fetch->alive_ns = now_ns;
			if (fetch->begun && one->phase == PHASE_TAKING &&
			    fetch_plan_is_useless(&fetch->parts, i)) {
				fetch_leave_out(fetch, one, TABLE_FAILED,
						"its bytes are not the file's", NULL);
			} else {
				destination_ping(one, FETCH_FILE, now_ns);
			}
		}
	}
	if (fetch->begun)
		fetch_plan_look(&fetch->parts, fetch_now(fetch));
	fetch_ask_all(fetch);
	/* Ends the fetch where no server is left to wait for. */
	for (unsigned i = 0; i < fetch->count; i++)
		out += fetch->ones[i].phase == PHASE_OUT;
	if (out == fetch->count)
		which += 2;
	if (out == fetch->count || fetch_now(fetch) - fetch->alive_ns > fetch->wait_ns)
		fetch->hooks->deserted(fetch->user, words[which][0], words[which][1]);
	nopal_batch_stop(fetch->world);
}

void fetch_close(struct fetch *fetch)
{
	struct transfer_note all = { .type = TRANSFER_RESULT, .verdict = TRANSFER_YES };

	if (fetch->closing)
		return;
	fetch->closing = true;
	fetch->closing_ns = fetch_now(fetch);
	nopal_batch_start(fetch->world);
	for (unsigned i = 0; i < fetch->count; i++) {
		struct destination *one = &fetch->ones[i];

		if (one->state == TABLE_WAITING)
			fetch_row(fetch, one, fetch_is_there(one) ? TABLE_WAITING : TABLE_UNREACHED,
				  NULL, NULL);
		if (one->phase == PHASE_TAKING)
			fetch_row(fetch, one, TABLE_SHARE, NULL, NULL);
		if (fetch_is_there(one))
			fetch_say(one, &all);
	}
	if (fetch->group)
		nopal_session_close(fetch->group);
	else
		fetch->hooks->closed(fetch->user);
	nopal_batch_stop(fetch->world);
}

void fetch_fini(struct fetch *fetch)
{
	fetch_plan_fini(&fetch->parts);
	file_blocks_fini(&fetch->blocks);
}
