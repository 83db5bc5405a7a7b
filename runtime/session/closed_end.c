/* SPDX-License-Identifier: MIT */
/*
 * closed_end.c -- how a session ends that closes: well where all arrived that its application sent.
 *
 * It is asked of the application's end of a stack alone.  What a layer below could not bring
 * becomes a fate above; a group's rule (all, any, so many) is in the fates of its messages; and who
 * sends on a stream loses what the flow closes over.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <nopal/address.h>
#include "session/session.h"

/* Messages of the application that have not arrived, where they had to. */
static uint64_t undelivered(const struct nopal_core *top)
{
	if (!top->awake || top->is_flow || top->above || !top->layer->plan->delivers)
		return 0;
	return (uint64_t)top->awake->undelivered + top->awake->unfinished;
}

static void add(char *words, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(char *words, const char *format, ...)
{
	size_t used = strlen(words);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(words + used, NOPAL_END_WORDS - used, format, arguments);
	va_end(arguments);
}

static void add_missing(char *words, uint64_t missing)
{
	add(words, "%llu message%s not known to have arrived", (unsigned long long)missing,
	    missing > 1 ? "s are" : " is");
}

/* "10.0.0.2:9000: the peer fell silent, and 2 more were lost" */
static void add_lost(char *words, const struct nopal_group *group)
{
	add(words, "%s", group->lost);
	if (group->lost_count > 1)
		add(words, ", and %u more were lost", group->lost_count - 1);
}

enum nopal_end nopal__closed_end(struct nopal_core *bottom, char *words)
{
	uint64_t missing = undelivered(nopal__top(bottom));

	if (!missing)
		return NOPAL_ENDED_WELL;
	words[0] = '\0';
	add_missing(words, missing);
	if (bottom->is_group && bottom->group->lost) {
		add(words, "; ");
		add_lost(words, bottom->group);
	}
	return NOPAL_UNDELIVERED;
}

void nopal__lost_words(struct nopal_core *group, const char *text, char *words)
{
	uint64_t missing = undelivered(nopal__top(group));

	words[0] = '\0';
	if (group->group->lost)
		add_lost(words, group->group);
	else
		add(words, "%s", text);
	if (missing) {
		add(words, "; ");
		add_missing(words, missing);
	}
}

void nopal__lost_note(struct nopal_group *group, const struct nopal_destination_info *info)
{
	char address[NOPAL_ADDRESS_TEXT], words[NOPAL_END_WORDS];

	if (group->lost_count++)
		return;
	snprintf(words, sizeof(words), "%s: %s", nopal_address_format(&info->address, address),
		 info->text);
	group->lost = strdup(words);
}
