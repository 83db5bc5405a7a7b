/* SPDX-License-Identifier: MIT */
/*
 * send_one.c -- files from `nopal send` to one receiver, in one session.
 *
 *   OPENING -> ASKED -> ANSWERED -> TAKING -> ENDED -> next file ... -> OUT: the session closes
 *               ^  |    (compares   (DATA)    (waits for RESULT)
 *               |  v     the bytes
 *              WAITING   there)
 *
 * A file is read once, straight into the buffers that leave, and hashed on the way.  The file may
 * not change meanwhile: size and time are compared again before the END.  The composition decides
 * that the peer is gone; while the sender only waits, it sends pings, so that there is something to
 * acknowledge.
 *
 * With --small there are two senders, each with a session of its own from the same endpoint: the
 * second has the small files, which wait for no large one then.  Where the composition has streams,
 * both are streams of one flow.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <nopal/microprotocol.h>
#include "file/reader.h"
#include "frame/loop.h"
#include "peer/live_judge.h"
#include "transfer/destination.h"
#include "transfer/send.h"

enum {
	SEND_TEXT_ROOM = 4096, /* differences of two compositions are long */
	SEND_PINGS_AWAY = 2,   /* whose outcome is open */
	SEND_SENDERS = 2,      /* of all files but the small ones, and of those */
};
#define SEND_LEAVE_NS	   (2 * NOPAL_SECOND) /* for so long a flow may close */
#define SEND_LEAVE_LOOK_NS (5 * NOPAL_MILLISECOND)

struct sender {
	struct sender *beside; /* the other one; NULL: there is one */
	struct loop *loop;
	struct nopal_plan *plan;
	struct nopal_endpoint *endpoint;
	struct destination to;
	struct progress progress;
	struct progress_file file;
	char **paths;
	struct rendezvous rendezvous;
	int path_count, at; /* the file that is on its way */
	enum tool_exit exit;
	bool interrupted, over;
	bool alone; /* no answer comes, where no handshake tells that */
	struct reader reader;
	bool said_silent;
	struct live_judge judge;
	struct live_judge_options judges;
	bool noted;    /* a note of the protocol has come */
	int64_t pings; /* that left here */
	int64_t moves; /* see send_is_stuck() */
	struct loop_event *step, *ping, *leave;
};

static void send_next_file(struct sender *sender);
static void send_pump(struct sender *sender);

/* ------------------------------------------------------- a file ends, somehow */

static void send_file_over(struct sender *sender, const char *error)
{
	sender->file.error = error;
	sender->file.bytes = sender->reader.offset;
	if (error)
		sender->exit = TOOL_FAILED;
	sender->file.transport = nopal_endpoint_transport(sender->endpoint);
	sender->file.judged = live_judge_json(&sender->judge, sender->to.out.session);
	progress_end(&sender->progress, &sender->file, loop_now(sender->loop));
	reader_close(&sender->reader);
	loop_event_stop(sender->step);
	sender->at++;
	send_next_file(sender);
}

/* The fault `reader.error` is here: the other side is told. */
static void send_file_fails(struct sender *sender)
{
	const struct transfer_note note = { .type = TRANSFER_ABORT, .file = (uint32_t)sender->at };

	transfer_say_text(&sender->to.out, note, sender->reader.error);
	send_file_over(sender, sender->reader.error);
}

/* ------------------------------------------------------------------ offering */

static void send_begin_file(struct sender *sender, const char *name)
{
	sender->file = (struct progress_file){
		.name = name,
		.plan = nopal_plan_info(sender->plan)->name,
		.started_ns = loop_now(sender->loop),
	};
}

/* All results are here; a note of this side may be under way yet. */
static void send_close(struct sender *sender)
{
	sender->to.phase = PHASE_OUT;
	if (!transfer_flush(&sender->to.out))
		return;
	if (sender->exit == TOOL_GOOD && !transfer_plan_tells(sender->plan))
		nopal_session_abort(sender->to.out.session, "all was sent");
	else
		nopal_session_close(sender->to.out.session);
}

