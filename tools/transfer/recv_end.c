/* SPDX-License-Identifier: MIT */
/*
 * recv_end.c -- what `nopal recv` says and does when a session has ended.
 */
#include <nopal/microprotocol.h>
#include "peer/rendezvous.h"
#include "transfer/recv_end.h"
#include "transfer/recv_loops.h"
#include "transfer/recv_session.h"

static bool recv_end_is_share(const struct incoming *incoming)
{
	return incoming->part && incoming->share == RECV_SHARED;
}

enum nopal_end recv_end_of(const struct incoming *incoming, enum nopal_end end)
{
	bool done = !incoming->part || recv_end_is_share(incoming);

	return done && !transfer_plan_tells(incoming->receiver->group->plan) ? NOPAL_ENDED_WELL
									     : end;
}

void recv_end_say(struct incoming *incoming, enum nopal_end end, const char *text)
{
	struct progress *progress = &incoming->receiver->group->progress;
	int64_t now_ns = nopal_world_now(loop_world(incoming->receiver->loop));
	char error[TRANSFER_TEXT_ROOM];

	snprintf(error, sizeof(error), "session ended: %.200s",
		 end == NOPAL_ENDED_WELL ? "the sender closed it"
		 : text			 ? text
					 : "broken");
	if (recv_end_is_share(incoming) && end == NOPAL_ENDED_WELL) {
		incoming->file.share = true;
		incoming->files_good++;
		progress_end(progress, &incoming->file, now_ns);
		return;
	}
	if (incoming->part) {
		incoming->file.error = error;
		incoming->file.bytes = part_done_bytes(incoming->part);
		incoming->file.transport = nopal_endpoint_transport(incoming->receiver->endpoint);
		progress_end(progress, &incoming->file, now_ns);
	} else if (end != NOPAL_ENDED_WELL && !incoming->guest.sent_away) {
		progress_say(progress, "%s: %s", incoming->guest.address, error);
	}
	if (incoming->part && part_done_bytes(incoming->part) > 0)
		progress_say(progress,
			     "%s: %llu of %llu bytes are kept; they go on when it is sent again",
			     incoming->offer.text,
			     (unsigned long long)part_done_bytes(incoming->part),
			     (unsigned long long)incoming->offer.size);
}

void recv_end_rendezvous(const struct incoming *incoming, enum nopal_end end)
{
	struct recv_group *group = incoming->receiver->group;
	bool good = end == NOPAL_ENDED_WELL && !incoming->files_bad;

	if (rendezvous_ended_fix(true, end))
		progress_say(&group->progress, "  fix: %s", rendezvous_ended_fix(true, end));
	recv_loops_stop(group, good ? TOOL_GOOD : TOOL_FAILED);
}
