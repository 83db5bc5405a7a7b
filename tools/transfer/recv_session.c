/* SPDX-License-Identifier: MIT */
/*
 * recv_session.c -- the sessions of `nopal recv`, a file at a time.
 *
 *   IDLE --OFFER--> CHECKING --ANSWER--> ANSWERED --START--> TAKING --END-->
 *   COMMITTING --RESULT--> IDLE
 *
 * Or, where other receivers have the rest: TAKING --SHARE--> a sync, HELD, and TAKING on until the
 * session ends.
 *
 * Where the composition does not order them, DATA, END and SHARE may overtake START.
 *
 * The file on disk is file/part.c's work; here are the notes from and to the peer.  The composition
 * notices a silent peer, as pings ask for its answer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "peer/rendezvous.h"
#include "transfer/recv_session.h"

#define RECV_PING_NS   (5 * NOPAL_SECOND) /* of silence, between files */
#define RECV_SILENT_NS (2 * NOPAL_SECOND) /* then another session may take its file */
/* An empty part is removed then: a first message takes less. */
#define RECV_GROW_NS (600 * NOPAL_SECOND)

/* ------------------------------------------------------- a file ends, somehow */

static void recv_forget_part(struct incoming *incoming, bool keep)
{
	loop_event_free(incoming->job);
	incoming->job = NULL;
	loop_event_stop(incoming->step);
	if (incoming->part)
		recv_unclaim(incoming, part_close(incoming->part, keep));
	incoming->part = NULL;
	incoming->state = RECV_IDLE;
}

/* `error` NULL: the file is here, whole. */
static void recv_file_over(struct incoming *incoming, const char *error)
{
	struct receiver *receiver = incoming->receiver;
	struct progress_file *file = &incoming->file;

	file->error = error;
	if (incoming->part) {
		file->bytes = incoming->part->whole;
		file->hash = file_hash_value(&incoming->part->hash);
	}
	file->transport = nopal_endpoint_transport(receiver->endpoint);
	if (!error)
		recv_judge_file(incoming);
	file->judged = live_judge_json(&incoming->judge, incoming->out.session);
	progress_end(&receiver->group->progress, file, loop_now(receiver->loop));
	if (error)
		incoming->files_bad++;
	else
		incoming->files_good++;
	recv_forget_part(incoming, false);
}

static void recv_result(struct incoming *incoming, const char *error)
{
	const struct transfer_note note = { .type = TRANSFER_RESULT,
					    .verdict = error ? TRANSFER_NO : TRANSFER_YES,
					    .file = incoming->offer.file };

	transfer_say_text(&incoming->out, note, error ? error : "");
	recv_file_over(incoming, error);
}

static void recv_answer(struct incoming *incoming, enum transfer_verdict verdict, uint64_t offset,
			uint64_t hash)
{
	const struct transfer_note note = { .type = TRANSFER_ANSWER,
					    .verdict = verdict,
					    .file = incoming->offer.file,
					    .offset = offset,
					    .hash = hash };

	transfer_say_text(&incoming->out, note, verdict == TRANSFER_YES ? "" : incoming->error);
}

/* ----------------------------------------------------------------- finishing */

/* Are all bytes here, and is their hash known on both sides?  Then the file ends. */
static void recv_try_finish(struct incoming *incoming)
{
	struct part *part = incoming->part;

	if (!incoming->end.type || incoming->state != RECV_TAKING)
		return;
	if (incoming->end.size != incoming->offer.size) {
		recv_result(incoming, "the sender's file changed its size");
		return;
	}
	if (part->whole < part->size || part->job != PART_NO_JOB)
		return;
	if (file_hash_value(&part->hash) != incoming->end.hash) {
		incoming->judge.facts.garbled = true;
		recv_result(incoming, TRANSFER_HASH_DIFFERS);
		return;
	}
	if (part->here) {
		recv_result(incoming, NULL);
		return;
	}
	incoming->state = RECV_COMMITTING;
	part_begin(part, PART_COMMITTING);
}

static void recv_try_share(struct incoming *incoming)
{
	if (incoming->state != RECV_TAKING || incoming->part->job != PART_NO_JOB)
		return;
	if (incoming->share == RECV_SHARE_ASKED) {
		incoming->share = RECV_SHARE_SAVING;
		part_begin(incoming->part, PART_SAVING);
	} else if (incoming->share == RECV_SHARE_SAVING) {
		struct range ranges[TRANSFER_RANGES_MAX];
		size_t count;

		incoming->share = RECV_SHARED;
		count = part_ranges(incoming->part, ranges);
		incoming->file.bytes = ranges_bytes(ranges, count);
		if (incoming->out.session &&
		    !transfer_send_held(incoming->out.session, incoming->offer.file, ranges, count))
			nopal_session_abort(incoming->out.session, "the peer takes no notes");
	}
}

