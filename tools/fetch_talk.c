/* SPDX-License-Identifier: MIT */
/*
 * fetch_talk.c -- one file from several servers: what is said to each.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fetch_talk.h"
#include "tool.h"

enum {
	FETCH_FILE = 1,		     /* its number in every session */
	FETCH_PARTS = 2048,	     /* as many, */
	FETCH_PART_LEAST = 32 << 10, /* but none shorter */
};
#define FETCH_AGAIN_NS (1 * NOPAL_SECOND)
#define FETCH_PING_NS  (5 * NOPAL_SECOND) /* of silence */
#define FETCH_CLOSE_NS                                                         \
	(300 * NOPAL_MILLISECOND) /* what is under way is for nobody */

static int64_t fetch_now(const struct fetch *fetch)
{
	return nopal_world_now(fetch->world);
}

static unsigned fetch_index(const struct fetch *fetch,
			    const struct fetch_one *one)
{
	return (unsigned)(one - fetch->ones);
}

static struct fetch_one *fetch_find(const struct fetch *fetch, uint64_t id)
{
	for (unsigned i = 0; id && i < fetch->count; i++)
		if (fetch->ones[i].id == id)
			return &fetch->ones[i];
	return NULL;
}

static bool fetch_is_there(const struct fetch_one *one)
{
	return one->state == FETCH_ASKED || one->state == FETCH_GIVING;
}

/* ------------------------------------------------------------------ it goes away */

static void fetch_row(const struct fetch *fetch, struct fetch_one *one,
		      enum table_state state, const char *why)
{
	one->row->state = state;
	one->row->took_ns = fetch_now(fetch) - fetch->started_ns;
	free(one->row->why);
	one->row->why = why ? strdup(why) : NULL;
	one->row->fix = NULL;
}

/* Nothing is asked of it any more. */
static void fetch_stop(struct fetch *fetch, struct fetch_one *one,
		       enum fetch_state state)
{
	one->state = state;
	one->offer.type = 0;
	if (fetch->begun)
		fetch_plan_leave(&fetch->parts, fetch_index(fetch, one));
}

static void fetch_leave_out(struct fetch *fetch, struct fetch_one *one,
			    enum table_state state, const char *why)
{
	fetch_stop(fetch, one, FETCH_OUT);
	fetch_row(fetch, one, state, why);
	if (fetch->group && one->id)
		nopal_destination_remove(fetch->group, one->id, true);
}

/* ----------------------------------------------------------------- it is asked */

static void fetch_say(struct fetch_one *one, struct transfer_note *note)
{
	note->file = FETCH_FILE;
	transfer_say(&one->out, note);
}

/* WANTs, as many as the server is good for, and the session takes. */
static void fetch_ask_one(struct fetch *fetch, struct fetch_one *one)
{
	struct island part;

	while (one->state == FETCH_GIVING && one->out.session &&
	       !one->out.count &&
	       fetch_plan_ask(&fetch->parts, fetch_index(fetch, one),
			      fetch_now(fetch), &part)) {
		struct transfer_note want = { .type = TRANSFER_WANT,
					      .offset = part.from,
					      .size = part.end - part.from };

		fetch_say(one, &want);
	}
}

/* What one brought or left may be for another to ask. */
static void fetch_ask_all(struct fetch *fetch)
{
	for (unsigned i = 0; fetch->begun && i < fetch->count; i++)
		fetch_ask_one(fetch, &fetch->ones[i]);
}

bool fetch_begin(struct fetch *fetch, uint64_t from)
{
	uint64_t size = fetch->offer.size;
	uint64_t part = (size - from) / FETCH_PARTS;

	if (part < FETCH_PART_LEAST)
		part = FETCH_PART_LEAST;
	if (!fetch_plan_init(&fetch->parts, from, size,
			     transfer_part_bytes(fetch->plan, part),
			     fetch->count))
		return false;
	fetch->begun = true;
	for (unsigned i = 0; i < fetch->count; i++)
		if (fetch->ones[i].state == FETCH_GIVING)
			fetch_plan_join(&fetch->parts, i);
	nopal_batch_start(fetch->world);
	fetch_ask_all(fetch);
	nopal_batch_stop(fetch->world);
	if (fetch_plan_is_whole(&fetch->parts))
		fetch->hooks->whole(fetch->user);
	return true;
}

/* --------------------------------------------------------------- what it answers */

static void fetch_join(struct fetch *fetch, struct fetch_one *one)
{
	one->state = FETCH_GIVING;
	fetch_row(fetch, one, TABLE_TAKING, NULL);
	if (!fetch->begun)
		return;
	fetch_plan_join(&fetch->parts, fetch_index(fetch, one));
	fetch_ask_one(fetch, one);
}

