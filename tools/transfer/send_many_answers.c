/* SPDX-License-Identifier: MIT */
/*
 * send_many_answers.c -- what each of many receivers says, and what becomes of it.
 */
#include <string.h>

#include "transfer/send_many_answers.h"
#include "transfer/send_many_file.h"
#include "transfer/send_many_shares.h"

#define MANY_AGAIN	    "then the same command again: who has the file is left alone"
#define MANY_OFFER_AGAIN_NS (500 * NOPAL_MILLISECOND)
#define MANY_OFFER_FOR_NS   (60 * NOPAL_SECOND)

/* Of a file that is spread a beginning is no use. */
static uint64_t many_has(const struct many *many, uint64_t offset)
{
	uint64_t size = many->reader.source.size;

	return offset == size || (offset < size && !many->table.spread) ? offset : 0;
}

static void many_on_answer(struct many *many, struct many_one *one,
			   const struct transfer_note *note)
{
	if (note->verdict == TRANSFER_NO) {
		many_leave(many, one, TABLE_REFUSED, note->text);
		one->row->fix = "mend that there, " MANY_AGAIN;
	} else if (note->verdict == TRANSFER_LATER) {
		const char *why = note->text;
		int64_t now_ns = many_now(many);

		if (now_ns - one->offered_ns > MANY_OFFER_FOR_NS) {
			many_leave(many, one, TABLE_REFUSED, why);
			return;
		}
		one->state = MANY_WAITING;
		one->again_ns = now_ns + MANY_OFFER_AGAIN_NS;
	} else {
		one->state = MANY_ANSWERED;
		one->its_hash = note->hash;
		one->has = many_has(many, note->offset);
	}
}

/* ------------------------------------------------------------------- callbacks */

static void many_on_result(struct many *many, struct many_one *one,
			   const struct transfer_note *note)
{
	char why[TRANSFER_TEXT_ROOM];

	if (note->verdict == TRANSFER_YES && one->state == MANY_ENDED) {
		many->judge.facts.bytes_seen = true;
		one->row->bytes = many->reader.source.size;
		many_leave(many, one, one->has_it ? TABLE_HERE : TABLE_COMPLETE, NULL);
		return;
	}
	many->judge.facts.garbled |= strcmp(note->text, TRANSFER_HASH_DIFFERS) == 0;
	snprintf(why, sizeof(why), "the receiver: %.200s",
		 note->verdict == TRANSFER_YES ? "done before the end" : note->text);
	many_measure_all(many);
	many_leave(many, one, TABLE_FAILED, why);
	one->row->fix = "mend that there, " MANY_AGAIN;
}

static void many_on_received(struct nopal_session *session, struct nopal_message *message,
			     void *user)
{
	struct many *many = user;
	struct many_one *one = many_find(many, nopal_message_property(message, many->destination));
	struct transfer_note note;

	(void)session;
	if (!one)
		return;
	if (transfer_received(message, &note)) {
		one->heard_ns = one->spoke_ns = many_now(many);
		if (note.file != many->reader.file || one->state == MANY_OUT)
			return;
		if (note.type == TRANSFER_ANSWER && one->state == MANY_OFFERED)
			many_on_answer(many, one, &note);
		else if (note.type == TRANSFER_RESULT)
			many_on_result(many, one, &note);
		else if (note.type == TRANSFER_HELD && one->state == MANY_ENDED &&
			 many->stage == MANY_ENDING)
			many_on_held(many, one, message);
		else
			return;
		live_judge_moved(&many->judge);
		many_go_on(many);
		return;
	}
	many_over(many, one, TABLE_FAILED, TRANSFER_STRANGER);
	nopal_destination_remove(many->group, one->id, true);
	many_go_on(many);
}

static enum table_state many_state_of_end(enum nopal_end end)
{
	if (end == NOPAL_REFUSED || end == NOPAL_NOT_AUTHENTIC)
		return TABLE_REFUSED;
	return end == NOPAL_UNREACHABLE ? TABLE_UNREACHED : TABLE_DIED;
}

/* Its session ended before it was over for it. */
static void many_lose(struct many *many, struct many_one *one,
		      const struct nopal_destination_info *info)
{
	int end;

	if (many->interrupted) {
		many_over(many, one, one->row->state, "interrupted");
		return;
	}
	one->dead = true;
	many_over(many, one, many_state_of_end(info->end),
		  info->end == NOPAL_ENDED_WELL ? "it closed the session" : info->text);
	end = info->end;
	if (end == NOPAL_PEER_LOST || end == NOPAL_GAVE_UP || end == NOPAL_ABORTED)
		one->row->fix = "bring it back, " MANY_AGAIN;
	else
		one->row->fix = tool_ended_fix(end);
	many_go_on(many);
}

static void many_on_destination(struct nopal_session *session,
				const struct nopal_destination_info *info, void *user)
{
	struct many *many = user;
	struct many_one *one;

	/* Without a handshake it is open before it was told that it has an id. */
	one = many_find(many, info->id);
	for (unsigned i = 0; i < many->count && !one; i++) {
		struct many_one *at = &many->ones[i];

		if (at->state != MANY_OPENING || at->id ||
		    !nopal_address_equal(&at->address, &info->address))
			continue;
		many_name(many, at, info->id);
		one = at;
	}
	if (info->ended)
		live_judge_destination_ended(&many->judge, info);
	if (!one)
		return;
	live_judge_moved(&many->judge);
	one->heard_ns = many_now(many);
	if (!info->ended) {
		one->out.session = session;
		one->offered_ns = one->heard_ns;
		if (one->state == MANY_OPENING)
			many_offer(many, one);
		return;
	}
	many_measure(many, one, info);
	one->id = 0;
	one->out.session = NULL;
	one->out.count = 0;
	many_forget_held(one);
	if (one->state != MANY_OUT)
		many_lose(many, one, info);
}

static void many_on_sent(struct nopal_session *session, uint64_t cookie, enum nopal_outcome outcome,
			 void *user)
{
	struct many *many = user;

	(void)session;
	(void)outcome;
	if (cookie != MANY_DATA)
		return;
	many->outcomes++;
	if (many->stage == MANY_DRAINING)
		many_go_on(many);
}

static void many_on_writable(struct nopal_session *session, void *user)
{
	(void)session;
	many_flush(user);
	many_pump(user);
}

static void many_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			  void *user)
{
	struct many *many = user;

	(void)text;
	live_judge_end(&many->judge, session, end);
	many->group = NULL;
	many->stage = MANY_CLOSING;
	loop_event_start(many->next, 0);
}

const struct nopal_callbacks many_callbacks = {
	.received = many_on_received,
	.sent = many_on_sent,
	.writable = many_on_writable,
	.destination = many_on_destination,
	.ended = many_on_ended,
};
