/* SPDX-License-Identifier: MIT */
/*
 * refusal.h -- why two compositions do not fit, in words for people.  Callers free what is
 * returned; NULL: out of memory.
 */
#ifndef NOPAL_REFUSAL_H
#define NOPAL_REFUSAL_H

#include "session/endpoint_sessions.h"

/* Text that a peer sent, up to a zero byte, as a clean string: an opening request begins with that
 * of its composition. */
char *nopal__peer_text(struct nopal_reader *body);
/* The difference to the nearest composition of the endpoint's listeners; NULL, too, where there are
 * none. */
char *nopal__nearest_diff(const struct nopal_endpoint *endpoint, const char *theirs,
			  const char **ret_name);
/* The same in words, for the peer that was refused. */
char *nopal__listeners_differ(const struct nopal_endpoint *endpoint, const char *theirs);
/* In words for the peer that runs `here`, where both sides open and know each other's. */
char *nopal__plans_differ(const char *here, const char *there);

#endif