/* A sync, or the last one with its rename, is done. */
static void recv_on_job(void *user)
{
	struct incoming *incoming = user;
	int error = part_finish(incoming->part);

	if (error) {
		transfer_wrong(incoming->error, incoming->offer.text, strerror(-error));
		recv_result(incoming, incoming->error);
	} else if (incoming->state == RECV_COMMITTING) {
		recv_result(incoming, NULL);
	} else if (incoming->share == RECV_SHARE_ASKED || incoming->share == RECV_SHARE_SAVING) {
		recv_try_share(incoming);
	} else {
		recv_try_finish(incoming);
	}
}

/* -------------------------------------------------------------------- notes */

static void recv_step(void *user)
{
	struct incoming *incoming = user;
	uint64_t offset, hash;

	if (incoming->state != RECV_CHECKING)
		return;
	if (!part_check(incoming->part, &offset, &hash)) {
		loop_event_start(incoming->step, 0);
		return;
	}
	incoming->state = RECV_ANSWERED;
	incoming->answered_ns = loop_now(incoming->receiver->loop);
	recv_answer(incoming, TRANSFER_YES, offset, hash);
}

void recv_session_give_up(struct receiver *receiver, uint64_t id)
{
	int64_t now_ns = loop_now(receiver->loop);

	for (struct incoming *other = receiver->incomings; other; other = other->next) {
		if (!other->part || !other->out.session || other->state == RECV_COMMITTING ||
		    other->offer.id != id || now_ns - other->heard_ns < RECV_SILENT_NS)
			continue;
		nopal_session_abort(other->out.session, "another session goes on with its file");
		return;
	}
}

static void recv_on_offer(struct incoming *incoming, const struct transfer_note *note)
{
	struct receiver *receiver = incoming->receiver;
	enum transfer_verdict verdict = TRANSFER_NO;

	recv_forget_part(incoming, true);
	incoming->offer = *note;
	incoming->file = (struct progress_file){
		.name = incoming->offer.text,
		.plan = nopal_plan_info(receiver->group->plan)->name,
		.peer = incoming->guest.address,
		.total_bytes = incoming->offer.size,
		.started_ns = loop_now(receiver->loop),
	};
	incoming->end.type = 0;
	incoming->share = RECV_WHOLE;
	_Static_assert(sizeof(incoming->error) >= GUESTS_WHY_ROOM, "a reason");
	if (guests_seat(&receiver->guests, &incoming->guest, incoming->error))
		verdict = part_open(&receiver->group->folder, &incoming->offer, &incoming->part,
				    incoming->error);
	/* The part is open: may its address have it, and is there memory to work on it? */
	if (verdict == TRANSFER_YES && recv_claim(incoming)) {
		incoming->job = loop_event_new(receiver->loop, LOOP_READABLE,
					       incoming->part->done_fd, recv_on_job, incoming);
		if (incoming->job) {
			loop_event_start(incoming->job, 0);
			incoming->state = RECV_CHECKING;
			recv_step(incoming);
			return;
		}
		snprintf(incoming->error, sizeof(incoming->error), "out of memory");
	}
	recv_forget_part(incoming, true);
	recv_answer(incoming, verdict == TRANSFER_LATER ? TRANSFER_LATER : TRANSFER_NO, 0, 0);
	if (verdict == TRANSFER_LATER) {
		/* The same file on another session whose peer says nothing: its sender was probably
		 * started again, and its new port may have led it to another loop. */
		recv_session_give_up(receiver, incoming->offer.id);
		recv_loops_want(receiver, incoming->offer.id);
	} else {
		recv_file_over(incoming, incoming->error);
	}
}

static void recv_on_data(struct incoming *incoming, const struct nopal_message *message,
			 const struct transfer_note *note)
{
	struct receiver *receiver = incoming->receiver;
	uint64_t offset, whole, skip;

	if (incoming->state != RECV_TAKING && incoming->state != RECV_ANSWERED)
		return;
	/* Bytes that are here already are passed over: the sender began at the shortest beginning
	 * of all receivers. */
	offset = note->offset;
	whole = incoming->state == RECV_TAKING ? incoming->part->whole : 0;
	skip = offset < whole ? whole - offset : 0;
	if (!part_write_message(incoming->part, offset + skip, message, TRANSFER_DATA_HEADER + skip,
				incoming->error)) {
		recv_result(incoming, incoming->error);
		return;
	}
	if (incoming->state == RECV_ANSWERED)
		return;
	incoming->file.bytes = incoming->part->whole;
	progress_show(&receiver->group->progress, &incoming->file, incoming->heard_ns);
	part_save_sometimes(incoming->part, incoming->heard_ns);
	recv_try_finish(incoming);
}

