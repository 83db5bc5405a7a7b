/* SPDX-License-Identifier: MIT */
/*
 * paths.h -- the paths of a session: by which of them something arrives and leaves, and those that
 * it has beside its first one (path.c).
 */
#ifndef NOPAL_PATHS_H
#define NOPAL_PATHS_H

#include <string.h>

#include "session/endpoint_sessions.h"

/* What a session has once it has a second path; the first one is not among them. */
struct nopal_path {
	struct nopal_endpoint *endpoint; /* NULL: no path has this number */
	struct nopal_address peer;
	bool given; /* by the application */
	int64_t heard_ns;
};
struct nopal_paths {
	uint32_t open;			  /* a bit a path */
	struct nopal_address opened_with; /* what the peer's address was */
	struct nopal_path path[NOPAL_PATHS_MAX];
};

uint8_t nopal__path_arrived(struct nopal_composite *bottom);
/* The number of the path by which what arrives now came: all of an arrival by one, but for what a
 * move puts between. */
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
/* Where sessions follow their peer: what came by another path than the first was for who
 * follows. */
bool nopal__path_is_elsewhere(struct nopal_composite *bottom, struct nopal_segment *segment);
void nopal__paths_forget(struct nopal_composite *bottom, const struct nopal_endpoint *alias);
/* What was longer than this is said not to pass; 0: nobody knows how long. */
void nopal__path_narrowed(struct nopal_composite *bottom, uint32_t datagram_bytes);

/* Where a datagram leaves, and to whom. */
struct nopal_way {
	struct nopal_endpoint *endpoint; /* NULL: there is no such path */
	const struct nopal_address *to;
};
static inline struct nopal_way nopal__first_way(const struct nopal_composite *composite)
{
	return (struct nopal_way){ composite->endpoint, &composite->peer };
}

#endif
