/* SPDX-License-Identifier: MIT */
/*
 * rest.c -- a session to which nothing happens rests: it takes a few bytes.
 *
 *   awake --nothing under way, nothing happened for NOPAL_REST_NS--> at rest
 *     ^                                                               |
 *     +---------- a datagram, a timer or a call of the application ---+
 *
 * At rest a session has its struct nopal_core, its place in the wheel and a string of bytes.  Its
 * parts give back what they can make again (their `rest`), and what is left is packed, in 64-bit
 * words:
 *
 *   bitmap of words that are not those of a fresh session of the plan |
 *   for each of them a mask, and the bytes that are not zero
 *
 * of how the word differs from the fresh one, or, where that is shorter and the mask says so in its
 * highest bit, of how long it is ago: most of what is large is a time.  A mask of 0 goes before a
 * word that is kept as it is.
 *
 * So what a part never touched takes a bit a word.  The application's handle, the id and the timers
 * stay what they are; nobody can tell but by the memory.
 *
 * A walk over the sessions that are awake finds those that may rest; it is due only while something
 * happens.  A flow rests when all streams on it do, and wakes with any of them.
 */
#include <string.h>

#include "session/idle.h"
#include "engine/message.h"
#include "engine/timer.h"
#include "session/session.h"

enum {
	BYTE_BITS = 8,
	WORD_BYTES = 8,
	MASK_ALL = 0xff,
	MASK_BYTES = 0x7f,
	MASK_AGO = 1 << 7, /* the word is a time, told as how long ago */
	MASK_WHOLE = 0,	   /* all bytes follow */
	TIME_BYTES = 4,	   /* that a time has at least */
};

static uint32_t word_count(const struct nopal_layer *layer)
{
	return layer->awake_bytes / WORD_BYTES;
}

static uint32_t bitmap_bytes(const struct nopal_layer *layer)
{
	return (word_count(layer) + BYTE_BITS - 1) / BYTE_BITS;
}

/* -------------------------------------------------------------------- bytes */

/* A bit for each byte that is not zero: each byte's bits come together in its lowest, and these in
 * the highest byte of the product. */
static unsigned byte_mask(uint64_t word)
{
	word |= word >> 4;
	word |= word >> 2;
	word |= word >> 1;
	return (unsigned)((word & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080) >>
			  56);
}

static unsigned mask_bytes(unsigned mask)
{
	unsigned bytes = 0;

	for (; mask; mask &= mask - 1)
		bytes++;
	return bytes;
}

/* How a word is written: its mask, and of what. */
static unsigned word_mask(uint64_t word, uint64_t fresh, uint64_t now, uint64_t *ret_of)
{
	unsigned differs = byte_mask(word ^ fresh), ago;

	*ret_of = word ^ fresh;
	if (!(differs & MASK_AGO) && mask_bytes(differs) < TIME_BYTES)
		return differs;
	ago = byte_mask(now - word);
	if (!(ago & MASK_AGO) && mask_bytes(ago) < mask_bytes(differs)) {
		*ret_of = now - word;
		return ago | MASK_AGO;
	}
	return differs & MASK_AGO ? MASK_WHOLE : differs;
}

static uint8_t *word_pack(uint8_t *at, unsigned mask, uint64_t of)
{
	unsigned bytes = mask == MASK_WHOLE ? MASK_ALL : mask & MASK_BYTES;

	*at++ = (uint8_t)mask;
	for (; bytes; bytes >>= 1, of >>= BYTE_BITS)
		if (bytes & 1)
			*at++ = (uint8_t)of;
	return at;
}

static const uint8_t *word_unpack(const uint8_t *at, uint64_t now, uint64_t *word)
{
	unsigned mask = *at++;
	unsigned bytes = mask == MASK_WHOLE ? MASK_ALL : mask & MASK_BYTES;
	uint64_t of = 0;

	for (unsigned i = 0; i < WORD_BYTES; i++)
		if (bytes >> i & 1)
			of |= (uint64_t)*at++ << (i * BYTE_BITS);
	*word = mask & MASK_AGO ? now - of : *word ^ of;
	return at;
}

static size_t packed_bytes(const struct nopal_core *core)
{
	const uint64_t *words = (const uint64_t *)core->awake;
	const struct nopal_layer *layer = core->layer;
	size_t bytes = bitmap_bytes(layer);

	for (uint32_t i = 0; i < word_count(layer); i++)
		if (words[i] != layer->fresh[i]) {
			uint64_t of;
			unsigned mask =
				word_mask(words[i], layer->fresh[i], (uint64_t)core->now_ns, &of);

			bytes += mask == MASK_WHOLE ? 1 + WORD_BYTES
						    : 1 + mask_bytes(mask & MASK_BYTES);
		}
	return bytes;
}

static void words_pack(const struct nopal_core *core, uint8_t *packed)
{
	const uint64_t *words = (const uint64_t *)core->awake;
	const struct nopal_layer *layer = core->layer;
	uint8_t *at = packed + bitmap_bytes(layer);

	memset(packed, 0, bitmap_bytes(layer));
	for (uint32_t i = 0; i < word_count(layer); i++)
		if (words[i] != layer->fresh[i]) {
			uint64_t of;
			unsigned mask =
				word_mask(words[i], layer->fresh[i], (uint64_t)core->now_ns, &of);

			packed[i / BYTE_BITS] |= (uint8_t)(1u << i % BYTE_BITS);
			at = word_pack(at, mask, of);
		}
}

