/* SPDX-License-Identifier: MIT */
/*
 * memory.c -- everything a session owns comes from here and is charged to its budget; closing is
 * one release.
 */
#include <string.h>

#include "engine/memory.h"

bool nopal__charge(struct nopal_core *core, uint64_t bytes)
{
	if (core->awake->bytes_held + bytes > core->awake->budget.bytes)
		return false;
	core->awake->bytes_held += bytes;
	return true;
}

void nopal__credit(struct nopal_core *core, uint64_t bytes)
{
	core->awake->bytes_held -= bytes;
}

/* Without a session the memory belongs to the caller alone. */
void *nopal_alloc(struct nopal_session *session, size_t bytes)
{
	struct nopal_core *core = session ? nopal__core(session) : NULL;
	struct nopal_memory *memory;

	if (core && !nopal__charge(core, bytes))
		return NULL;
	memory = calloc(1, sizeof(*memory) + bytes);
	if (!memory) {
		if (core)
			nopal__credit(core, bytes);
		return NULL;
	}
	memory->bytes = bytes;
	if (core) {
		memory->next = core->memory;
		if (core->memory)
			core->memory->previous = memory;
		core->memory = memory;
	}
	return memory + 1;
}

void nopal_free(struct nopal_session *session, void *bytes)
{
	struct nopal_core *core = session ? nopal__core(session) : NULL;
	struct nopal_memory *memory = bytes;

	if (!bytes)
		return;
	memory--;
	if (core) {
		nopal__credit(core, memory->bytes);
		if (memory->previous)
			memory->previous->next = memory->next;
		else
			core->memory = memory->next;
		if (memory->next)
			memory->next->previous = memory->previous;
	}
	free(memory);
}

void nopal__memory_release(struct nopal_core *core)
{
	while (core->memory) {
		struct nopal_memory *next = core->memory->next;

		free(core->memory);
		core->memory = next;
	}
}
