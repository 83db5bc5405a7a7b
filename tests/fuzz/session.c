/* SPDX-License-Identifier: MIT */
/*
 * session -- fuzz target: a session, and a forger who knows its ids and its checks.
 *
 * Byte 0 of the input names the family (families.c).  Then the session opens, one message crosses,
 * and the script begins: the applications act, the network delivers faithfully, and between them
 * come datagrams that were forged (script.h).
 */
#include "script.h"

static void step(struct arena *arena, struct input *input)
{
	uint8_t action = input_byte(input);

	switch (action & 7) {
	case 0:
		script_act(arena, input);
		break;
	case 1:
		arena_settle(arena, 1 + (action >> 6));
		break;
	case 2:
		script_pass(arena, input);
		break;
	case 3:
		arena_next(arena); /* is lost */
		break;
	default:
		script_forge(arena, input);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static struct arena arena;
	struct input input = input_over(bytes, length);
	struct arena_slot *slot;

	if (!arena_open(&arena, family_of(input_byte(&input))))
		return 0;
	arena_start(&arena, ARENA_CONNECT);
	arena_settle(&arena, 3);
	slot = arena_slot(&arena, 0);
	if (slot)
		arena_say(&arena, slot, 100, 0, 0);
	arena_settle(&arena, 2);
	for (unsigned i = 0; i < SCRIPT_ACTIONS && input_left(&input); i++)
		step(&arena, &input);
	arena_close(&arena);
	return 0;
}
