/* SPDX-License-Identifier: MIT */
/*
 * idle.c -- a session to which nothing happens becomes idle: it takes a few bytes.
 *
 *   awake --nothing under way, nothing happened for NOPAL_IDLE_NS--> frozen
 *     ^                                                               |
 *     +---------- a datagram, a timer or a call of the application ---+
 *
 * A frozen session has its struct nopal_composite, its place in the wheel and a string of bytes.
 * Its parts give back what they can make again (their `idle`), and what is left is packed, in
 * 64-bit words:
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
 * A walk over the sessions that are awake finds the idle ones; the walk is due only while something
 * happens.  A flow is idle when all streams on it are, and resumes with any of them.
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

static size_t packed_bytes(const struct nopal_composite *composite)
{
	const uint64_t *words = (const uint64_t *)composite->awake;
	const struct nopal_layer *layer = composite->layer;
	size_t bytes = bitmap_bytes(layer);

	for (uint32_t i = 0; i < word_count(layer); i++)
		if (words[i] != layer->fresh[i]) {
			uint64_t of;
			unsigned mask = word_mask(words[i], layer->fresh[i],
						  (uint64_t)composite->now_ns, &of);

			bytes += mask == MASK_WHOLE ? 1 + WORD_BYTES
						    : 1 + mask_bytes(mask & MASK_BYTES);
		}
	return bytes;
}

static void words_pack(const struct nopal_composite *composite, uint8_t *packed)
{
	const uint64_t *words = (const uint64_t *)composite->awake;
	const struct nopal_layer *layer = composite->layer;
	uint8_t *at = packed + bitmap_bytes(layer);

	memset(packed, 0, bitmap_bytes(layer));
	for (uint32_t i = 0; i < word_count(layer); i++)
		if (words[i] != layer->fresh[i]) {
			uint64_t of;
			unsigned mask = word_mask(words[i], layer->fresh[i],
						  (uint64_t)composite->now_ns, &of);

			packed[i / BYTE_BITS] |= (uint8_t)(1u << i % BYTE_BITS);
			at = word_pack(at, mask, of);
		}
}

/* ------------------------------------------------------------------ to rest */

/* Nothing happened lately, and nothing is under way. */
static bool may_idle(const struct nopal_composite *bottom, int64_t now_ns)
{
	for (const struct nopal_composite *composite = bottom; composite;
	     composite = nopal__over(composite)) {
		const struct nopal_awake *awake = composite->awake;

		if (now_ns - composite->now_ns < NOPAL_IDLE_NS ||
		    composite->life != NOPAL_LIFE_OPEN || composite->touched || composite->depth ||
		    awake->segments.alive || awake->messages.alive || awake->unfinished ||
		    awake->queue.count || awake->delayed.count ||
		    awake->transmissions.oldest != awake->transmissions.next ||
		    (composite->up->idle && !composite->up->idle(composite)))
			return false;
	}
	return true;
}

static void list_give_back(struct nopal_composite *composite, struct nopal_deferred_list *list)
{
	nopal_free(&composite->session, list->entries);
	*list = (struct nopal_deferred_list){ 0 };
}

/* Everything that the next message makes again. */
static void give_back(struct nopal_composite *composite)
{
	const struct nopal_part *part =
		&composite->layer->plan->parts[composite->layer->first_part];

	for (uint32_t i = 0; i < composite->layer->part_count; i++)
		if (part[i].microprotocol->idle)
			part[i].microprotocol->idle(
				(struct nopal_at){ &composite->session, &part[i] });
	nopal_free(&composite->session, composite->awake->transmissions.ring);
	composite->awake->transmissions.ring = NULL;
	composite->awake->transmissions.room = 0;
	list_give_back(composite, &composite->awake->queue);
	list_give_back(composite, &composite->awake->delayed);
	nopal__watchdog_stop(composite);
	composite->awake->doubt = (struct nopal_doubt){ 0 };
	nopal__fragments_give_back(composite);
}

/* False: no memory even for that; it stays awake. */
static bool composite_pack(struct nopal_composite *composite)
{
	struct nopal_awake *awake = composite->awake;
	uint8_t *packed;

	give_back(composite);
	nopal__awake_forget(composite);
	packed = malloc(packed_bytes(composite));
	if (!packed) {
		nopal__awake_lay_out(composite);
		return false;
	}
	words_pack(composite, packed);
	free(awake);
	composite->awake = NULL;
	composite->shared = NULL;
	composite->packed = packed;
	return true;
}

static void stack_idle(struct nopal_composite *bottom)
{
	for (struct nopal_composite *composite = bottom; composite;
	     composite = nopal__over(composite))
		if (!composite_pack(composite)) {
			nopal__resume(bottom);
			return;
		}
	nopal__endpoint_link(bottom, &bottom->endpoint->idle);
}

/* --------------------------------------------------------------- and awake */

static bool composite_unpack(struct nopal_composite *composite)
{
	const struct nopal_layer *layer = composite->layer;
	const uint8_t *at = composite->packed + bitmap_bytes(layer);
	uint64_t *words = malloc(layer->awake_bytes);

	if (!words)
		return false;
	memcpy(words, layer->fresh, layer->awake_bytes);
	for (uint32_t i = 0; i < word_count(layer); i++)
		if (composite->packed[i / BYTE_BITS] >> i % BYTE_BITS & 1)
			at = word_unpack(at, (uint64_t)composite->now_ns, &words[i]);
	composite->awake = (struct nopal_awake *)words;
	free(composite->packed);
	composite->packed = NULL;
	nopal__awake_lay_out(composite);
	return true;
}

bool nopal__resume(struct nopal_composite *composite)
{
	struct nopal_composite *bottom = nopal__stack_bottom(composite);
	struct nopal_composite *flow = bottom->below;

	if (flow && !flow->awake && flow->life != NOPAL_LIFE_ENDED)
		nopal__resume(flow);
	nopal__endpoint_link(bottom, &bottom->endpoint->sessions);
	for (composite = bottom; composite; composite = nopal__over(composite))
		if (!composite->awake && !composite_unpack(composite)) {
			nopal__session_end(bottom, NOPAL_RESOURCE, NULL);
			return false;
		}
	nopal__idle_watch(bottom->world);
	return true;
}

/* ----------------------------------------------------------------- the walk */

void nopal__idle_watch(struct nopal_world *world)
{
	int64_t deadline_ns = world->now_ns + NOPAL_IDLE_NS;

	if (world->idle.at)
		return;
	nopal_wheel_arm(&world->wheel, &world->idle, deadline_ns);
	if (!world->in_core)
		world->ops->wake_at(world, deadline_ns);
}

/* True: there is a session to which something happened lately. */
static bool endpoint_idle(struct nopal_endpoint *endpoint, bool flows)
{
	int64_t now_ns = endpoint->port.world->now_ns;
	struct nopal_composite *bottom = endpoint->sessions, *next;
	bool lately = false;

	for (; bottom; bottom = next) {
		next = bottom->next;
		if ((nopal__top(bottom)->up->idle != NULL) != flows)
			continue;
		if (may_idle(bottom, now_ns))
			stack_idle(bottom);
		else if (now_ns - bottom->now_ns < NOPAL_IDLE_NS)
			lately = true;
	}
	return lately;
}

void nopal__idle_walk(struct nopal_world *world)
{
	bool lately = false;

	for (struct nopal_endpoint *endpoint = world->endpoints; endpoint;
	     endpoint = endpoint->next) {
		lately |= endpoint_idle(endpoint, false);
		lately |= endpoint_idle(endpoint, true);
	}
	if (lately)
		nopal__idle_watch(world);
}
