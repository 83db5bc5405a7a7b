/* SPDX-License-Identifier: MIT */
/*
 * hush.h -- says of a peer that owes an answer that nothing is heard from it.
 */
#ifndef NOPAL_HUSH_H
#define NOPAL_HUSH_H

#include "peer/progress.h"

/* How often a tool looks, and how long a silence is before a peer that owes no answer is called. */
#define HUSH_LOOK_NS INT64_C(1000000000)

struct hush {
	bool said;
};

/* Once a silence, after 2 s of it; and once when it is over.  Without progress the lines are
 * stderr's. */
void hush_look(struct hush *hush, const struct nopal_session *session, struct progress *progress);

#endif
