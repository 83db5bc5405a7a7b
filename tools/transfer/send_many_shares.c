/* SPDX-License-Identifier: MIT */
/*
 * send_many_shares.c -- who holds what of a file that is spread over many.
 */
#include <stdlib.h>
#include <string.h>

#include "transfer/send_many_file.h"
#include "transfer/send_many_shares.h"

void many_forget_held(struct many_one *one)
{
	free(one->held);
	one->held = NULL;
	one->held_count = 0;
}

void many_on_held(struct many *many, struct many_one *one, const struct nopal_message *message)
{
	const struct transfer_note end = { .type = TRANSFER_END,
					   .file = many->reader.file,
					   .size = many->reader.source.size,
					   .hash = many->table.file.hash };
	struct range held[TRANSFER_RANGES_MAX];
	size_t count;

	many_forget_held(one);
	if (!transfer_held(message, many->reader.source.size, held, &count)) {
		many_leave(many, one, TABLE_FAILED, "it says that it holds what there is not");
		return;
	}
	one->held = malloc((count + 1) * sizeof(*held));
	if (!one->held) {
		many_leave(many, one, TABLE_FAILED, "out of memory");
		return;
	}
	memcpy(one->held, held, count * sizeof(*held));
	one->held_count = count;
	one->row->bytes = ranges_bytes(held, count);
	if (one->row->bytes == many->reader.source.size)
		transfer_say(&one->out, &end); /* a file, after all */
	else
		one->state = MANY_TAKING;
}

/* The ranges that remaining receivers hold together, in order. */
bool many_unite(struct many *many)
{
	size_t count = 0;
	struct range *held;

	for (unsigned i = 0; i < many->count; i++)
		count += many->ones[i].held_count + 1;
	held = realloc(many->held, count * sizeof(*held));
	if (!held)
		return false;
	many->held = held;
	many->held_count = 0;
	for (unsigned i = 0; i < many->count; i++) {
		const struct many_one *one = &many->ones[i];

		if (table_is_whole(one->row) && many->reader.source.size)
			held[many->held_count++] =
				(struct range){ .end = many->reader.source.size };
		if (one->state == MANY_TAKING && one->held_count)
			memcpy(held + many->held_count, one->held, one->held_count * sizeof(*held));
		if (one->state == MANY_TAKING)
			many->held_count += one->held_count;
	}
	ranges_sort(held, many->held_count);
	many->table.union_bytes = ranges_bytes(held, many->held_count);
	return true;
}
