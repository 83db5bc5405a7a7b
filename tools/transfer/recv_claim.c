/* SPDX-License-Identifier: MIT */
/*
 * recv_claim.c -- bytes that one address may have unfinished in the folder of `nopal recv`.
 *
 * An offer claims its length, and nothing of the disk.  A part that stays when its session ends is
 * counted by its bytes on disk, also in the next run of recv, since its state names the owner.
 */
#include <string.h>

#include <nopal/microprotocol.h>
#include "transfer/recv_session.h"

enum { CLAIM_TENTHS = 9, CLAIM_OF = 10 }; /* of the free disk: the default */

/* -------------------------------------------------------------------- a session's */

bool recv_claim(struct incoming *incoming)
{
	struct guests_house *house = &incoming->receiver->group->house;
	struct guests_key owner;
	char why[GUESTS_WHY_ROOM];
	uint64_t found = part_found_bytes(incoming->part, owner.bytes);

	if (found)
		guests_release(house, &owner, found);
	if (guests_claim(house, &incoming->guest.key, incoming->offer.size, why)) {
		incoming->claimed = incoming->offer.size;
		part_set_owner(incoming->part, incoming->guest.key.bytes);
		return true;
	}
	if (found)
		guests_claim(house, &owner, found, NULL);
	snprintf(incoming->error, sizeof(incoming->error), "%.60s: %s", incoming->offer.text, why);
	return false;
}

void recv_unclaim(struct incoming *incoming, uint64_t kept)
{
	struct guests_house *house = &incoming->receiver->group->house;

	if (kept)
		guests_claim(house, &incoming->guest.key, kept, NULL);
	guests_release(house, &incoming->guest.key, incoming->claimed);
	incoming->claimed = 0;
}

/* ---------------------------------------------------------------------- the folder */

struct claim_sweep {
	struct guests_house *house;
	uint64_t bytes;
};

static void claim_found(void *user, const uint8_t owner[PART_OWNER_BYTES], uint64_t bytes)
{
	struct claim_sweep *sweep = user;
	struct guests_key key;

	_Static_assert(sizeof(key.bytes) == PART_OWNER_BYTES, "an owner");
	memcpy(key.bytes, owner, sizeof(key.bytes));
	guests_claim(sweep->house, &key, bytes, NULL);
	sweep->bytes += bytes;
}

void recv_claims_find(struct recv_group *group, uint64_t bytes_each)
{
	struct claim_sweep sweep = { .house = &group->house };
	uint64_t disk;

	part_sweep(group->folder.fd, claim_found, &sweep);
	disk = part_free_bytes(group->folder.fd);
	if (bytes_each)
		group->house.bytes_each = bytes_each;
	else if (disk < INT64_MAX)
		group->house.bytes_each = (disk + sweep.bytes) / CLAIM_OF * CLAIM_TENTHS;
}
