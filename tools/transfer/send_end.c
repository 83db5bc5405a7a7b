/* SPDX-License-Identifier: MIT */
/*
 * send_end.c -- what `nopal send` says and does when its session has ended, or stands still.
 */
#include <nopal/microprotocol.h>
#include "transfer/send_end.h"

enum {
	SEND_TEXT_ROOM = 4096, /* a diff of compositions is long */
	SEND_PINGS_AWAY = 2,   /* of ours, whose outcome is open */
};

/* The session broke, and with it the file that was on its way. */
static void send_broke(struct sender *sender, enum nopal_end end, const char *text)
{
	char error[SEND_TEXT_ROOM];
	const char *fix;

	fix = rendezvous_ended_fix(sender->rendezvous.wanted, end);
	if (!fix || sender->interrupted || end == NOPAL_ENDED_WELL) {
		fix = "the same command again goes on where this ended";
		fix = sender->reader.offset > 0 ? fix : NULL;
	}
	if (sender->exit == TOOL_GOOD)
		sender->exit = TOOL_FAILED;
	if (sender->interrupted)
		text = "interrupted";
	else if (!text || !*text)
		text = "the receiver closed the session";
	snprintf(error, sizeof(error), "%s: %.*s", sender->peer, tool_text_length(text), text);
	if (sender->at < sender->path_count) {
		if (!sender->file.name)
			send_begin_file(sender, sender->paths[sender->at]);
		sender->file.bytes = sender->reader.offset;
		sender->file.error = error;
		sender->file.transport = nopal_endpoint_transport(sender->endpoint);
		progress_end(&sender->progress, &sender->file, send_now(sender));
	} else {
		progress_say(&sender->progress, "error: %s", error);
	}
	if (fix)
		progress_say(&sender->progress, "  fix: %s", fix);
}

static bool send_ended_well(const struct sender *sender, enum nopal_end end)
{
	return sender->state == SEND_CLOSING &&
	       (end == NOPAL_ENDED_WELL || (end == NOPAL_ABORTED && !sender->interrupted &&
					    !transfer_plan_tells(sender->plan)));
}

bool send_end_stuck(struct sender *sender)
{
	struct nopal_session *session = sender->out.session;
	const struct nopal_counters *counters;
	uint64_t told;
	int64_t moves;

	if (!session || sender->state == SEND_OPENING)
		return false;
	if (live_judge_cuts_storm(&sender->judge, session))
		return true;
	/* The data are on their way, or the receiver has all of it and lives. */
	counters = nopal_session_counters(session);
	told = counters->messages_arrived + counters->messages_missing;
	moves = (int64_t)(counters->transmissions - counters->resends +
			  counters->messages_arrived) -
		2 * sender->pings;
	if (moves > sender->moves || (counters->messages_sent - told <= SEND_PINGS_AWAY &&
				      send_now(sender) - sender->heard_ns < 2 * HUSH_LOOK_NS))
		live_judge_moved(&sender->judge);
	if (moves > sender->moves)
		sender->moves = moves;
	if (!live_judge_stands(&sender->judge))
		return false;
	live_judge_cut_sender(&sender->judge, session);
	return true;
}

void send_end(struct sender *sender, const struct nopal_session *session, enum nopal_end end,
	      const char *text)
{
	bool well = !sender->alone && send_ended_well(sender, end);

	if (sender->alone)
		send_broke(sender, NOPAL_UNREACHABLE, TRANSFER_ALONE);
	else if (!well)
		send_broke(sender, end, text);
	if (sender->interrupted)
		return;
	if (sender->reader.no_room)
		end = NOPAL_RESOURCE;
	else if (well)
		end = NOPAL_ENDED_WELL;
	live_judge_end(&sender->judge, session, end);
	if (live_judge_is_broken(&sender->judge, &sender->progress) && sender->exit == TOOL_GOOD)
		sender->exit = TOOL_FAILED;
}
