/* SPDX-License-Identifier: MIT */
/*
 * two_ends -- fuzz target: two honest ends, and a network that does as a script says.
 *
 * The network drops, duplicates, reorders, flips a bit, and lets time pass.
 *
 * Byte 0 of the input names the family.  Where the composition has integrity, each delivered
 * message has to be one that was sent: CRC32C and the sum find every flip of one bit, and so does
 * the tag.
 */
#include "script.h"

static bool has_integrity(const struct arena *arena)
{
	return nopal_plan_provides(arena->plan, "integrity");
}

static void flip(struct arena_datagram *datagram, struct input *input)
{
	size_t bit = input_number(input, 2);

	if (datagram->length)
		datagram->bytes[bit / 8 % datagram->length] ^= (uint8_t)(1 << bit % 8);
}

/* Outcomes of the datagram that has flown longest. */
static void network(struct arena *arena, struct input *input, uint8_t outcome)
{
	struct arena_datagram *next = arena_next(arena), datagram;

	if (!next)
		return;
	datagram = *next;
	switch (outcome & 3) {
	case 0:
		return; /* lost */
	case 1:
		arena_delay(arena, &datagram);
		return;
	case 2:
		arena_deliver(arena, &datagram); /* and once more */
		break;
	default:
		flip(&datagram, input);
	}
	arena_deliver(arena, &datagram);
}

static void step(struct arena *arena, struct input *input)
{
	uint8_t action = input_byte(input);

	switch (action & 7) {
	case 0:
		script_act(arena, input);
		break;
	case 1:
		script_pass(arena, input);
		break;
	case 2:
	case 3:
		arena_settle(arena, 1 + (action >> 6));
		break;
	default:
		network(arena, input, action >> 3);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static struct arena arena;
	struct input input = input_over(bytes, length);

	if (!arena_open(&arena, family_of(input_byte(&input))))
		return 0;
	arena.verifies = has_integrity(&arena);
	arena_start(&arena, ARENA_CONNECT);
	for (unsigned i = 0; i < SCRIPT_ACTIONS && input_left(&input); i++)
		step(&arena, &input);
	arena_close(&arena);
	return 0;
}
