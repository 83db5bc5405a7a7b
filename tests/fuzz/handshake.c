/* SPDX-License-Identifier: MIT */
/*
 * handshake -- fuzz target: openings, cookies, offers and refusals, at both ends.
 *
 * Byte 0 of the input names the family.  Nothing has opened when the script begins: an opener has
 * sent its first datagram, no answer has come, and each that follows arrives alone, edited, or not
 * at all.
 */
#include "script.h"

static void deliver_next(struct arena *arena)
{
	const struct arena_datagram *datagram = arena_next(arena);

	if (datagram)
		arena_deliver(arena, datagram);
}

static void step(struct arena *arena, struct input *input)
{
	uint8_t action = input_byte(input);

	switch (action & 7) {
	case 0:
		script_act(arena, input);
		break;
	case 1:
		deliver_next(arena);
		break;
	case 2:
		script_pass(arena, input);
		break;
	case 3:
		arena_start(arena, (action >> 3) % ARENA_WAYS);
		break;
	default:
		script_forge(arena, input);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static struct arena arena;
	struct input input = input_over(bytes, length);

	if (!arena_open(&arena, family_of(input_byte(&input))))
		return 0;
	arena_start(&arena, input_byte(&input) % ARENA_WAYS);
	arena_pass(&arena, NOPAL_MILLISECOND);
	for (unsigned i = 0; i < SCRIPT_ACTIONS && input_left(&input); i++)
		step(&arena, &input);
	arena_close(&arena);
	return 0;
}
