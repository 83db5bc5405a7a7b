/* SPDX-License-Identifier: MIT */
/*
 * recv_judge.c -- promises of a session of `nopal recv`, judged by its notes.
 *
 * Offsets number the messages: those of a file's DATA grow by one chunk after the other.  Not so
 * where a file goes to several receivers, where pieces lost with one are sent again to others.  The
 * sender, whose MTU may be another, chooses the length of a chunk: the first DATA shows it.
 */
#include <string.h>

#include <nopal/microprotocol.h>
#include "transfer/recv_session.h"

void recv_judge_begin(struct incoming *incoming)
{
	const struct receiver *receiver = incoming->receiver;
	struct nopal_plan *plan = receiver->group->plan;

	live_judge_begin(&incoming->judge, plan, loop_world(receiver->loop),
			 &receiver->group->judges, false);
	if (*incoming->guest.address)
		incoming->judge.peer = incoming->guest.address;
	incoming->judge.facts.numbered = !nopal_plan_provides(plan, "fan_out");
	incoming->chunk_bytes = transfer_chunk_bytes(plan);
}

static uint64_t recv_number(const struct incoming *incoming, uint64_t offset)
{
	return incoming->first_number + offset / incoming->chunk_bytes;
}

void recv_judge_note(struct incoming *incoming, const struct nopal_message *message,
		     const struct transfer_note *note)
{
	uint64_t bytes = nopal_message_length(message) - TRANSFER_DATA_HEADER;
	uint64_t size = incoming->offer.size;
	bool last = note->offset >= size || bytes >= size - note->offset;

	incoming->noted = true;
	if (note->type == TRANSFER_OFFER)
		incoming->first_number = incoming->judge.beyond;
	else if (note->type == TRANSFER_START)
		incoming->started_at = note->offset;
	if (note->type != TRANSFER_DATA || !incoming->part) {
		if (note->type != TRANSFER_PING)
			live_judge_moved(&incoming->judge);
		return;
	}
	/* The last chunk of a file may be short.  Messages numbered by another length are not
	 * judged. */
	if (!incoming->chunk_known && bytes > 0 && (!last || bytes > incoming->chunk_bytes)) {
		incoming->chunk_known = !last;
		if (bytes != incoming->chunk_bytes &&
		    incoming->judge.beyond > incoming->first_number)
			incoming->judge.facts.numbered = false;
		incoming->chunk_bytes = bytes;
	}
	live_judge_came(&incoming->judge, recv_number(incoming, note->offset));
}

/* Nothing more of the file will come. */
void recv_judge_file(struct incoming *incoming)
{
	uint64_t from = incoming->started_at, size = incoming->offer.size;
	uint64_t chunk = incoming->chunk_bytes;
	uint64_t first = recv_number(incoming, from);

	if (size && from <= size && incoming->share == RECV_WHOLE)
		live_judge_missing(&incoming->judge, first,
				   first + (size - from + chunk - 1) / chunk);
	incoming->judge.facts.bytes_seen = true;
}

const char *recv_judge_look(struct incoming *incoming)
{
	struct live_judge *judge = &incoming->judge;
	struct nopal_session *session = incoming->out.session;

	if (session && live_judge_cuts_storm(judge, session))
		return NULL;
	if (!session || !live_judge_stands(judge))
		return NULL;
	if (incoming->state != RECV_TAKING || !incoming->end.type || incoming->part->job)
		return NULL;
	live_judge_stuck(judge, session, "the end of the file has come, and no more of it");
	recv_judge_file(incoming);
	return "some of the file never came";
}

bool recv_judge_ended(struct incoming *incoming, const struct nopal_session *session,
		      enum nopal_end end, const char *text)
{
	struct recv_group *group = incoming->receiver->group;

	if (incoming->part && incoming->state == RECV_TAKING && end == NOPAL_ENDED_WELL)
		recv_judge_file(incoming);
	if (text && strstr(text, LIVE_JUDGE_STANDS))
		live_judge_has_come(&incoming->judge, session);
	live_judge_end(&incoming->judge, session, end);
	if (!live_judge_is_broken(&incoming->judge, &group->progress))
		return false;
	pthread_mutex_lock(&group->lock);
	group->broken = true;
	pthread_mutex_unlock(&group->lock);
	return true;
}
