/* SPDX-License-Identifier: MIT */
/*
 * paths.h -- the paths of a session that has more than its first one (path.c).
 */
#ifndef NOPAL_PATHS_H
#define NOPAL_PATHS_H

#include "session.h"

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
	struct nopal_path path[NOPAL_PATHS_MOST];
};

#endif
