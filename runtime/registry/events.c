/* SPDX-License-Identifier: MIT */
/*
 * events.c -- the names of events, their meaning and their arguments, from events.def.
 */
#include <string.h>

#include "registry/registry.h"

static const struct {
	const char *name, *doc, *argument;
} events[NOPAL_CUSTOM] = {
	[NOPAL_NO_EVENT] = { "NO_EVENT", "", "" },
#define EVENT(name, type, doc) [NOPAL_##name] = { #name, doc, #type },
#include <nopal/events.def>
#undef EVENT
};

const char *nopal_event_name(unsigned event)
{
	return event < NOPAL_CUSTOM ? events[event].name : NULL;
}

const char *nopal_event_doc(unsigned event)
{
	return event < NOPAL_CUSTOM ? events[event].doc : NULL;
}

const char *nopal_event_argument(unsigned event)
{
	return event < NOPAL_CUSTOM ? events[event].argument : NULL;
}

enum nopal_event nopal__event_find(const char *name)
{
	for (unsigned event = NOPAL_NO_EVENT + 1; event < NOPAL_CUSTOM; event++)
		if (strcmp(events[event].name, name) == 0)
			return (enum nopal_event)event;
	return NOPAL_NO_EVENT;
}