/* ---------------------------------------------------- several streams of one sender */

/* The session by which the sender of this DATA offered the file, where DATA come by several streams
 * of its; else this one. */
static struct incoming *recv_stream_of(struct incoming *incoming, const struct transfer_note *note)
{
	struct receiver *receiver = incoming->receiver;
	struct incoming *at = receiver->incomings;

	if (incoming->part || note->type != TRANSFER_DATA ||
	    !nopal_plan_provides(receiver->group->plan, "host_streams"))
		return incoming;
	while (at && (!at->part || !at->out.session || at->offer.file != note->file ||
		      strcmp(at->guest.address, incoming->guest.address) != 0))
		at = at->next;
	if (!at)
		return incoming;
	if (!incoming->guest.seated &&
	    !guests_seat(&receiver->guests, &incoming->guest, incoming->error))
		return incoming;
	at->heard_ns = incoming->heard_ns;
	return at;
}

/* ------------------------------------------------------------------ callbacks */

static struct incoming *recv_incoming_new(struct receiver *receiver)
{
	struct incoming *incoming = calloc(1, sizeof(*incoming));

	if (!incoming)
		return NULL;
	incoming->step = loop_event_new(receiver->loop, LOOP_TIMER, -1, recv_step, incoming);
	if (!incoming->step) {
		free(incoming);
		return NULL;
	}
	incoming->receiver = receiver;
	incoming->next = receiver->incomings;
	receiver->incomings = incoming;
	return incoming;
}

static void *recv_on_accepted(struct nopal_session *session, void *user)
{
	struct receiver *receiver = user;
	struct incoming *incoming = recv_incoming_new(receiver);

	if (incoming) {
		guests_enter(&receiver->guests, &incoming->guest, session);
		incoming->out.session = session;
		incoming->heard_ns = loop_now(receiver->loop);
		recv_judge_begin(incoming);
	}
	return incoming;
}

static void recv_on_opened(struct nopal_session *session, void *user)
{
	struct incoming *incoming = user;

	if (!incoming) {
		nopal_session_abort(session, "out of memory");
		return;
	}
	incoming->out.session = session;
	incoming->heard_ns = loop_now(incoming->receiver->loop);
	if (!incoming->judge.plan)
		recv_judge_begin(incoming);
}

static void recv_on_received(struct nopal_session *session, struct nopal_message *message,
			     void *user)
{
	struct incoming *incoming = user;
	struct transfer_note note;

	if (!incoming)
		return;
	incoming->heard_ns = loop_now(incoming->receiver->loop);
	if (!transfer_received(message, &note)) {
		incoming->judge.facts.garbled = incoming->noted;
		nopal_session_abort(session, TRANSFER_STRANGER);
		return;
	}
	incoming->noted = true;
	incoming = recv_stream_of(incoming, &note);
	recv_judge_note(incoming, message, &note);
	if (note.type == TRANSFER_OFFER) {
		recv_on_offer(incoming, &note);
		return;
	}
	if (note.file != incoming->offer.file || !incoming->part)
		return;
	if (note.type == TRANSFER_START && incoming->state == RECV_ANSWERED) {
		if (!part_start(incoming->part, note.offset, incoming->error)) {
			recv_result(incoming, incoming->error);
			return;
		}
		incoming->state = RECV_TAKING;
		incoming->file.resumed_bytes = note.offset;
		incoming->file.bytes = incoming->part->whole;
		recv_try_share(incoming); /* it may have come first, as the END may */
		recv_try_finish(incoming);
	} else if (note.type == TRANSFER_DATA) {
		recv_on_data(incoming, message, &note);
	} else if (note.type == TRANSFER_END &&
		   (incoming->state == RECV_TAKING || incoming->state == RECV_ANSWERED)) {
		incoming->end = note;
		recv_try_finish(incoming);
	} else if (note.type == TRANSFER_SHARE) {
		incoming->share = RECV_SHARE_ASKED;
		recv_try_share(incoming);
	} else if (note.type == TRANSFER_ABORT) {
		snprintf(incoming->error, sizeof(incoming->error), "the sender: %.200s", note.text);
		recv_file_over(incoming, incoming->error);
	}
}

static void recv_on_writable(struct nopal_session *session, void *user)
{
	struct incoming *incoming = user;

	(void)session;
	if (incoming)
		transfer_flush(&incoming->out);
}

static void recv_incoming_free(struct incoming *incoming)
{
	struct receiver *receiver = incoming->receiver;
	struct incoming **at = &receiver->incomings;

	recv_forget_part(incoming, true);
	while (*at != incoming)
		at = &(*at)->next;
	*at = incoming->next;
	if (incoming->guest.session)
		guests_leave(&receiver->guests, &incoming->guest);
	loop_event_free(incoming->step);
	live_judge_fini(&incoming->judge);
	free(incoming);
}