static void send_next_file(struct sender *sender)
{
	if (!sender->to.out.session)
		return;
	if (sender->at == sender->path_count) {
		send_close(sender);
		return;
	}
	sender->to.offered_ns = loop_now(sender->loop);
	send_begin_file(sender, sender->reader.source.name);
	if (!reader_open(&sender->reader, (uint32_t)sender->at, sender->paths[sender->at])) {
		send_file_over(sender, sender->reader.error);
		return;
	}
	sender->file.total_bytes = sender->reader.source.size;
	destination_offer(&sender->to, &sender->reader);
}

/* ------------------------------------------------------------------ starting */

static void send_start(struct sender *sender, uint64_t offset)
{
	reader_from(&sender->reader, offset, NULL);
	sender->file.resumed_bytes = offset;
	sender->to.phase = PHASE_TAKING;
	reader_start(&sender->reader, &sender->to.out, offset);
	send_pump(sender);
}

static void send_on_answer(struct sender *sender, const struct transfer_note *note)
{
	if (note->verdict == TRANSFER_NO) {
		snprintf(sender->reader.error, sizeof(sender->reader.error), "refused: %.200s",
			 note->text);
		send_file_over(sender, sender->reader.error);
	} else if (note->verdict == TRANSFER_LATER) {
		if (loop_now(sender->loop) - sender->to.offered_ns > TRANSFER_OFFER_FOR_NS) {
			snprintf(sender->reader.error, sizeof(sender->reader.error), "%s",
				 note->text);
			send_file_fails(sender);
			return;
		}
		sender->to.phase = PHASE_WAITING;
		loop_event_start(sender->step, TRANSFER_OFFER_AGAIN_NS);
	} else if (note->offset == 0 || note->offset > sender->file.total_bytes) {
		send_start(sender, 0);
	} else {
		sender->to.phase = PHASE_ANSWERED;
		sender->to.has = note->offset;
		sender->to.hash = note->hash;
		loop_event_start(sender->step, 0);
	}
}

/* ------------------------------------------------------------------- sending */

static void send_pump(struct sender *sender)
{
	enum reader_stop stop;
	int64_t wait_ns;

	if (sender->to.phase != PHASE_TAKING || !sender->to.out.session || sender->interrupted ||
	    !transfer_flush(&sender->to.out))
		return;
	stop = reader_pump(&sender->reader, &sender->to.out.session, 0, &wait_ns);
	sender->file.bytes = sender->reader.offset;
	progress_show(&sender->progress, &sender->file, loop_now(sender->loop));
	if (stop == READER_ALL) {
		struct transfer_note note;

		if (!reader_end(&sender->reader, &note)) {
			send_file_fails(sender);
			return;
		}
		sender->file.hash = note.hash;
		sender->to.phase = PHASE_ENDED;
		transfer_say(&sender->to.out, &note);
	} else if (stop == READER_PACED) {
		/* The sender waits, and not for the receiver. */
		loop_event_start(sender->step, wait_ns);
		sender->judge.moved_ns = loop_now(sender->loop) + wait_ns;
	} else if (stop == READER_FAILED) {
		send_file_fails(sender);
	}
}

/* The time has come to go on with the file. */
static void send_step(void *user)
{
	struct sender *sender = user;

	if (sender->to.phase == PHASE_WAITING) {
		destination_offer(&sender->to, &sender->reader);
		return;
	}
	if (sender->to.phase != PHASE_ANSWERED) {
		send_pump(sender);
		return;
	}
	/* Compares the receiver's bytes with the beginning of this file, a step at a time. */
	live_judge_moved(&sender->judge);
	if (!reader_hash(&sender->reader, sender->to.has))
		send_file_fails(sender);
	else if (sender->reader.source.offset < sender->to.has)
		loop_event_start(sender->step, 0);
	else if (file_hash_value(&sender->reader.source.hash) == sender->to.hash)
		send_start(sender, sender->to.has);
	else
		send_start(sender, 0);
}

/* ------------------------------------------------------------------ callbacks */

static void send_on_opened(struct nopal_session *session, void *user)
{
	struct sender *sender = user;

	sender->to.out.session = session;
	live_judge_moved(&sender->judge);
	send_next_file(sender);
}

