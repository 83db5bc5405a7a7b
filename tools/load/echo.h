/* SPDX-License-Identifier: MIT */
/*
 * echo.h -- a file goes to a server in pieces and comes back, every byte checked:
 * the transfer of the one-to-many paper, by the kernel's TCP and configs, between two processes or
 * in the simulator.
 *
 * The client has pieces under way as long as its protocol takes them, up to so many:
 * a window is what holds it back, and not its own waiting for an answer.
 */
#ifndef NOPAL_ECHO_H
#define NOPAL_ECHO_H

#include "load/side.h"

enum { ECHO_MAX_BYTES = 8192, ECHO_AHEAD = 512 };

struct echo {
	enum side_protocol protocol; /* SIDE_TCP or SIDE_CONFIG */
	struct nopal_plan *plan;     /* of a config */
	uint32_t piece;		     /* bytes, as one message */
	uint64_t size;		     /* bytes of the file */
	int64_t patience_ns;	     /* nothing came back for so long: it ends */
	bool done;		     /* out: all came back as it was */
	int64_t took_ns;	     /* out: from opening to the last byte back */
};

/* False: as side_work(). */
bool echo_run(struct echo *echo, const struct side_place *place);

#endif