static void recv_say_end(struct incoming *incoming, bool shared, enum nopal_end end,
			 const char *text)
{
	struct progress *progress = &incoming->receiver->group->progress;
	struct progress_file *file = &incoming->file;
	const struct part *part = incoming->part;
	char error[TRANSFER_TEXT_ROOM];

	snprintf(error, sizeof(error), "session ended: %.200s",
		 end == NOPAL_ENDED_WELL ? "the sender closed it"
		 : text			 ? text
					 : "broken");
	if (!part) {
		if (end != NOPAL_ENDED_WELL && !incoming->guest.sent_away)
			progress_say(progress, "%s: %s", incoming->guest.address, error);
		return;
	}
	file->share = shared && end == NOPAL_ENDED_WELL;
	if (file->share) {
		incoming->files_good++;
	} else {
		file->error = error;
		file->bytes = part->whole;
		file->transport = nopal_endpoint_transport(incoming->receiver->endpoint);
	}
	progress_end(progress, file, loop_now(incoming->receiver->loop));
	if (!file->share && part->whole > 0)
		progress_say(progress,
			     "%s: %llu of %llu bytes are kept; they go on when the file is sent "
			     "again",
			     incoming->offer.text, (unsigned long long)part->whole,
			     (unsigned long long)incoming->offer.size);
}

static void recv_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			  void *user)
{
	struct incoming *incoming = user;
	struct recv_group *group;
	bool broken, shared, good, brings_more = false;

	if (!incoming)
		return;
	group = incoming->receiver->group;
	/* A sender may have another session that brings a file: nopal send --small. */
	for (const struct incoming *at = incoming->receiver->incomings; at; at = at->next)
		brings_more |= at != incoming && at->part;
	shared = incoming->part && incoming->share == RECV_SHARED;
	/* Where the composition tells no end, a session without an open file has ended well. */
	if ((!incoming->part || shared) && !transfer_plan_tells(group->plan))
		end = NOPAL_ENDED_WELL;
	broken = recv_judge_ended(incoming, session, end, text);
	incoming->out.session = NULL;
	recv_say_end(incoming, shared, end, text);
	good = end == NOPAL_ENDED_WELL && !incoming->files_bad;
	if (group->rendezvous) {
		if (rendezvous_ended_fix(true, end))
			progress_say(&group->progress, "  fix: %s",
				     rendezvous_ended_fix(true, end));
		recv_loops_stop(group, good ? TOOL_GOOD : TOOL_FAILED);
	} else if (group->once && broken) {
		recv_loops_stop(group, TOOL_FAILED);
	} else if (group->once && end == NOPAL_ENDED_WELL && !brings_more &&
		   incoming->files_good + incoming->files_bad > 0) {
		recv_loops_stop(group, good ? TOOL_GOOD : TOOL_FAILED);
	}
	recv_incoming_free(incoming);
}

const struct nopal_callbacks recv_session_callbacks = {
	.accepted = recv_on_accepted,
	.opened = recv_on_opened,
	.received = recv_on_received,
	.writable = recv_on_writable,
	.ended = recv_on_ended,
};

bool recv_session_rendezvous(struct receiver *receiver, const struct nopal_address *peer)
{
	struct incoming *incoming = recv_incoming_new(receiver);
	struct nopal_session *session;

	if (!incoming)
		return false;
	session = rendezvous_open(&(struct rendezvous){ .wanted = true }, receiver->endpoint,
				  receiver->group->plan, peer, &recv_session_callbacks, incoming);
	if (session)
		guests_enter(&receiver->guests, &incoming->guest, session);
	else
		recv_incoming_free(incoming);
	return session != NULL;
}

void recv_session_ping(void *user)
{
	struct transfer_note note = { .type = TRANSFER_PING };
	struct receiver *receiver = user;
	int64_t now_ns = loop_now(receiver->loop);
	struct incoming *next;
	const char *stuck;

	for (struct incoming *at = receiver->incomings; at; at = next) {
		next = at->next;
		progress_say_silence(&receiver->group->progress, at->out.session, &at->said_silent);
		if (at->part && (at->state == RECV_ANSWERED || at->state == RECV_TAKING) &&
		    part_is_empty(at->part) && now_ns - at->answered_ns >= RECV_GROW_NS)
			recv_result(at, "nothing of it came for 10 minutes");
		stuck = recv_judge_look(at);
		if (stuck)
			recv_result(at, stuck);
		if (at->out.session && at->out.count == 0 &&
		    now_ns - at->heard_ns >= (at->part ? PROGRESS_LOOK_NS : RECV_PING_NS))
			transfer_say(&at->out, &note);
	}
	loop_event_start(receiver->ping, PROGRESS_LOOK_NS);
}