static void send_on_writable(struct nopal_session *session, void *user)
{
	struct sender *sender = user;

	(void)session;
	if (sender->to.phase == PHASE_OUT)
		send_close(sender);
	else if (transfer_flush(&sender->to.out))
		send_pump(sender);
}

static void send_on_received(struct nopal_session *session, struct nopal_message *message,
			     void *user)
{
	struct sender *sender = user;
	struct transfer_note note;

	if (!transfer_received(message, &note)) {
		sender->judge.facts.garbled = sender->noted;
		nopal_session_abort(session, TRANSFER_STRANGER);
		return;
	}
	sender->noted = true;
	sender->to.heard_ns = loop_now(sender->loop);
	if (note.file != (uint32_t)sender->at || sender->to.phase == PHASE_OPENING ||
	    sender->to.phase == PHASE_OUT)
		return;
	if (note.type == TRANSFER_ANSWER && sender->to.phase == PHASE_ASKED) {
		send_on_answer(sender, &note);
	} else if (note.type == TRANSFER_RESULT) {
		bool good = destination_takes(&sender->to, &note, &sender->judge.facts,
					      sender->reader.error);

		sender->judge.facts.counted |= good;
		send_file_over(sender, good ? NULL : sender->reader.error);
	}
}

/* The session broke, and with it the file that was on its way. */
static void send_broke(struct sender *sender, enum nopal_end end, const char *text)
{
	const char *fix = rendezvous_ended_fix(sender->rendezvous.wanted, end);
	char error[SEND_TEXT_ROOM];

	if (!fix || sender->interrupted || end == NOPAL_ENDED_WELL)
		fix = sender->reader.offset > 0 ? "the same command again goes on where this ended"
						: NULL;
	if (sender->exit == TOOL_GOOD)
		sender->exit = TOOL_FAILED;
	if (sender->interrupted)
		text = "interrupted";
	else if (!text || !*text)
		text = "the receiver closed the session";
	snprintf(error, sizeof(error), "%s: %.*s", sender->to.peer, tool_text_length(text), text);
	if (sender->at < sender->path_count) {
		if (!sender->file.name)
			send_begin_file(sender, sender->paths[sender->at]);
		sender->file.bytes = sender->reader.offset;
		sender->file.error = error;
		sender->file.transport = nopal_endpoint_transport(sender->endpoint);
		progress_end(&sender->progress, &sender->file, loop_now(sender->loop));
	} else {
		progress_say(&sender->progress, "error: %s", error);
	}
	if (fix)
		progress_say(&sender->progress, "  fix: %s", fix);
}

/* A flow closes after its last stream: this end stays until that is told to the peer, too. */
static void send_leave(void *user)
{
	struct sender *sender = user;

	if (sender->beside && !sender->beside->over)
		return;
	if (sender->interrupted || !nopal_plan_provides(sender->plan, "stream_end") ||
	    nopal_endpoint_counters(sender->endpoint)->sessions == 0 ||
	    loop_now(sender->loop) - sender->to.heard_ns > SEND_LEAVE_NS)
		loop_stop(sender->loop);
	else
		loop_event_start(sender->leave, SEND_LEAVE_LOOK_NS);
}

static void send_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			  void *user)
{
	struct sender *sender = user;
	/* Where no close is told, the sender aborts a session in which all files have arrived. */
	bool well = !sender->alone && sender->to.phase == PHASE_OUT &&
		    (end == NOPAL_ENDED_WELL || (end == NOPAL_ABORTED && !sender->interrupted &&
						 !transfer_plan_tells(sender->plan)));

	if (sender->alone)
		send_broke(sender, NOPAL_UNREACHABLE, TRANSFER_ALONE);
	else if (!well)
		send_broke(sender, end, text);
	if (!sender->interrupted) {
		if (sender->reader.no_room)
			end = NOPAL_RESOURCE;
		else if (well)
			end = NOPAL_ENDED_WELL;
		live_judge_end(&sender->judge, session, end);
		if (live_judge_is_broken(&sender->judge, &sender->progress) &&
		    sender->exit == TOOL_GOOD)
			sender->exit = TOOL_FAILED;
	}
	sender->to.out.session = NULL;
	sender->over = true;
	sender->to.heard_ns = loop_now(sender->loop);
	send_leave(sender);
}

