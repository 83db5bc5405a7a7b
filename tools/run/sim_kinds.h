/* SPDX-License-Identifier: MIT */
/*
 * sim_kinds.h -- messages of a simulated run by the properties that they have: a kind for each
 * combination, with what the composition promises to it, and what came of its messages.
 */
#ifndef NOPAL_TOOL_SIM_KINDS_H
#define NOPAL_TOOL_SIM_KINDS_H

#include "frame/properties.h"
#include "judge/judge.h"

enum { SIM_KINDS = 16, SIM_TAGS = 256 };

struct sim_kind {
	unsigned class; /* of properties_of() */
	char names[PROPERTIES_TEXT];
	struct nopal_service promised;
	int64_t patience_ns; /* for the message that another one names */
	uint64_t messages;
};

/* The kinds of the messages of a load, in the order of their first messages. */
struct sim_kinds {
	struct properties with;
	struct sim_kind one[SIM_KINDS];
	unsigned count;
	unsigned label, tag; /* properties that arrive; 0: none does */
};

/* Of a receiver: what came of the messages of one kind. */
struct sim_came {
	uint64_t delivered, late;
	struct judge_count twice, overtaken, wrong; /* as in struct judge_facts */
	struct judge_count tag_overtaken, early, relabelled;
};
struct sim_history {
	uint64_t beyond; /* one past the highest message delivered */
	/* The same, of messages that are never behind a later one, and of those before which all
	 * others come. */
	uint64_t beyond_forward, beyond_gapless;
	struct sim_tag *tags;  /* SIM_TAGS; NULL: no tag is in order */
	struct sim_came *came; /* by kind */
};
struct sim_tag {
	uint64_t tag, beyond;
};

/* Finds the kinds of so many messages, whose rules are in `with`, in the run with this seed.  False:
 * a problem was printed. */
bool sim_kinds_find(struct sim_kinds *kinds, const struct nopal_plan *plan, uint64_t seed,
		    uint64_t messages);
/* The kind of a message, by its index. */
unsigned sim_kind_of(const struct sim_kinds *kinds, uint64_t number);
static inline bool sim_kind_promises(const struct sim_kinds *kinds, unsigned kind,
				     enum nopal_quality quality, unsigned guarantee)
{
	return nopal_promises(&kinds->one[kind].promised, quality, guarantee);
}

/* False: out of memory. */
bool sim_history_init(struct sim_history *history, const struct sim_kinds *kinds);
void sim_history_fini(struct sim_history *history);
/* An arrival, the first of its message: notes its place among the others. */
struct sim_arrival {
	const struct nopal_message *message;
	uint64_t number;
	int64_t delay_ns;
	const uint8_t *seen; /* bits of the messages that came before */
};
void sim_history_note(struct sim_history *history, const struct sim_kinds *kinds,
		      const struct sim_arrival *arrival);

#endif
