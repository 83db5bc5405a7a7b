/* SPDX-License-Identifier: MIT */
/*
 * events.c -- the names of events, their meaning and their arguments, from events.def.
 */
#include <string.h>

#include "registry/registry.h"

static const char *const event_names[] = {
	"NO_EVENT",
#define EVENT(name, type, doc) #name,
#include <nopal/events.def>
#undef EVENT
};

static const char *const event_docs[] = {
	"",
#define EVENT(name, type, doc) doc,
#include <nopal/events.def>
#undef EVENT
};

static const char *const event_arguments[] = {
	"",
#define EVENT(name, type, doc) #type,
#include <nopal/events.def>
#undef EVENT
};

const char *nopal_event_name(unsigned event)
{
	return event < NOPAL_CUSTOM ? event_names[event] : NULL;
}

const char *nopal_event_doc(unsigned event)
{
	return event < NOPAL_CUSTOM ? event_docs[event] : NULL;
}

const char *nopal_event_argument(unsigned event)
{
	return event < NOPAL_CUSTOM ? event_arguments[event] : NULL;
}

enum nopal_event nopal__event_find(const char *name)
{
	for (unsigned event = NOPAL_NO_EVENT + 1; event < NOPAL_CUSTOM; event++) {
		if (strcmp(nopal_event_name(event), name) == 0)
			return (enum nopal_event)event;
	}
	return NOPAL_NO_EVENT;
}
