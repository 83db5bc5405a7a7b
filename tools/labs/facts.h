/* SPDX-License-Identifier: MIT */
/*
 * facts.h -- what checks of several labs ask of a trial: streams of messages, and figures of what
 * came of them.
 */
#ifndef NOPAL_LABS_FACTS_H
#define NOPAL_LABS_FACTS_H

#include "lab/lab.h"

/* Two hosts, 0 and 1, joined by a link, with a session from the first, which opens at once. */
void facts_pair(struct lab_trial *trial, enum lab_code sender, enum lab_code receiver,
		const char *config, const char *link);
/* So many messages of the host's first session, one every `every_ns`, all equally long. */
void facts_stream(struct lab_trial *trial, int host, unsigned count, int64_t every_ns,
		  uint32_t length);

/* Datagrams of a host that carry bytes of messages: those that carried them before; and those that
 * never came out. */
size_t facts_resent(const struct lab_trial *trial, int host);
size_t facts_lost(const struct lab_trial *trial, int host);
/* When a message was delivered first; fails the trial where it was not. */
int64_t facts_delivery(struct lab_trial *trial, uint32_t message);
/* Fails the trial by the first message whose sender was not told that it arrived. */
void facts_outcomes(struct lab_trial *trial);

#endif
