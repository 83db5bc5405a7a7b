/* SPDX-License-Identifier: MIT */
/*
 * download.h -- a client asks a server for an object and gets it in chunks, every byte checked: the
 * transfer of MADP's paper, by the kernel's TCP and configs, between two processes or in the
 * simulator.
 *
 * The time to download is from opening to the last byte, so that a handshake counts.  A transfer
 * is cut off when it takes too long, and tells how far it came.
 */
#ifndef NOPAL_DOWNLOAD_H
#define NOPAL_DOWNLOAD_H

#include "load/side.h"

enum { DOWNLOAD_MAX_CHUNK = 8192 };

struct download {
	enum side_protocol protocol; /* SIDE_TCP or SIDE_CONFIG */
	struct nopal_plan *plan;     /* of a config */
	const char *congestion;	     /* of TCP: its congestion control; NULL: the machine's */
	uint32_t chunk;		     /* bytes of a message, or of a call of send(2) */
	uint64_t size;		     /* bytes of the object */
	int64_t cutoff_ns;	     /* after this time the client ends */
	bool done;		     /* out: all came, and as it was sent */
	bool wrong;		     /* out: a byte came that was not sent */
	uint64_t came;		     /* out: bytes */
	int64_t took_ns;	     /* out: to the last byte; at most the cutoff */
};

/* Has the kernel's TCP this congestion control, and may this process have it? */
bool download_has_congestion(const char *congestion);
/* False: as side_work(). */
bool download_run(struct download *download, const struct side_place *place);

#endif
