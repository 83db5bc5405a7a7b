/* SPDX-License-Identifier: MIT */
#include "support/nonces.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "aead_crypto.h"
#include "base/hash.h"
#include "ports/world.h"
#include <nopal/nopal.h>
#include "support/test.h"

enum { FIRST_ROOM = 1 << 12 };

bool __real_nopal__aead_seal(void *key, const uint8_t *nonce, struct nopal__aead_bytes clear,
			     uint8_t *bytes, size_t length, uint8_t *tag);
bool __wrap_nopal__aead_seal(void *key, const uint8_t *nonce, struct nopal__aead_bytes clear,
			     uint8_t *bytes, size_t length, uint8_t *tag);
struct nopal_world *__real_nopal_sim_new(uint64_t seed);
struct nopal_world *__wrap_nopal_sim_new(uint64_t seed);

/* Hashes of key and nonce, each in the first free place from its own on; 0: free. Mapped, as some
 * tests count what is allocated. */
static struct {
	uint64_t *place;
	size_t room, count;
} nonces;
static uint64_t sealed, repeated;
static bool tolerates;

uint64_t nonces_sealed(void)
{
	return sealed;
}

uint64_t nonces_repeated(void)
{
	return repeated;
}

void nonces_tolerate(bool tolerate)
{
	tolerates = tolerate;
}

/* ---------------------------------------------------------------------- the set */

static uint64_t *make_places(size_t room)
{
	void *places = mmap(NULL, room * sizeof(uint64_t), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(places, MAP_FAILED);
	return places;
}

static void forget_all(void)
{
	if (nonces.place)
		munmap(nonces.place, nonces.room * sizeof(uint64_t));
	nonces.place = make_places(FIRST_ROOM);
	nonces.room = FIRST_ROOM;
	nonces.count = 0;
}

static uint64_t *place_of(uint64_t hash)
{
	size_t at = hash & (nonces.room - 1);

	while (nonces.place[at] && nonces.place[at] != hash)
		at = (at + 1) & (nonces.room - 1);
	return &nonces.place[at];
}

static void make_room(void)
{
	uint64_t *old = nonces.place;
	size_t room = nonces.room;

	nonces.place = make_places(2 * room);
	nonces.room = 2 * room;
	for (size_t i = 0; i < room; i++)
		if (old[i])
			*place_of(old[i]) = old[i];
	munmap(old, room * sizeof(uint64_t));
}

static void note(uint64_t hash)
{
	uint64_t *place = place_of(hash);

	sealed++;
	if (*place) {
		repeated++;
		if (!tolerates)
			fail_msg("a key has sealed with a nonce twice");
		return;
	}
	*place = hash;
	if (2 * ++nonces.count > nonces.room)
		make_room();
}

/* ------------------------------------------------- between aead and cryptography */

struct nopal_world *__wrap_nopal_sim_new(uint64_t seed)
{
	forget_all();
	return __real_nopal_sim_new(seed);
}

/* The key's output for no input tells it from all others, whoever made it and wherever it lies. */
static void name_of(void *key, uint64_t ret_name[2])
{
	static const uint8_t nonce[NOPAL__AEAD_NONCE_BYTES];
	const struct nopal__aead_bytes nothing = { nonce, 0 };
	uint8_t none[1] = { 0 };

	assert_true(__real_nopal__aead_seal(key, nonce, nothing, none, 0, (uint8_t *)ret_name));
}

bool __wrap_nopal__aead_seal(void *key, const uint8_t *nonce, struct nopal__aead_bytes clear,
			     uint8_t *bytes, size_t length, uint8_t *tag)
{
	uint64_t name[2], hash;

	if (nonces.place) {
		name_of(key, name);
		hash = nopal__siphash(name, nonce, NOPAL__AEAD_NONCE_BYTES);
		note(hash ? hash : 1);
	}
	return __real_nopal__aead_seal(key, nonce, clear, bytes, length, tag);
}
