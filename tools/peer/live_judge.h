/* SPDX-License-Identifier: MIT */
/*
 * live_judge.h -- one end of a live session, judged by what it sees itself.
 *
 * A tool tells it what came and what moved; when the session has ended, it says what broke a
 * promise, and whom that is to be blamed on.  Where a session stands still for too long the tool is
 * told, so that nobody waits for ever.
 */
#ifndef NOPAL_LIVE_JUDGE_H
#define NOPAL_LIVE_JUDGE_H

#include "frame/tool.h"
#include "judge/judge.h"
#include "peer/progress.h"

struct live_judge_options {
	bool watch;
	int64_t patience_ns;
};

/* Said to the peer where nothing moves though all that was sent has come. */
#define LIVE_JUDGE_STANDS "all has arrived, and nothing comes of it"

#define LIVE_JUDGE_OPTIONS                                                                         \
	{ "patience", 0, "TIME",                                                                   \
	  "say who holds what, and end, when nothing has moved for so long "                       \
	  "(default 60s)" },                                                                       \
	{                                                                                          \
		"watch", 0, NULL,                                                                  \
			"watch every microprotocol, to name who breaks a "                         \
			"promise; slow"                                                            \
	}

/* False: a problem was printed. */
bool live_judge_read(const struct tool_call *call, struct live_judge_options *ret_options);
/* Before the first session of the plan in this world.  False: the same. */
bool live_judge_watch(const struct live_judge_options *options, struct nopal_world *world,
		      struct nopal_plan *plan);

struct live_judge {
	const struct nopal_plan *plan;
	struct nopal_world *world;
	int64_t patience_ns, began_ns, moved_ns;
	bool sends;	  /* this end is the one that sends */
	const char *peer; /* of whom its lines are, borrowed; NULL: of whoever */
	bool both;	  /* and receives, too */
	struct judge_facts facts;
	struct judge_facts gone;	 /* what destinations counted that have ended */
	int gone_end;			 /* of one whose session broke here; or 0 */
	struct judge_suspects *suspects; /* NULL: none were looked for */
	struct judgement judgement;
	char stuck[JUDGE_TEXT];
	/* of numbered messages that came: a bit each */
	uint8_t *seen;
	uint64_t seen_room, beyond;
};

void live_judge_begin(struct live_judge *one, const struct nopal_plan *plan,
		      struct nopal_world *world, const struct live_judge_options *options,
		      bool sends);
void live_judge_fini(struct live_judge *one);
/* A message with this number came; they are sent in the order of their numbers. */
void live_judge_came(struct live_judge *one, uint64_t number);
/* Of the numbers from `first` to before `end` some never came, and nothing more will. */
void live_judge_missing(struct live_judge *one, uint64_t first, uint64_t end);
/* Something happened that brings the transfer nearer to its end. */
void live_judge_moved(struct live_judge *one);
/* Has nothing moved for so long? */
bool live_judge_stands(const struct live_judge *one);
/* The session stands still (live_judge_stands), and (unless NULL: there is none just now) is about
 * to be aborted. */
void live_judge_stuck(struct live_judge *one, const struct nopal_session *session, const char *how);
/* Then: nothing of ours is on its way, so that it is the peer who keeps it. */
bool live_judge_keeps_none(const struct live_judge *one);
/* The peer says so of what it sent us. */
void live_judge_has_come(struct live_judge *one, const struct nopal_session *session);
/* Too much leaves for what is sent: not to go on. */
bool live_judge_storms(struct live_judge *one, const struct nopal_session *session);
/* The same, and the session is aborted for that. */
#define LIVE_JUDGE_STORM "control segments without end"
bool live_judge_cuts_storm(struct live_judge *one, struct nopal_session *session);
/* Nothing of a file moves: the sender's session is aborted, and told why. */
void live_judge_cut_sender(struct live_judge *one, struct nopal_session *session);
/* Says who holds what of a session that goes on. */
void live_judge_say_held(const struct nopal_session *session);
/* A destination of the group ended: it is seen within `destination` for the last time. */
void live_judge_destination_ended(struct live_judge *one,
				  const struct nopal_destination_info *info);
/* Within `ended`, with its end: notes what is left. */
void live_judge_end(struct live_judge *one, const struct nopal_session *session,
		    enum nopal_end end);
/* Judges and, where something is broken or was ended badly by somebody, says it. True: a promise or
 * a rule is broken. */
bool live_judge_is_broken(struct live_judge *one, struct progress *progress);
/* After that: what became of each promise. */
json_t *live_judge_result(const struct live_judge *one);
/* As it stands now; the session has not ended. */
json_t *live_judge_json(struct live_judge *one, const struct nopal_session *session);

#endif
