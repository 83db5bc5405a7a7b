/* SPDX-License-Identifier: MIT */
/*
 * segments.h -- segments that arrive at a session of a rig as if they had come from the network,
 * for tests of what handles them.
 *
 *     struct arriving one = arriving_begin(session, kind, bytes, length);
 *     nopal_set(at, one.segment, 0, 7);
 *     arriving_end(&one);
 *
 * A body lies in a buffer of exactly its length, so that a read beyond it is caught by the address
 * sanitizer.
 */
#ifndef NOPAL_TEST_SEGMENTS_H
#define NOPAL_TEST_SEGMENTS_H

#include "engine/composite.h"
#include "support/rig.h"

struct arriving {
	struct nopal_composite *composite;
	struct nopal_segment *segment;
	bool outermost;
};

struct arriving arriving_begin(struct nopal_session *session, uint8_t kind, const void *bytes,
			       size_t length);
void arriving_end(struct arriving *one);

/* A segment of a part's own kind, whole. */
void arrive_control(struct nopal_session *session, const char *name, unsigned kind,
		    const void *bytes, size_t length);

/* Datagrams of the opener, by kind, taken at the tap. */
enum { TAPPED_ROOM = 4096 };
struct tapped {
	uint32_t count;
	uint8_t kind[TAPPED_ROOM];
	bool to_acceptor[TAPPED_ROOM];
	uint32_t length[TAPPED_ROOM];
	int64_t time_ns[TAPPED_ROOM];
};

void tapped_note(void *user, int64_t now_ns, const struct nopal_address *from,
		 const struct nopal_address *to, const uint8_t *bytes, size_t length);
uint32_t tapped_count(const struct tapped *tapped, uint8_t kind);

#endif
