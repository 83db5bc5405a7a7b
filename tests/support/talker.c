/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "support/talker.h"

uint64_t talker_draw(struct talker *talker, uint64_t below)
{
	talker->seed = talker->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (talker->seed >> 33) % below;
}

static const char *talker_name(struct talker *talker)
{
	uint64_t count = 0;

	while (talker->names[count])
		count++;
	return talker->names[talker_draw(talker, 2) * talker_draw(talker, count)];
}

/* A place in the file, or at its edges, or far beyond. */
static uint64_t talker_place(struct talker *talker)
{
	const uint64_t places[TALKER_PLACES] = {
		0, 1, talker->size - 1, talker->size, UINT64_MAX, talker_draw(talker, talker->size),
	};

	return places[talker_draw(talker, TALKER_PLACES)];
}

/* Of the file that there is, or another one; and what may be wanted at once. */
static uint64_t talker_size(struct talker *talker, enum transfer_type type)
{
	if (!talker_draw(talker, talker->nonsense))
		return talker_place(talker);
	if (type == TRANSFER_WANT || type == TRANSFER_LIST)
		return 1 + talker_draw(talker, TRANSFER_HASHES_MAX);
	return talker_draw(talker, 2) ? talker->size : talker_draw(talker, 8 * talker->size);
}

static struct transfer_note talker_note(struct talker *talker, uint32_t file)
{
	struct transfer_note note = {
		.type = (enum transfer_type)(1 + talker_draw(talker, TRANSFER_HASHES)),
		.verdict = (enum transfer_verdict)(1 + talker_draw(talker, 3)),
		.file = talker_draw(talker, 8) ? file : (uint32_t)talker_draw(talker, 9),
		.offset = talker_place(talker),
		.mtime_ns = talker->mtime_ns,
	};

	note.size = talker_size(talker, note.type);
	note.hash = talker_draw(talker, 2) ? talker->hash : talker_draw(talker, UINT64_MAX);
	snprintf(note.text, sizeof(note.text), "%s", talker_name(talker));
	note.id = transfer_id(note.text, note.size, note.mtime_ns);
	return note;
}

void talker_says(struct talker *talker, struct nopal_session *session, uint32_t file)
{
	const struct transfer_note note = talker_note(talker, file);
	uint8_t bytes[TRANSFER_NOTE_LONGEST + TALKER_MORE] = { 0 };
	size_t length = transfer_encode(&note, bytes);

	if (note.type == TRANSFER_DATA || note.type == TRANSFER_HELD ||
	    note.type == TRANSFER_HASHES)
		length += talker_draw(talker, talker->max_bytes);
	if (!talker_draw(talker, talker->nonsense))
		bytes[0] = (uint8_t)talker_draw(talker, UINT8_MAX);
	if (!talker_draw(talker, talker->nonsense))
		length = talker_draw(talker, length + 1);
	nopal_send(session, bytes, length, 0);
}
