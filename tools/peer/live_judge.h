/* SPDX-License-Identifier: MIT */
/*
 * live_judge.h -- one end of a live session, judged by the facts that this end sees.
 *
 * A tool reports each message that came and each step forward; when the session has ended, the
 * judge names the promises that were broken, and the microprotocol to blame.  The tool is told of a
 * session that stands still for too long, so that no user waits for ever.
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
	  "name the holders, and end, when nothing has moved for so long "                         \
	  "(default 60s)" },                                                                       \
	{                                                                                          \
		"watch", 0, NULL,                                                                  \
			"watch every microprotocol, to name the one that breaks a "                \
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
	bool sends;	  /* this end sends */
	const char *peer; /* named in its lines, borrowed; NULL: none */
	bool both;	  /* this end receives, too */
	struct judge_facts facts;
	struct judge_facts gone;	 /* of destinations that have ended */
	enum nopal_end gone_end;	 /* of a destination whose session broke here; or 0 */
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
/* The transfer has come nearer to its end. */
void live_judge_moved(struct live_judge *one);
/* Has nothing moved for so long? */
bool live_judge_stands(const struct live_judge *one);
/* The session stands still (live_judge_stands), and (unless NULL: there is none just now) is about
 * to be aborted. */
void live_judge_stuck(struct live_judge *one, const struct nopal_session *session, const char *how);
/* The peer reports that its messages have arrived here, and nothing comes of them. */
void live_judge_has_come(struct live_judge *one, const struct nopal_session *session);
/* More control segments leave than the data can explain: the session is not to go on. */
bool live_judge_storms(struct live_judge *one, const struct nopal_session *session);
/* The same, and the session is aborted for that. */
#define LIVE_JUDGE_STORM "control segments without end"
bool live_judge_cuts_storm(struct live_judge *one, struct nopal_session *session);
/* Nothing of a file moves: the sender's session is aborted, and told why. */
void live_judge_cut_sender(struct live_judge *one, struct nopal_session *session);
/* Names the holders in a session that goes on. */
void live_judge_say_held(const struct nopal_session *session);
/* A destination of the group ended: it is seen within `destination` for the last time. */
void live_judge_destination_ended(struct live_judge *one,
				  const struct nopal_destination_info *info);
/* Called within `ended`: notes the end, and the holds that are left. */
void live_judge_end(struct live_judge *one, const struct nopal_session *session,
		    enum nopal_end end);
/* Judges, and prints broken promises and bad ends.  True: a promise or a rule is broken. */
bool live_judge_is_broken(struct live_judge *one, struct progress *progress);
/* After that: the verdict of each promise. */
json_t *live_judge_result(const struct live_judge *one);
/* The verdicts as they stand now; the session has not ended. */
json_t *live_judge_json(struct live_judge *one, const struct nopal_session *session);

#endif
