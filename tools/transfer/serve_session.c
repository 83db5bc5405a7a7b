/* SPDX-License-Identifier: MIT */
/*
 * serve_session.c -- the sessions of `nopal serve`.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "file/reader.h"
#include "transfer/serve_session.h"

enum {
	SERVE_WANTS = 512, /* twice the parts that `nopal fetch` has under way */
};
#define SERVE_PING_NS (5 * NOPAL_SECOND) /* of silence */

struct serve_session {
	struct serve *serve;
	struct serve_session *next;
	struct guest guest;
	struct transfer_outbox out;
	struct reader reader;	 /* open while there is a file */
	struct serve_file *file; /* NULL: none */
	char name[TRANSFER_TEXT_ROOM];
	bool offered;
	struct transfer_note list;	 /* of size 0: no list is asked for */
	struct range wants[SERVE_WANTS]; /* a ring */
	unsigned first, count;
	uint64_t bytes;
	int64_t heard_ns;
};

static int64_t serve_now(const struct serve_session *to)
{
	return nopal_world_now(to->serve->world);
}

static void serve_say(const struct serve_session *to, const char *text)
{
	to->serve->say(to->serve->user, to->guest.address, text);
}

static void serve_drop(struct serve_session *to)
{
	to->count = 0;
	to->offered = false;
	to->list.size = 0;
	if (!to->file)
		return;
	reader_close(&to->reader);
	serve_file_close(&to->serve->files, to->file);
	to->file = NULL;
}

/* ------------------------------------------------------------------- the file */

/* An ANSWER with a refusal, or an ABORT of a file that was offered. */
static void serve_stop(struct serve_session *to, enum transfer_type type, const char *why)
{
	struct transfer_note note = { .type = type,
				      .verdict = TRANSFER_NO,
				      .file = to->reader.file };

	snprintf(note.text, sizeof(note.text), "%s", why);
	serve_drop(to);
	transfer_say(&to->out, &note);
	serve_say(to, note.text);
}

/* The hash of the file is known, or reading has failed. */
static void serve_answer(struct serve_session *to)
{
	struct transfer_note note;

	if (to->file->state == SERVE_FILE_FAILED) {
		serve_stop(to, TRANSFER_ANSWER, to->file->why);
		return;
	}
	to->offered = true;
	reader_offer(&to->reader, &to->out);
	note = (struct transfer_note){ .type = TRANSFER_END,
				       .file = to->reader.file,
				       .size = to->file->size,
				       .hash = to->file->hash };
	transfer_say(&to->out, &note);
	snprintf(note.text, sizeof(note.text), "%.200s: asked for, hash %016llx", to->name,
		 (unsigned long long)to->file->hash);
	serve_say(to, note.text);
}

static void serve_on_ask(struct serve_session *to, const struct transfer_note *note)
{
	struct serve *serve = to->serve;
	char why[TRANSFER_TEXT_ROOM];

	serve_drop(to);
	to->bytes = 0;
	to->reader.file = note->file;
	to->reader.offset = to->reader.end = 0;
	if (note->version != TRANSFER_ASK_VERSION) {
		snprintf(why, sizeof(why),
			 "`nopal serve` here speaks version %d of this protocol, and was asked in "
			 "version %u (fix: take the same nopal on both sides)",
			 TRANSFER_ASK_VERSION, note->version);
		serve_stop(to, TRANSFER_ANSWER, why);
		return;
	}
	if (!guests_seat(&serve->guests, &to->guest, why)) {
		serve_stop(to, TRANSFER_ANSWER, why);
		return;
	}
	snprintf(to->name, sizeof(to->name), "%s", note->text);
	to->file = serve_file_open(&serve->files, note->text, &to->reader.source, why);
	if (!to->file)
		serve_stop(to, TRANSFER_ANSWER, why);
	else if (to->file->state == SERVE_FILE_NEW)
		serve->wake(serve->user);
	else
		serve_answer(to);
}

bool serve_step(struct serve *serve)
{
	struct serve_file *file = serve_file_step(&serve->files);

	if (!file)
		return false;
	if (file->state == SERVE_FILE_NEW)
		return true;
	nopal_batch_start(serve->world); /* no session ends meanwhile */
	for (struct serve_session *to = serve->sessions; to; to = to->next) {
		if (to->file == file && !to->offered)
			serve_answer(to);
	}
	nopal_batch_stop(serve->world);
	return true;
}

/* -------------------------------------------------------------------- its parts */

/* Sends the parts that are asked for, one after the other. */
static void serve_pump(struct serve_session *to)
{
	enum reader_stop stop = READER_ALL;
	int64_t wait_ns;
	int error;

	/* The list that is asked for, where the session takes it now. */
	if (to->list.size && to->out.session) {
		error = transfer_send_hashes(to->out.session, &to->list,
					     to->file->blocks.hashes + to->list.offset);
		if (error != -EAGAIN && error != -EPIPE) {
			to->list.size = 0;
			if (error)
				nopal_session_abort(to->out.session, strerror(-error));
		}
	}
	while (stop == READER_ALL && transfer_flush(&to->out) && to->file) {
		if (to->reader.offset >= to->reader.end) {
			const struct range *want = &to->wants[to->first];

			if (!to->count)
				return;
			to->reader.chunk_bytes = (uint32_t)(want->end - want->from);
			reader_range(&to->reader, want->from, want->end);
			to->first = (to->first + 1) % SERVE_WANTS;
			to->count--;
			to->bytes += to->reader.chunk_bytes;
		}
		stop = reader_pump(&to->reader, &to->out.session, 0, &wait_ns);
		if (stop == READER_FAILED ||
		    !source_is_same(&to->reader.source, to->reader.error)) {
			serve_stop(to, TRANSFER_ABORT, to->reader.error);
			return;
		}
	}
}

