/* SPDX-License-Identifier: MIT */
/*
 * memory.c -- everything a session owns comes from here and is charged to its budget; closing is
 * one release.
 */
#include <string.h>

#include "engine/memory.h"

bool nopal__charge(struct nopal_composite *composite, uint64_t bytes)
{
	if (composite->awake->bytes_held + bytes > composite->awake->budget.bytes)
		return false;
	composite->awake->bytes_held += bytes;
	return true;
}

void nopal__credit(struct nopal_composite *composite, uint64_t bytes)
{
	composite->awake->bytes_held -= bytes;
}

/* Without a session the memory belongs to the caller alone. */
void *nopal_alloc(struct nopal_session *session, size_t bytes)
{
	struct nopal_composite *composite = session ? nopal__composite(session) : NULL;
	struct nopal_memory *memory;

	if (composite && !nopal__charge(composite, bytes))
		return NULL;
	memory = calloc(1, sizeof(*memory) + bytes);
	if (!memory) {
		if (composite)
			nopal__credit(composite, bytes);
		return NULL;
	}
	memory->bytes = bytes;
	if (composite) {
		memory->next = composite->memory;
		if (composite->memory)
			composite->memory->previous = memory;
		composite->memory = memory;
	}
	return memory + 1;
}

void nopal_free(struct nopal_session *session, void *bytes)
{
	struct nopal_composite *composite = session ? nopal__composite(session) : NULL;
	struct nopal_memory *memory = bytes;

	if (!bytes)
		return;
	memory--;
	if (composite) {
		nopal__credit(composite, memory->bytes);
		if (memory->previous)
			memory->previous->next = memory->next;
		else
			composite->memory = memory->next;
		if (memory->next)
			memory->next->previous = memory->previous;
	}
	free(memory);
}

void nopal__memory_release(struct nopal_composite *composite)
{
	while (composite->memory) {
		struct nopal_memory *next = composite->memory->next;

		free(composite->memory);
		composite->memory = next;
	}
}