static void fetch_refuse(struct fetch *fetch, struct fetch_one *one,
			 const struct transfer_note *end)
{
	char why[TRANSFER_TEXT_ROOM];

	snprintf(why, sizeof(why),
		 "it has another version: %llu bytes, hash %016llx, where the "
		 "first that answered has %llu, %016llx",
		 (unsigned long long)end->size, (unsigned long long)end->hash,
		 (unsigned long long)fetch->offer.size,
		 (unsigned long long)fetch->hash);
	fetch_leave_out(fetch, one, TABLE_REFUSED, why);
}

/* The hash of what it offered. */
static void fetch_on_end(struct fetch *fetch, struct fetch_one *one,
			 const struct transfer_note *end)
{
	if (one->offer.size != end->size) {
		fetch_leave_out(fetch, one, TABLE_FAILED,
				"it offers one file and means another");
		return;
	}
	if (fetch->known &&
	    (end->size != fetch->offer.size || end->hash != fetch->hash)) {
		fetch_refuse(fetch, one, end);
		return;
	}
	fetch_join(fetch, one);
	if (fetch->known)
		return;
	fetch->known = true;
	fetch->offer = one->offer;
	fetch->hash = end->hash;
	fetch->hooks->found(fetch->user);
}

static void fetch_on_data(struct fetch *fetch, struct fetch_one *one,
			  const struct nopal_message *message, uint64_t offset)
{
	uint64_t length = nopal_message_length(message) - TRANSFER_DATA_HEADER;
	enum fetch_came came =
		fetch_plan_came(&fetch->parts, fetch_index(fetch, one), offset,
				length, fetch_now(fetch));

	if (came == FETCH_NEW) {
		one->row->bytes += length;
		fetch->hooks->part(fetch->user, offset, message);
	} else if (came == FETCH_TWICE) {
		one->row->twice_bytes += length;
	} else {
		fetch_leave_out(fetch, one, TABLE_FAILED,
				"it sent what it was not asked for");
	}
	if (fetch->closing)
		return;
	fetch_ask_all(fetch);
	if (came == FETCH_NEW && fetch_plan_is_whole(&fetch->parts))
		fetch->hooks->whole(fetch->user);
}

static void fetch_on_refusal(struct fetch *fetch, struct fetch_one *one,
			     const struct transfer_note *note)
{
	if (note->type == TRANSFER_ABORT || note->verdict != TRANSFER_YES)
		fetch_leave_out(fetch, one,
				note->type == TRANSFER_ABORT ? TABLE_FAILED
							     : TABLE_REFUSED,
				note->text);
	fetch_ask_all(fetch);
}

static void fetch_on_note(struct fetch *fetch, struct fetch_one *one,
			  const struct nopal_message *message,
			  const struct transfer_note *note)
{
	one->heard_ns = fetch->alive_ns = fetch_now(fetch);
	if (note->file != FETCH_FILE || fetch->closing || !fetch_is_there(one))
		return;
	if (note->type == TRANSFER_OFFER && one->state == FETCH_ASKED)
		one->offer = *note;
	else if (note->type == TRANSFER_END && one->state == FETCH_ASKED &&
		 one->offer.type)
		fetch_on_end(fetch, one, note);
	else if (note->type == TRANSFER_DATA && one->state == FETCH_GIVING &&
		 fetch->begun)
		fetch_on_data(fetch, one, message, note->offset);
	else if (note->type == TRANSFER_ANSWER || note->type == TRANSFER_ABORT)
		fetch_on_refusal(fetch, one, note);
}

/* -------------------------------------------------------------------- callbacks */

static void fetch_on_received(struct nopal_session *session,
			      struct nopal_message *message, void *user)
{
	struct fetch *fetch = user;
	struct fetch_one *one = fetch_find(
		fetch, nopal_message_property(message, fetch->destination));
	struct transfer_note note;

	(void)session;
	if (!one)
		return;
	if (transfer_received(message, &note)) {
		fetch_on_note(fetch, one, message, &note);
		return;
	}
	fetch_leave_out(fetch, one, TABLE_FAILED,
			"the peer speaks no file protocol");
	fetch_ask_all(fetch);
}

static void fetch_on_opened(struct fetch *fetch, struct fetch_one *one,
			    struct nopal_session *group)
{
	struct transfer_note ask = { .type = TRANSFER_ASK };

	one->out.session = group;
	one->heard_ns = fetch->alive_ns = fetch_now(fetch);
	if (fetch->closing || one->state != FETCH_OPENING)
		return;
	one->state = FETCH_ASKED;
	snprintf(ask.text, sizeof(ask.text), "%s", fetch->name);
	fetch_say(one, &ask);
}

static enum table_state fetch_row_state(int end)
{
	if (end == NOPAL_REFUSED)
		return TABLE_REFUSED;
	return end == NOPAL_UNREACHABLE ? TABLE_UNREACHED : TABLE_DIED;
}

