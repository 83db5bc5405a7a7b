/* SPDX-License-Identifier: MIT */
/*
 * destination.c -- a peer of a file, one of several.
 */
#include <stdlib.h>
#include <string.h>

#include "transfer/destination.h"

#define DESTINATION_PING_NS NOPAL_SECOND /* of silence */

struct destination *destination_find(struct destination *ones, unsigned count, uint64_t id)
{
	for (unsigned i = 0; id && i < count; i++)
		if (ones[i].id == id)
			return &ones[i];
	return NULL;
}

void destination_name(struct destination *one, unsigned property, uint32_t id)
{
	one->id = id;
	one->out = (struct transfer_outbox){ .to = { property, id } };
}

void destination_offer(struct destination *one, const struct reader *reader)
{
	one->phase = PHASE_ASKED;
	reader_offer(reader, &one->out);
}

bool destination_takes(const struct destination *one, const struct transfer_note *result,
		       struct judge_facts *facts, char *why)
{
	bool yes = result->verdict == TRANSFER_YES;

	if (yes && one->phase == PHASE_ENDED) {
		facts->bytes_seen = true;
		return true;
	}
	facts->garbled |= strcmp(result->text, TRANSFER_HASH_DIFFERS) == 0;
	snprintf(why, TRANSFER_TEXT_ROOM, "the receiver: %.200s",
		 yes ? "done before the end" : result->text);
	return false;
}

void destination_ping(struct destination *one, uint32_t file, int64_t now_ns)
{
	const struct transfer_note ping = { .type = TRANSFER_PING, .file = file };

	if (now_ns - one->heard_ns < DESTINATION_PING_NS || one->out.count)
		return;
	one->heard_ns = now_ns;
	transfer_say(&one->out, &ping);
}

void destination_set(struct destination *one, enum table_state state, const char *why,
		     const char *fix, int64_t took_ns)
{
	free(one->why);
	one->state = state;
	one->why = why ? strdup(why) : NULL;
	one->fix = fix;
	one->took_ns = took_ns;
}

enum table_state table_state_of_end(enum nopal_end end)
{
	if (end == NOPAL_REFUSED || end == NOPAL_NOT_AUTHENTIC)
		return TABLE_REFUSED;
	return end == NOPAL_UNREACHABLE ? TABLE_UNREACHED : TABLE_DIED;
}

bool destination_is_whole(const struct destination *one)
{
	return one->state == TABLE_COMPLETE || one->state == TABLE_HERE;
}