static void words_unpack(struct nopal_core *core, const uint8_t *packed)
{
	const struct nopal_layer *layer = core->layer;
	const uint8_t *at = packed + bitmap_bytes(layer);
	uint64_t *words = (uint64_t *)core->awake;

	memcpy(words, layer->fresh, layer->awake_bytes);
	for (uint32_t i = 0; i < word_count(layer); i++)
		if (packed[i / BYTE_BITS] >> i % BYTE_BITS & 1)
			at = word_unpack(at, (uint64_t)core->now_ns, &words[i]);
}

/* ------------------------------------------------------------------ to rest */

static bool nothing_under_way(const struct nopal_core *core)
{
	const struct nopal_awake *awake = core->awake;

	return core->life == NOPAL_LIFE_OPEN && !core->touched && core->depth == 0 &&
	       core->awake->segments.alive == 0 && core->awake->messages.alive == 0 &&
	       awake->unfinished == 0 && awake->queue.count == 0 && awake->delayed.count == 0 &&
	       awake->transmissions.oldest == awake->transmissions.next;
}

static bool may_rest(const struct nopal_core *bottom, int64_t now_ns)
{
	for (const struct nopal_core *core = bottom; core; core = nopal__over(core))
		if (now_ns - core->now_ns < NOPAL_REST_NS || !nothing_under_way(core) ||
		    (core->up->rests && !core->up->rests(core)))
			return false;
	return true;
}

static void list_give_back(struct nopal_core *core, struct nopal_deferred_list *list)
{
	nopal_free(&core->session, list->entries);
	*list = (struct nopal_deferred_list){ 0 };
}

/* Everything that the next message makes again. */
static void give_back(struct nopal_core *core)
{
	const struct nopal_part *part = &core->layer->plan->parts[core->layer->first_part];

	for (uint32_t i = 0; i < core->layer->part_count; i++)
		if (part[i].microprotocol->rest)
			part[i].microprotocol->rest((struct nopal_at){ &core->session, &part[i] });
	nopal_free(&core->session, core->awake->transmissions.ring);
	core->awake->transmissions.ring = NULL;
	core->awake->transmissions.room = 0;
	list_give_back(core, &core->awake->queue);
	list_give_back(core, &core->awake->delayed);
	nopal__watchdog_stop(core);
	core->awake->doubt = (struct nopal_doubt){ 0 };
	nopal__fragments_give_back(core);
}

/* False: no memory even for that; it stays awake. */
static bool core_pack(struct nopal_core *core)
{
	struct nopal_awake *awake = core->awake;
	uint8_t *packed;

	give_back(core);
	nopal__awake_forget(core);
	packed = malloc(packed_bytes(core));
	if (!packed) {
		nopal__awake_lay_out(core);
		return false;
	}
	words_pack(core, packed);
	free(awake);
	core->awake = NULL;
	core->shared = NULL;
	core->packed = packed;
	return true;
}

static void stack_rest(struct nopal_core *bottom)
{
	for (struct nopal_core *core = bottom; core; core = nopal__over(core))
		if (!core_pack(core)) {
			nopal__rouse(bottom);
			return;
		}
	nopal__endpoint_link(bottom, &bottom->endpoint->resting);
}

/* --------------------------------------------------------------- and awake */

static bool core_unpack(struct nopal_core *core)
{
	struct nopal_awake *awake = malloc(core->layer->awake_bytes);

	if (!awake)
		return false;
	core->awake = awake;
	words_unpack(core, core->packed);
	free(core->packed);
	core->packed = NULL;
	nopal__awake_lay_out(core);
	return true;
}

bool nopal__rouse(struct nopal_core *core)
{
	struct nopal_core *bottom = nopal__stack_bottom(core);
	struct nopal_core *flow = bottom->below;

	if (flow && !flow->awake && flow->life != NOPAL_LIFE_ENDED)
		nopal__rouse(flow);
	nopal__endpoint_link(bottom, &bottom->endpoint->sessions);
	for (core = bottom; core; core = nopal__over(core))
		if (!core->awake && !core_unpack(core)) {
			nopal__session_end(bottom, NOPAL_RESOURCE, NULL);
			return false;
		}
	nopal__rest_watch(bottom->world);
	return true;
}

/* ----------------------------------------------------------------- the walk */

void nopal__rest_watch(struct nopal_world *world)
{
	int64_t deadline_ns = world->now_ns + NOPAL_REST_NS;

	if (world->rest.at)
		return;
	nopal_wheel_arm(&world->wheel, &world->rest, deadline_ns);
	if (!world->in_core)
		world->ops->wake_at(world, deadline_ns);
}

/* True: there is one that was heard of lately. */
static bool endpoint_rest(struct nopal_endpoint *endpoint, bool flows)
{
	int64_t now_ns = endpoint->port.world->now_ns;
	struct nopal_core *bottom = endpoint->sessions, *next;
	bool lately = false;

	for (; bottom; bottom = next) {
		next = bottom->next;
		if ((nopal__top(bottom)->up->rests != NULL) != flows)
			continue;
		if (may_rest(bottom, now_ns))
			stack_rest(bottom);
		else if (now_ns - bottom->now_ns < NOPAL_REST_NS)
			lately = true;
	}
	return lately;
}

void nopal__rest_walk(struct nopal_world *world)
{
	bool lately = false;

	for (struct nopal_endpoint *endpoint = world->endpoints; endpoint;
	     endpoint = endpoint->next) {
		lately |= endpoint_rest(endpoint, false);
		lately |= endpoint_rest(endpoint, true);
	}
	if (lately)
		nopal__rest_watch(world);
}
