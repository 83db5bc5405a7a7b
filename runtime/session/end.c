/* SPDX-License-Identifier: MIT */
/*
 * end.c -- how a session ends: well where all arrived that its application sent, else by its words.
 *
 * The words of a session that closes are those of the application's end of a stack alone.  A
 * message that a layer below could not bring has its outcome above; a group's rule (all, any, so
 * many) is in the outcomes of its messages; and a stream loses the messages over which its flow
 * closes.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/turn.h"
#include "session/session.h"

/* Messages of the application that have not arrived, where they had to. */
uint64_t nopal__undelivered(const struct nopal_composite *top)
{
	if (!top->awake || top->up != &nopal__application_up || !top->layer->plan->delivers)
		return 0;
	return (uint64_t)top->awake->undelivered + top->awake->unfinished;
}

void nopal__add_words(char *words, const char *format, ...)
{
	size_t used = strlen(words);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(words + used, NOPAL_END_WORDS - used, format, arguments);
	va_end(arguments);
}

void nopal__add_missing(char *words, uint64_t missing)
{
	nopal__add_words(words, "%llu message%s not known to have arrived",
			 (unsigned long long)missing, missing > 1 ? "s are" : " is");
}

enum nopal_end nopal__closed_end(struct nopal_composite *bottom, char *words)
{
	uint64_t missing = nopal__undelivered(nopal__top(bottom));

	if (!missing)
		return NOPAL_ENDED_WELL;
	words[0] = '\0';
	nopal__add_missing(words, missing);
	if (bottom->down->add_lost)
		bottom->down->add_lost(bottom, words);
	return NOPAL_UNDELIVERED;
}

/* ---------------------------------------------------------------- breaking */

void nopal_session_break(struct nopal_session *session, enum nopal_end end, const char *text)
{
	struct nopal_composite *composite = nopal__composite(session);

	/* Somebody answers, and our seal opens none of it? */
	if (end == NOPAL_UNREACHABLE && composite->opener && composite->awake &&
	    composite->awake->counters.rx_sealed_badly > 0 &&
	    nopal_plan_provides(composite->layer->plan, "confidentiality")) {
		end = NOPAL_NOT_AUTHENTIC;
		text = "answers came, and none is authentic: the keys differ, "
		       "or somebody is in between";
	}
	nopal__session_end(composite, end, text);
}

void nopal__session_closed_well(struct nopal_composite *composite)
{
	nopal__session_end(composite, NOPAL_ENDED_WELL, "closed in good order");
}

void nopal_session_abort(struct nopal_session *session, const char *text)
{
	struct nopal_composite *composite = nopal__composite(session);
	bool outermost = nopal__turn_begin(composite->world);

	nopal__touch(composite);
	nopal__session_end(composite, NOPAL_ABORTED, text);
	nopal__turn_end(composite->world, outermost);
}
