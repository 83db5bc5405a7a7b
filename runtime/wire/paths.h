/* SPDX-License-Identifier: MIT */
/*
 * paths.h -- the paths of a session: by which of them datagrams arrive and leave, and the paths
 * beside its first one (path.c).
 */
#ifndef NOPAL_PATHS_H
#define NOPAL_PATHS_H

#include <string.h>

#include "session/endpoint_sessions.h"

/* Paths of a session that has a second one; the first one is not among them. */
struct nopal_path {
	struct nopal_endpoint *endpoint; /* NULL: no path has this number */
	struct nopal_address peer;
	bool given; /* by the application */
	int64_t heard_ns;
};
struct nopal_paths {
	uint32_t open;			  /* a bit a path */
	struct nopal_address opened_with; /* the peer's address at first */
	struct nopal_path path[NOPAL_PATHS_MAX];
};

uint8_t nopal__path_arrived(struct nopal_composite *bottom);
/* The number of the path of the datagram that arrives now: one for a whole arrival, but for a move
 * in between. */
static inline uint8_t nopal__path_of_arrival(struct nopal_composite *bottom)
{
	const struct nopal_endpoint *endpoint = bottom->endpoint;

	if (endpoint->arrived_of == bottom)
		return endpoint->arrived_path;
	if (endpoint->arrived_at == endpoint && endpoint->arrived_from &&
	    memcmp(endpoint->arrived_from, &bottom->peer, sizeof(bottom->peer)) == 0)
		return 0; /* as most often: by the first */
	return nopal__path_arrived(bottom);
}
/* Where sessions follow their peer: a segment by another path than the first goes to the part that
 * follows. */
bool nopal__path_is_elsewhere(struct nopal_composite *bottom, struct nopal_segment *segment);
void nopal__paths_forget(struct nopal_composite *bottom, const struct nopal_endpoint *alias);
/* Longer datagrams are said not to pass; 0: their length is not known. */
void nopal__path_narrowed(struct nopal_composite *bottom, uint32_t datagram_bytes);

/* The endpoint by which a datagram leaves, and its destination. */
struct nopal_way {
	struct nopal_endpoint *endpoint; /* NULL: there is no such path */
	const struct nopal_address *to;
};
static inline struct nopal_way nopal__first_way(const struct nopal_composite *composite)
{
	return (struct nopal_way){ composite->endpoint, &composite->peer };
}

#endif
