/* SPDX-License-Identifier: MIT */
/*
 * closed_end.c -- how a session ends that closes: well where all arrived that its
 * application sent.
 *
 * It is asked of the application's end of a stack alone.  What a layer below could
 * not bring becomes a fate above; a group's rule (all, any, so many) is in the fates
 * of its messages; and who sends on a stream loses what the flow closes over.
 */
#include <stdio.h>
#include <string.h>

#include "address.h"
#include "session.h"

/* Messages of the application that have not arrived, where they had to. */
static uint64_t undelivered(const struct nopal_core *top)
{
	if (!top->awake || top->is_flow || top->above ||
	    !top->layer->plan->delivers)
		return 0;
	return (uint64_t)top->awake->undelivered + top->awake->unfinished;
}

/* "; 10.0.0.2:9000: the peer fell silent, and 2 more are lost" */
static void say_lost(const struct nopal_group *group, char *words, size_t room)
{
	size_t used = strlen(words);

	if (group->lost)
		used += (size_t)snprintf(words + used, room - used, "; %s",
					 group->lost);
	if (group->lost && group->lost_count > 1 && used < room)
		snprintf(words + used, room - used, ", and %u more are lost",
			 group->lost_count - 1);
}

enum nopal_end nopal__closed_end(struct nopal_core *bottom, char *words)
{
	uint64_t missing = undelivered(nopal__top(bottom));

	if (!missing)
		return NOPAL_ENDED_WELL;
	snprintf(words, NOPAL_END_WORDS,
		 "%llu message%s not known to have arrived",
		 (unsigned long long)missing, missing > 1 ? "s are" : " is");
	if (bottom->is_group)
		say_lost(bottom->group, words, NOPAL_END_WORDS);
	return NOPAL_UNDELIVERED;
}

void nopal__lost_note(struct nopal_group *group,
		      const struct nopal_destination_info *info)
{
	char address[NOPAL_ADDRESS_TEXT], words[NOPAL_END_WORDS];

	if (group->lost_count++)
		return;
	snprintf(words, sizeof(words), "%s: %s",
		 nopal_address_format(&info->address, address), info->text);
	group->lost = strdup(words);
}
