/* SPDX-License-Identifier: MIT */
#include "wire/wire.h"
#include "script.h"

#include <string.h>

#include "forge.h"
#include "forge_early.h"

/* --------------------------------------------------------------- applications */

static void act_on(struct arena_slot *slot, struct input *input)
{
	struct nopal_session *session = slot->session;
	struct nopal_address peer;
	uint8_t argument = input_byte(input);

	switch (argument % 8) {
	case 0:
		nopal_session_close(session);
		break;
	case 1:
		nopal_session_abort(session, "the script says so");
		break;
	case 2:
		arena_give_back(slot);
		break;
	case 3:
		nopal_receive_post(session, argument >> 3, 3, argument);
		break;
	case 4:
		nopal_session_accept_rate(session, UINT64_C(1) << (argument >> 3));
		break;
	case 5:
		nopal_session_peer(session, &peer);
		peer.port++; /* its second address */
		nopal_session_add_path(session, slot->arena->opener[argument >> 7], &peer);
		break;
	case 6:
		nopal_sim_address(1 + (argument >> 7), ARENA_PORT, &peer);
		nopal_destination_add(session, &peer);
		break;
	default:
		nopal_destination_remove(session, argument >> 4, argument >> 3 & 1);
	}
}

static void say(struct arena *arena, struct arena_slot *slot, struct input *input)
{
	size_t length = input_number(input, 2);
	uint8_t property = input_byte(input);

	arena_say(arena, slot, length, property, property ? input_number(input, 2) : 0);
}

/* A report of the network, or of who feigns it, of a datagram that left. */
static void hint(struct arena *arena, struct input *input)
{
	uint8_t how = input_byte(input);
	const struct arena_datagram *seen = arena_seen(arena, how >> 4);
	struct nopal_hint hint = {
		.what = how & 1 ? NOPAL_HINT_REFUSED : NOPAL_HINT_TOO_LONG,
		.head_bytes = how >> 1 & 7,
		.datagram_bytes = (uint32_t)input_number(input, 2),
	};

	if (!seen)
		return;
	hint.to = seen->to;
	if (hint.head_bytes > sizeof(hint.head))
		hint.head_bytes = sizeof(hint.head);
	if (hint.head_bytes > seen->length)
		hint.head_bytes = (uint32_t)seen->length;
	memcpy(hint.head, seen->bytes, hint.head_bytes);
	nopal__endpoint_hint(seen->to_opener ? arena->acceptor[0] : arena->opener[0], &hint);
}

void script_act(struct arena *arena, struct input *input)
{
	uint8_t what = input_byte(input);
	struct arena_slot *slot = arena_slot(arena, what >> 3);

	switch (what & 7) {
	case 0:
	case 1:
	case 2:
	case 3:
		if (slot)
			say(arena, slot, input);
		break;
	case 4:
		arena->keeps = !arena->keeps;
		break;
	case 5:
		arena_start(arena, (what >> 3) % ARENA_WAYS);
		break;
	case 6:
		if (slot)
			act_on(slot, input);
		break;
	default:
		if (what & 0x80)
			arena_restart(arena, what & 0x40);
		else if (what & 0x40)
			arena_rebind(arena, what >> 4, what & 8);
		else
			hint(arena, input);
	}
}

/* -------------------------------------------------------------------- a forger */

/* From the front, or from the end, where what is in trailers lies. */
static uint8_t *place_in(struct arena_datagram *datagram, uint8_t where)
{
	size_t at = where & 0x7f;

	if (!datagram->length)
		return datagram->bytes;
	at %= datagram->length;
	return datagram->bytes + (where & 0x80 ? datagram->length - 1 - at : at);
}

static void edit_number(struct arena_datagram *datagram, uint8_t *at, unsigned bytes, uint64_t by)
{
	uint64_t number = 0;

	if (at + bytes > datagram->bytes + datagram->length)
		return;
	for (unsigned i = 0; i < bytes; i++)
		number = number << 8 | at[i];
	number += by;
	for (unsigned i = bytes; i-- > 0; number >>= 8)
		at[i] = (uint8_t)number;
}