/* Who refuses the composition will do so the next time, too. */
static void fetch_on_gone(struct fetch *fetch, struct fetch_one *one,
			  const struct nopal_destination_info *info)
{
	one->id = 0;
	one->out = (struct transfer_outbox){ 0 };
	if (one->state == FETCH_OUT || fetch->closing)
		return;
	fetch_stop(fetch, one,
		   info->end == NOPAL_REFUSED ? FETCH_OUT : FETCH_AWAY);
	one->again_ns = fetch_now(fetch) + FETCH_AGAIN_NS;
	fetch_row(fetch, one, fetch_row_state(info->end),
		  info->end == NOPAL_ENDED_WELL ? "it closed the session"
						: info->text);
	one->row->fix = tool_ended_fix(info->end);
	fetch_ask_all(fetch);
}

static void fetch_on_destination(struct nopal_session *session,
				 const struct nopal_destination_info *info,
				 void *user)
{
	struct fetch *fetch = user;
	struct fetch_one *one = fetch_find(fetch, info->id);

	if (!one)
		return;
	if (info->ended)
		fetch_on_gone(fetch, one, info);
	else
		fetch_on_opened(fetch, one, session);
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

static void fetch_on_ended(struct nopal_session *session, int end,
			   const char *text, void *user)
{
	struct fetch *fetch = user;

	(void)session;
	(void)end;
	(void)text;
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

static void fetch_try(struct fetch *fetch, struct fetch_one *one)
{
	int64_t id;

	one->again_ns = fetch_now(fetch) + FETCH_AGAIN_NS;
	if (!fetch->group)
		fetch->group = nopal_group_open(fetch->endpoint, fetch->plan,
						&fetch_callbacks, fetch);
	if (!fetch->group)
		return;
	id = nopal_destination_add(fetch->group, &one->address);
	if (id < 0)
		return;
	one->id = (uint32_t)id;
	one->out = (struct transfer_outbox){ .to = { fetch->destination,
						     (uint64_t)id } };
	one->state = FETCH_OPENING;
}

bool fetch_open(struct fetch *fetch)
{
	fetch->destination = nopal_property(fetch->plan, "destination");
	fetch->started_ns = fetch->alive_ns = fetch_now(fetch);
	for (unsigned i = 0; i < fetch->count; i++)
		fetch_try(fetch, &fetch->ones[i]);
	return fetch->group != NULL;
}

static void fetch_look_at(struct fetch *fetch, struct fetch_one *one)
{
	struct transfer_note ping = { .type = TRANSFER_PING };
	int64_t now_ns = fetch_now(fetch);

	if (one->state == FETCH_AWAY && now_ns >= one->again_ns)
		fetch_try(fetch, one);
	if (!fetch_is_there(one))
		return;
	fetch->alive_ns = now_ns;
	if (now_ns - one->heard_ns < FETCH_PING_NS || one->out.count)
		return;
	one->heard_ns = now_ns;
	fetch_say(one, &ping);
}

/* Is there anybody to wait for? */
static void fetch_judge(struct fetch *fetch)
{
	unsigned out = 0;

	for (unsigned i = 0; i < fetch->count; i++)
		out += fetch->ones[i].state == FETCH_OUT;
	if (out == fetch->count)
		fetch->hooks->deserted(fetch->user, "no server gives it",
				       "what each of them says is above; names "
				       "are as they are below the served "
				       "folder");
	else if (fetch_now(fetch) - fetch->alive_ns <= fetch->wait_ns)
		return;
	else if (fetch->known)
		fetch->hooks->deserted(fetch->user, "all servers are gone",
				       "start one of them again, and give the "
				       "same command");
	else
		fetch->hooks->deserted(fetch->user, "no server answers",
				       "start `nopal serve` there first, or "
				       "wait longer with --wait");
}

void fetch_tick(struct fetch *fetch)
{
	if (fetch->closing) {
		if (fetch->group &&
		    fetch_now(fetch) - fetch->closing_ns > FETCH_CLOSE_NS)
			nopal_session_abort(fetch->group, "it has all");
		return;
	}
	nopal_batch_start(fetch->world);
	for (unsigned i = 0; i < fetch->count; i++)
		fetch_look_at(fetch, &fetch->ones[i]);
	if (fetch->begun)
		fetch_plan_look(&fetch->parts, fetch_now(fetch));
	fetch_ask_all(fetch);
	fetch_judge(fetch);
	nopal_batch_stop(fetch->world);
}

void fetch_close(struct fetch *fetch)
{
	struct transfer_note all = { .type = TRANSFER_RESULT,
				     .verdict = TRANSFER_YES };

	fetch->closing = true;
	fetch->closing_ns = fetch_now(fetch);
	nopal_batch_start(fetch->world);
	for (unsigned i = 0; i < fetch->count; i++) {
		struct fetch_one *one = &fetch->ones[i];

		if (one->row->state == TABLE_WAITING)
			fetch_row(fetch, one,
				  one->state == FETCH_ASKED ? TABLE_WAITING
							    : TABLE_UNREACHED,
				  NULL);
		if (one->state == FETCH_GIVING)
			fetch_row(fetch, one, TABLE_SHARE, NULL);
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
}
