/* SPDX-License-Identifier: MIT */
/*
 * early -- fuzz target: early data, tickets and the replay guard, by who makes the proofs good again.
 *
 * Byte 0 of the input names one of the families with early data, and whether a session has got a
 * ticket before.  Requests are recorded, edited and sent again, from any address, early and late,
 * while their openers live and after; answers bring other tickets.
 *
 * A run ends by abort() where a listener admits two requests with one nonce, and as all of the
 * arena's do.
 */
#include <stdlib.h>

#include "forge_early.h"
#include "script.h"

enum { EARLY_NONCES = 64 };

/* Nonces that the listener has admitted since it began. */
struct admitted {
	const struct nopal_endpoint *listener;
	uint64_t count; /* by its own counter */
	uint64_t nonce[EARLY_NONCES];
	unsigned nonces;
};

static void note_nonce(struct admitted *admitted, uint64_t nonce)
{
	for (unsigned i = 0; i < admitted->nonces; i++)
		if (admitted->nonce[i] == nonce)
			abort();
	if (admitted->nonces < EARLY_NONCES)
		admitted->nonce[admitted->nonces++] = nonce;
}

/* A datagram was delivered, or else (NULL) something else has happened. */
static void look(struct arena *arena, struct admitted *admitted,
		 const struct arena_datagram *datagram)
{
	uint64_t count = nopal_endpoint_counters(arena->acceptor[0])->early_admitted, nonce;

	if (admitted->listener != arena->acceptor[0])
		*admitted = (struct admitted){ .listener = arena->acceptor[0] };
	if (count > admitted->count && datagram && forge_early_nonce(arena, datagram, &nonce))
		note_nonce(admitted, nonce);
	admitted->count = count;
}

static void deliver_next(struct arena *arena, struct admitted *admitted)
{
	const struct arena_datagram *next = arena_next(arena);
	struct arena_datagram datagram;

	if (!next)
		return;
	datagram = *next;
	arena_deliver(arena, &datagram);
	look(arena, admitted, &datagram);
}

/* Messages are said before the request leaves, at the end of this instant. */
static void start(struct arena *arena, struct input *input)
{
	unsigned messages = input_byte(input) & 3;
	struct arena_slot *slot;

	arena_start(arena, ARENA_CONNECT);
	for (unsigned i = 0; i < ARENA_SESSIONS && messages; i++) {
		slot = &arena->slots[i];
		if (slot->session && slot->opener && !nopal_session_is_open(slot->session))
			for (; messages; messages--)
				arena_say(arena, slot, input_number(input, 2), 0, 0);
	}
	arena_pass(arena, NOPAL_MILLISECOND);
}

static void forge(struct arena *arena, struct admitted *admitted, struct input *input)
{
	struct arena_datagram datagram;

	if (!script_forged(arena, input, &datagram))
		return;
	arena_deliver(arena, &datagram);
	look(arena, admitted, &datagram);
}

static void step(struct arena *arena, struct admitted *admitted, struct input *input)
{
	uint8_t action = input_byte(input);

	switch (action & 7) {
	case 0:
		script_act(arena, input);
		break;
	case 1:
	case 2:
		deliver_next(arena, admitted);
		return;
	case 3:
		script_pass(arena, input);
		break;
	case 4:
		start(arena, input);
		break;
	default:
		forge(arena, admitted, input);
		return;
	}
	look(arena, admitted, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static struct arena arena;
	struct admitted admitted = { 0 };
	struct input input = input_over(bytes, length);
	uint8_t how = input_byte(&input);

	if (!arena_open(&arena, family_named(how & 1 ? "early" : "early_sealed")))
		return 0;
	if (how & 2)
		arena_get_ticket(&arena);
	look(&arena, &admitted, NULL);
	start(&arena, &input);
	for (unsigned i = 0; i < SCRIPT_ACTIONS && input_left(&input); i++)
		step(&arena, &admitted, &input);
	arena_close(&arena);
	return 0;
}