static void edit_length(struct arena_datagram *datagram, struct input *input)
{
	size_t length = input_number(input, 2) % sizeof(datagram->bytes);

	if (length > datagram->length)
		memset(datagram->bytes + datagram->length, 0, length - datagram->length);
	datagram->length = length;
}

/* Bytes of the input over, or between, those that are there. */
static void edit_bytes(struct arena_datagram *datagram, uint8_t *at, struct input *input,
		       bool inserts)
{
	size_t length, left = datagram->length, place = (size_t)(at - datagram->bytes);
	const uint8_t *bytes = input_take(input, input_byte(input) & 63, &length);

	left -= place < left ? place : left;
	if (inserts && datagram->length + length <= sizeof(datagram->bytes)) {
		memmove(at + length, at, left);
		datagram->length += length;
	} else if (length > left) {
		length = left;
	}
	if (length)
		memcpy(at, bytes, length);
}

static void edit(struct arena_datagram *datagram, struct input *input)
{
	uint8_t what = input_byte(input);
	uint8_t *at = place_in(datagram, input_byte(input));

	switch (what & 7) {
	case 0:
		*at ^= input_byte(input);
		break;
	case 1:
		edit_number(datagram, at, 1 + (what >> 3) % 4,
			    (uint64_t)(int64_t)(int8_t)input_byte(input));
		break;
	case 2:
		edit_number(datagram, at, 1 + (what >> 3) % 8, input_number(input, 4));
		break;
	case 3:
		edit_length(datagram, input);
		break;
	case 4:
		edit_bytes(datagram, at, input, false);
		break;
	case 5:
		edit_bytes(datagram, at, input, true);
		break;
	default:
		*at = input_byte(input);
	}
}

/* Another kind or another body behind the head of a datagram that left. */
static void invent(const struct nopal_plan *plan, struct arena_datagram *datagram,
		   struct input *input)
{
	size_t length,
		head = plan->head_bytes < datagram->length ? plan->head_bytes : datagram->length;
	uint8_t kind = input_byte(input);
	const uint8_t *bytes = input_take(input, input_byte(input), &length);

	if (plan->demux != NOPAL_DEMUX_INTEROP)
		datagram->bytes[0] = nopal__first_byte(kind & 31);
	if (length)
		memcpy(datagram->bytes + head, bytes, length);
	memset(datagram->bytes + head + length, 0, plan->trailer_bytes);
	datagram->length = head + length + plan->trailer_bytes;
}

/* To the other end, or from a stranger's port. */
static void redirect(struct arena_datagram *datagram, uint8_t how)
{
	struct nopal_address to = datagram->to;

	if (how & 0x20) {
		datagram->to = datagram->from;
		datagram->from = to;
	}
	if (how & 0x40)
		datagram->from.port = (uint16_t)(datagram->from.port + how);
}

bool script_forged(struct arena *arena, struct input *input, struct arena_datagram *ret_datagram)
{
	uint8_t how = input_byte(input);
	const struct arena_datagram *seen = arena_seen(arena, input_byte(input) & (ARENA_SEEN - 1));

	if (!seen)
		return false;
	*ret_datagram = *seen;
	if (how & 0x10)
		invent(arena->plan, ret_datagram, input);
	for (unsigned i = how & 3; i > 0; i--)
		edit(ret_datagram, input);
	redirect(ret_datagram, how);
	if (how & 0x80)
		return true;
	forge_early(arena, ret_datagram);
	forge_repair(arena->plan, ret_datagram->bytes, ret_datagram->length);
	return true;
}

void script_forge(struct arena *arena, struct input *input)
{
	struct arena_datagram datagram;

	if (script_forged(arena, input, &datagram))
		arena_deliver(arena, &datagram);
}

void script_pass(struct arena *arena, struct input *input)
{
	arena_pass(arena, NOPAL_MILLISECOND << (input_byte(input) & 15));
}