static const struct nopal_callbacks send_callbacks = {
	.opened = send_on_opened,
	.received = send_on_received,
	.writable = send_on_writable,
	.ended = send_on_ended,
};

static void send_on_interrupt(void *user)
{
	struct sender *sender = user;

	for (int i = 0; i < SEND_SENDERS && sender; i++, sender = sender->beside) {
		sender->interrupted = true;
		sender->exit = TOOL_FAILED;
		if (sender->to.out.session)
			nopal_session_abort(sender->to.out.session, "interrupted");
	}
}

/* Has nothing moved for long?  Then the holders are named, and the session is aborted. */
static bool send_is_stuck(struct sender *sender)
{
	struct nopal_session *session = sender->to.out.session;
	const struct nopal_counters *counters;
	uint64_t told;
	int64_t moves;

	if (!session || sender->to.phase == PHASE_OPENING)
		return false;
	if (live_judge_cuts_storm(&sender->judge, session))
		return true;
	/* The data are on their way, or the receiver has all of it and lives. */
	counters = nopal_session_counters(session);
	told = counters->messages_arrived + counters->messages_missing;
	moves = (int64_t)(counters->transmissions - counters->resends +
			  counters->messages_arrived) -
		2 * sender->pings;
	if (moves > sender->moves ||
	    (counters->messages_sent - told <= SEND_PINGS_AWAY &&
	     loop_now(sender->loop) - sender->to.heard_ns < 2 * PROGRESS_LOOK_NS))
		live_judge_moved(&sender->judge);
	if (moves > sender->moves)
		sender->moves = moves;
	if (!live_judge_stands(&sender->judge))
		return false;
	live_judge_cut_sender(&sender->judge, session);
	return true;
}

/* While the sender only waits, nothing is on its way that could get lost. */
static void send_on_ping(void *user)
{
	struct transfer_note note = { .type = TRANSFER_PING };
	struct sender *sender = user;

	progress_say_silence(&sender->progress, sender->to.out.session, &sender->said_silent);
	sender->alone = sender->to.out.session && sender->to.phase == PHASE_ASKED &&
			transfer_is_alone(sender->to.out.session, sender->plan,
					  loop_now(sender->loop) - sender->to.offered_ns);
	if (sender->alone) {
		nopal_session_abort(sender->to.out.session, TRANSFER_ALONE);
		return;
	}
	if (send_is_stuck(sender))
		return;
	if (sender->to.out.session && sender->to.phase != PHASE_OPENING &&
	    sender->to.phase != PHASE_TAKING &&
	    loop_now(sender->loop) - sender->to.heard_ns >= PROGRESS_LOOK_NS &&
	    sender->to.out.count == 0) {
		sender->pings++;
		transfer_say(&sender->to.out, &note);
	}
	loop_event_start(sender->ping, PROGRESS_LOOK_NS);
}

/* --------------------------------------------------------------------- running */

/* Makes the sender's timers on the loop.  False: out of memory. */
static bool send_prepare(struct sender *sender, struct loop *loop)
{
	sender->loop = loop;
	reader_init(&sender->reader, loop_world(loop), transfer_chunk_bytes(sender->plan));
	sender->step = loop_event_new(loop, LOOP_TIMER, -1, send_step, sender);
	sender->ping = loop_event_new(loop, LOOP_TIMER, -1, send_on_ping, sender);
	sender->leave = loop_event_new(loop, LOOP_TIMER, -1, send_leave, sender);
	return sender->step && sender->ping && sender->leave;
}

/* Opens the session; `beside` is NULL but for the small files.  False: it was said why not. */
static bool send_open(struct sender *sender, const struct nopal_address *peer,
		      struct nopal_session *beside)
{
	bool stream = beside && nopal_plan_provides(sender->plan, "stream_end");
	const struct nopal_open open = { .endpoint = sender->endpoint,
					 .plan = sender->plan,
					 .peer = peer,
					 .beside = stream ? beside : NULL,
					 .callbacks = &send_callbacks,
					 .user = sender };
	struct nopal_session *session;

