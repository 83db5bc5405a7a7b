/* SPDX-License-Identifier: MIT */
/*
 * send_many_check.c -- what receivers have of a file before it is sent to them: all of it, or a
 * beginning.
 *
 * The file is read once, as far as the longest of these, and compared by hash where each of them
 * ends.  Who has all of it is done with.  The others go on together from the shortest beginning,
 * and pass over what they have; where one of them has none, or one that is not the file's, all
 * begin anew.
 */
#include <string.h>

#include "transfer/send_many_check.h"
#include "transfer/send_many_file.h"

/* The shortest that goes beyond what was compared; 0: there is none. */
static uint64_t check_mark(const struct many *many)
{
	uint64_t mark = 0;

	for (unsigned i = 0; i < many->count; i++) {
		const struct many_one *one = &many->ones[i];

		if (one->state == MANY_ANSWERED && one->has > many->reader.source.offset &&
		    (!mark || one->has < mark))
			mark = one->has;
	}
	return mark;
}

static void check_anew(struct many *many)
{
	many->from = 0;
	for (unsigned i = 0; i < many->count; i++)
		if (many->ones[i].has < many->reader.source.size)
			many->ones[i].has = 0;
}

/* A receiver with all of it is told so, and answers for good. */
static void check_settle(struct many *many)
{
	struct transfer_note end;

	if (!reader_end(&many->reader, &end)) {
		many_fail(many);
		return;
	}
	many->table.file.hash = end.hash;
	many->stage = MANY_SETTLING;
	for (unsigned i = 0; i < many->count; i++) {
		struct many_one *one = &many->ones[i];

		if (one->state != MANY_ANSWERED || one->has < end.size || !end.size)
			continue;
		one->has_it = true;
		one->state = MANY_ENDED;
		many_say(many, one, TRANSFER_START, end.size);
		transfer_say(&one->out, &end);
	}
	many_go_on(many);
}

/* A step at a time. */
void many_check(void *user)
{
	static uint8_t bytes[TRANSFER_STEP_BYTES];
	struct many *many = user;
	struct reader *reader = &many->reader;
	uint64_t mark, left;
	size_t length;

	if (!many->group || many->stage != MANY_CHECKING)
		return;
	mark = check_mark(many);
	left = mark - reader->source.offset;
	if (!mark) {
		check_settle(many);
		return;
	}
	if (!source_read(&reader->source, bytes,
			 left < sizeof(bytes) ? (size_t)left : sizeof(bytes), &length,
			 reader->error)) {
		many_fail(many);
		return;
	}
	if (reader->source.offset == mark) {
		uint64_t hash = source_hash(&many->reader.source);
		bool good = true;

		/* Is it theirs who have so much? The first time is where all will go on. */
		for (unsigned i = 0; i < many->count; i++) {
			struct many_one *one = &many->ones[i];

			if (one->state != MANY_ANSWERED || one->has != mark ||
			    one->its_hash == hash)
				continue;
			one->has = 0;
			good = false;
		}
		if (!many->from && mark < many->reader.source.size) {
			many->from = mark;
			many->from_hash = many->reader.source.hash;
		}
		if (!good)
			check_anew(many);
	}
	loop_event_start(many->step, 0);
}

void many_gathered(struct many *many)
{
	for (unsigned i = 0; i < many->count; i++)
		if (many->ones[i].state == MANY_ANSWERED && !many->ones[i].has)
			check_anew(many);
	if (!check_mark(many)) {
		many_start(many);
		return;
	}
	many->stage = MANY_CHECKING;
	loop_event_start(many->step, 0);
}
