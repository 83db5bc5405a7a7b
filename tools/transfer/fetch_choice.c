/* SPDX-License-Identifier: MIT */
/*
 * fetch_choice.c -- one file from several servers: the choice among the files that they announce,
 * and the list of its blocks' hashes.
 */
#include "transfer/fetch_talk.h"

#define CHOICE_WAIT_NS (1 * NOPAL_SECOND)  /* for others, since the first */
#define CHOICE_LIST_NS (10 * NOPAL_SECOND) /* for some of the list */

/* ---------------------------------------------------------------- announcements */

static bool choice_is_same(const struct destination *one, const struct destination *other)
{
	return one->offer.size == other->offer.size && one->hash == other->hash;
}

/* The first of the servers that announce the most common file; NULL: none announces any. */
static struct destination *choice_leader(const struct fetch *fetch, unsigned *ret_votes)
{
	struct destination *leader = NULL;

	*ret_votes = 0;
	for (unsigned i = 0; i < fetch->count; i++) {
		struct destination *one = &fetch->ones[i];
		unsigned votes = 0;

		if (one->phase != PHASE_ANSWERED)
			continue;
		for (unsigned j = 0; j < fetch->count; j++)
			votes += fetch->ones[j].phase == PHASE_ANSWERED &&
				 choice_is_same(&fetch->ones[j], one);
		if (votes < *ret_votes ||
		    (votes == *ret_votes && leader && leader->turn < one->turn))
			continue;
		leader = one;
		*ret_votes = votes;
	}
	return leader;
}

/* Is the leader with these votes the choice already? */
static bool choice_is_clear(const struct fetch *fetch, unsigned votes)
{
	bool may_change = false;

	for (unsigned i = 0; i < fetch->count; i++)
		may_change |= fetch->ones[i].phase == PHASE_OPENING ||
			      fetch->ones[i].phase == PHASE_ASKED;
	return fetch->given || votes > fetch->count / 2 || !may_change ||
	       fetch_now(fetch) - fetch->answered_ns >= CHOICE_WAIT_NS;
}

static void choice_refuse(struct fetch *fetch, struct destination *one)
{
	char why[TRANSFER_TEXT_ROOM];

	snprintf(why, sizeof(why),
		 "it has another version: %llu bytes, hash %016llx, and not %016llx, %s",
		 (unsigned long long)one->offer.size, (unsigned long long)one->hash,
		 (unsigned long long)fetch->hash,
		 fetch->given ? "which is wanted" : "which is taken");
	fetch_leave_out(fetch, one, TABLE_REFUSED, why,
			"name the version that you want with --hash");
}

/* --------------------------------------------------------------------- the list */

/* Asks for the next part of the list, or compares the whole list: then the file is known. */
static void choice_go_on(struct fetch *fetch)
{
	const struct file_blocks *blocks = &fetch->blocks;
	struct transfer_note list = { .type = TRANSFER_LIST,
				      .offset = blocks->known,
				      .size = blocks->count - blocks->known };

	if (list.size > TRANSFER_HASHES_MAX)
		list.size = TRANSFER_HASHES_MAX;
	if (list.size) {
		fetch_say(fetch->lister, &list);
		return;
	}
	if (file_blocks_root(blocks) != fetch->hash) {
		fetch_leave_out(fetch, fetch->lister, TABLE_FAILED,
				"its list of hashes does not belong to the hash that it announced",
				"start `nopal serve` there again");
		return;
	}
	if (!fetch_plan_init(&fetch->parts, blocks->count, blocks->block_bytes, fetch->count)) {
		fetch->hooks->deserted(fetch->user, "out of memory",
				       "fetch it on a machine with more");
		return;
	}
	fetch->known = true;
	for (unsigned i = 0; i < fetch->count; i++) {
		struct destination *one = &fetch->ones[i];

		if (one->phase != PHASE_ANSWERED)
			continue;
		if (choice_is_same(one, fetch->lister))
			fetch_join(fetch, one);
		else
			choice_refuse(fetch, one);
	}
	fetch->lister = NULL;
	fetch->hooks->found(fetch->user);
}

void fetch_listed(struct fetch *fetch, struct destination *one, const struct nopal_message *message,
		  const struct transfer_note *note)
{
	struct file_blocks *blocks = &fetch->blocks;
	uint64_t left = blocks->count - blocks->known;
	uint64_t hashes[TRANSFER_HASHES_MAX];
	size_t count;
	bool good;

	if (fetch->known || one != fetch->lister)
		return; /* the list comes too late */
	fetch->listed_ns = fetch_now(fetch);
	count = transfer_hashes(message, 0, hashes, TRANSFER_HASHES_MAX);
	if (left > TRANSFER_HASHES_MAX)
		left = TRANSFER_HASHES_MAX;
	good = note->offset == blocks->known && count == left &&
	       nopal_message_length(message) == TRANSFER_DATA_HEADER + left * sizeof(hashes[0]);
	for (size_t i = 0; good && i < count; i++)
		good = file_blocks_add(blocks, hashes[i]);
	if (good)
		choice_go_on(fetch);
	else
		fetch_leave_out(fetch, one, TABLE_FAILED,
				"it sent other hashes than it was asked for",
				"start `nopal serve` there again");
	fetch_choose(fetch);
}

/* -------------------------------------------------------------------- the choice */

void fetch_choose(struct fetch *fetch)
{
	struct destination *leader;
	unsigned votes;

	if (fetch->known || fetch->closing)
		return;
	if (fetch->lister && fetch_now(fetch) - fetch->listed_ns > CHOICE_LIST_NS)
		fetch_leave_out(fetch, fetch->lister, TABLE_FAILED,
				"it does not give its list of hashes",
				"start `nopal serve` there again");
	while (!fetch->known && !fetch->closing && !fetch->lister &&
	       (leader = choice_leader(fetch, &votes)) && choice_is_clear(fetch, votes)) {
		fetch->lister = leader;
		fetch->offer = leader->offer;
		fetch->hash = leader->hash;
		fetch->listed_ns = fetch_now(fetch);
		file_blocks_fini(&fetch->blocks);
		file_blocks_init(&fetch->blocks, leader->offer.size);
		choice_go_on(fetch);
	}
}

void fetch_announced(struct fetch *fetch, struct destination *one, const struct transfer_note *end)
{
	bool decided = fetch->known || fetch->given;

	if (one->offer.size != end->size) {
		fetch_leave_out(fetch, one, TABLE_FAILED,
				"it offers a file of another size than it announces", NULL);
		return;
	}
	one->hash = end->hash;
	one->aborts = 0;
	if (decided &&
	    (one->hash != fetch->hash || (fetch->known && end->size != fetch->offer.size))) {
		choice_refuse(fetch, one);
		return;
	}
	if (!file_blocks_fit(end->size)) {
		fetch_leave_out(fetch, one, TABLE_REFUSED, "the file is longer than 2 TiB", NULL);
		return;
	}
	if (fetch->known) {
		fetch_join(fetch, one);
		return;
	}
	one->phase = PHASE_ANSWERED;
	one->turn = fetch->turns++;
	if (one->turn == 0)
		fetch->answered_ns = fetch_now(fetch);
	fetch_choose(fetch);
}