/* A WANT, or a LIST. */
static void serve_on_want(struct serve_session *to, const struct transfer_note *note)
{
	struct range want = { note->offset, note->offset + note->size };
	const struct file_blocks *blocks;
	const char *wrong = NULL;

	if (!to->offered)
		return;
	blocks = &to->file->blocks;
	if (note->type == TRANSFER_LIST) {
		if (to->list.size || note->offset > blocks->count ||
		    note->size > blocks->count - note->offset)
			wrong = "it wants hashes of blocks that are not in the file";
		else
			to->list = *note;
	} else if (want.end > to->file->size || want.end < want.from ||
		   note->size > blocks->block_bytes || to->count == SERVE_WANTS) {
		wrong = "it wants bytes that are not in the file";
	} else {
		to->wants[(to->first + to->count) % SERVE_WANTS] = want;
		to->count++;
	}
	if (wrong)
		nopal_session_abort(to->out.session, wrong);
	else
		serve_pump(to);
}

/* -------------------------------------------------------------------- callbacks */

static void *serve_on_accepted(struct nopal_session *session, void *user)
{
	struct serve *serve = user;
	struct serve_session *to = calloc(1, sizeof(*to));

	if (!to)
		return NULL;
	to->serve = serve;
	to->out.session = session;
	to->heard_ns = serve_now(to);
	reader_init(&to->reader, serve->world, 0);
	guests_enter(&serve->guests, &to->guest, session);
	to->next = serve->sessions;
	serve->sessions = to;
	return to;
}

static void serve_on_opened(struct nopal_session *session, void *user)
{
	if (!user)
		nopal_session_abort(session, "out of memory");
}

static void serve_on_received(struct nopal_session *session, struct nopal_message *message,
			      void *user)
{
	struct serve_session *to = user;
	char text[2 * TRANSFER_TEXT_ROOM];
	struct transfer_note note;

	if (!to)
		return;
	to->heard_ns = serve_now(to);
	if (!transfer_received(message, &note)) {
		nopal_session_abort(session, TRANSFER_STRANGER);
	} else if (note.type == TRANSFER_ASK) {
		serve_on_ask(to, &note);
	} else if (note.file != to->reader.file) {
		return;
	} else if (note.type == TRANSFER_WANT || note.type == TRANSFER_LIST) {
		serve_on_want(to, &note);
	} else if (note.type == TRANSFER_RESULT && to->file) {
		snprintf(text, sizeof(text), "%s: the file has arrived; %llu bytes from here",
			 to->name, (unsigned long long)to->bytes);
		serve_drop(to);
		serve_say(to, text);
	}
}

static void serve_on_writable(struct nopal_session *session, void *user)
{
	(void)session;
	if (user)
		serve_pump(user);
}

static void serve_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			   void *user)
{
	struct serve_session *to = user, **at;
	char line[2 * TRANSFER_TEXT_ROOM];

	(void)session;
	if (!to)
		return;
	to->out.session = NULL;
	if (to->file) {
		snprintf(line, sizeof(line), "%s: session ended after %llu bytes: %.200s", to->name,
			 (unsigned long long)to->bytes,
			 end == NOPAL_ENDED_WELL ? "the peer closed it"
			 : text			 ? text
						 : "broken");
		serve_say(to, line);
	}
	serve_drop(to);
	for (at = &to->serve->sessions; *at != to; at = &(*at)->next)
		;
	*at = to->next;
	guests_leave(&to->serve->guests, &to->guest);
	free(to);
}

void serve_init(struct serve *serve, unsigned sessions_each)
{
	guests_house_init(&serve->house, sessions_each, 0);
	serve->guests.house = &serve->house;
}

void serve_fini(struct serve *serve)
{
	serve_files_fini(&serve->files);
	guests_house_fini(&serve->house);
}

const struct nopal_callbacks serve_callbacks = {
	.accepted = serve_on_accepted,
	.opened = serve_on_opened,
	.received = serve_on_received,
	.writable = serve_on_writable,
	.ended = serve_on_ended,
};

void serve_tick(struct serve *serve)
{
	const struct transfer_note ping = { .type = TRANSFER_PING };

	nopal_batch_start(serve->world); /* no session ends meanwhile */
	for (struct serve_session *to = serve->sessions; to; to = to->next) {
		bool silent = serve_now(to) - to->heard_ns >= SERVE_PING_NS;
		/* The peer waits while all of a file is read: a long one takes long. */
		bool owes = to->file && to->file->state == SERVE_FILE_NEW;

		if ((!silent && !owes) || to->out.count)
			continue;
		if (silent)
			to->heard_ns = serve_now(to);
		transfer_say(&to->out, &ping);
	}
	nopal_batch_stop(serve->world);
}