	live_judge_begin(&sender->judge, sender->plan, loop_world(sender->loop), &sender->judges,
			 true);
	session = beside ? nopal_session_open(&open)
			 : rendezvous_open(&sender->rendezvous, sender->endpoint, sender->plan,
					   peer, &send_callbacks, sender);
	if (!session) {
		fprintf(stderr,
			beside ? "error: config %s takes no second session\n"
				 "  fix: leave --small out, or take -c streams\n"
			       : "error: no session of %s: out of memory\n",
			nopal_plan_info(sender->plan)->name);
		return false;
	}
	if (sender->over)
		return true;
	sender->to.out.session = session;
	loop_event_start(sender->ping, PROGRESS_LOOK_NS);
	return true;
}

static enum tool_exit send_go(struct sender *sender, const struct tool_call *call,
			      const struct nopal_address *peer)
{
	struct loop *loop = loop_new(tool_value(call, "trace"));
	struct sender *beside = sender->beside;

	sender->loop = loop;
	if (!loop || !send_prepare(sender, loop) || (beside && !send_prepare(beside, loop)) ||
	    !loop_on_interrupt(loop, send_on_interrupt, sender) ||
	    !live_judge_watch(&sender->judges, loop_world(loop), sender->plan))
		return TOOL_ENVIRONMENT;
	sender->endpoint = rendezvous_endpoint(&sender->rendezvous, loop, peer);
	if (!sender->endpoint || !send_open(sender, peer, NULL))
		return TOOL_ENVIRONMENT;
	if (beside) {
		beside->endpoint = sender->endpoint;
		if (!sender->to.out.session || !send_open(beside, peer, sender->to.out.session))
			return TOOL_ENVIRONMENT;
	}
	if (!sender->over || (beside && !beside->over))
		loop_run(loop);
	return sender->exit != TOOL_GOOD || !beside ? sender->exit : beside->exit;
}

static void send_fini(struct sender *sender)
{
	loop_event_free(sender->step);
	loop_event_free(sender->ping);
	loop_event_free(sender->leave);
	live_judge_fini(&sender->judge);
}

/* Puts paths of files up to `small` bytes behind the others, in their order; how many those are. */
static int send_part(char **paths, int count, int64_t small)
{
	char **smalls = tool_need(calloc((size_t)count, sizeof(*smalls)));
	int kept = 0, parted = 0;

	for (int i = 0; i < count; i++) {
		struct stat file;

		if (small > 0 && stat(paths[i], &file) == 0 && file.st_size <= small)
			smalls[parted++] = paths[i];
		else
			paths[kept++] = paths[i];
	}
	for (int i = 0; i < parted; i++)
		paths[kept + i] = smalls[i];
	free(smalls);
	return kept;
}

enum tool_exit send_one(const struct tool_call *call, struct nopal_plan *plan, int files,
			const struct nopal_address *peer, const struct rendezvous *rendezvous,
			int64_t rate_bps, const struct properties *with)
{
	struct sender senders[SEND_SENDERS] = {
		{ .reader = { .pace.rate_bps = rate_bps, .with = with },
		  .plan = plan,
		  .paths = call->words,
		  .rendezvous = *rendezvous,
		  .to = { .peer = call->words[files], .phase = PHASE_OPENING } }
	};
	struct sender *first = &senders[0], *beside = &senders[1];
	enum tool_exit exit;
	int64_t small;
	int large;

	if (!live_judge_read(call, &first->judges) ||
	    !tool_quantity(call, "small", NOPAL_SIZE, 0, &small))
		return TOOL_BAD_INPUT;
	progress_init(&first->progress, call);
	large = send_part(call->words, files, small);
	*beside = *first;
	first->path_count = large > 0 ? large : files;
	if (large > 0 && large < files) {
		first->beside = beside;
		beside->beside = first;
		beside->paths = call->words + large;
		beside->path_count = files - large;
	}
	exit = send_go(first, call, peer);
	send_fini(first);
	send_fini(beside);
	if (first->loop) {
		loop_free(first->loop);
		reader_close(&first->reader);
		if (first->beside)
			reader_close(&beside->reader);
	}
	return exit;
}
