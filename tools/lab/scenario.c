/* SPDX-License-Identifier: MIT */
/*
 * scenario.c -- the language of cases.txt: a link, who is on which side, what is sent, and what
 * must hold.
 *
 *   case "the second datagram is lost"
 *           link      delay 10ms fwd: loss mask 01
 *           sender    student                   # or reference; student where nothing is said
 *           receiver  reference
 *           messages  5 every 20ms size 8..1000 # bytes; drawn from this range
 *           within    2s
 *           expect    all once ordered intact   # none: nothing is delivered; ended: it closes well
 *           expect    datagrams <= 12           # of the sender; acks: of the receiver
 *           expect    delivered >= 4
 *           expect    delay <= 250ms            # the longest, from sending to delivery
 *           expect    resend at 200ms 5ms       # after the first transmission, give or take
 *
 * A line is one word with its arguments, in any order within the case; `expect` may be repeated.
 * Words behind a # are for people.  All that is wrong is told at once.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "lab/lab.h"

enum {
	SCENARIO_LINE = 512, /* bytes of the longest line */
	SCENARIO_CASES = 64,
	SCENARIO_EXPECTATIONS = 32, /* of a case */
	SCENARIO_NAME = 80,	    /* bytes */
	SCENARIO_MESSAGES = 10000,
	SCENARIO_SIZE = 1 << 20,    /* bytes of one message */
	SCENARIO_BYTES = 64 << 20,  /* of all of them */
	SCENARIO_COUNT = 100000000, /* that an expectation names */
	SCENARIO_TRACED = 8,	    /* shorter messages are not found in datagrams */
};
static const int64_t SCENARIO_EVERY_NS = 60 * NOPAL_SECOND;
static const int64_t SCENARIO_WITHIN_NS = 3600 * NOPAL_SECOND;

/* Words of a case, by their place in scenario_words. */
enum scenario_word {
	SCENARIO_LINK,
	SCENARIO_SENDER,
	SCENARIO_RECEIVER,
	SCENARIO_SENT,
	SCENARIO_WITHIN,
	SCENARIO_EXPECT,
	SCENARIO_WORDS,
};
static const char scenario_case[] = "case";

/* The text at work. */
struct scenario_reader {
	const char *file;
	int line;
	struct nopal_problems *problems;
	struct lab_scenarios *all;
	struct lab_scenario *at;  /* the case of this line; NULL: none has begun */
	int said[SCENARIO_WORDS]; /* in which line; 0: not yet */
	char *rest;		  /* of the line */
};

#define SCENARIO_PROBLEM(reader, fix, ...)                                                         \
	nopal_problems_add((reader)->problems, (reader)->file, (reader)->line, (fix), __VA_ARGS__)

/* ------------------------------------------------------------------------ reading */

/* The next word of the line; "": there is none. */
static char *scenario_next(struct scenario_reader *reader)
{
	char *word = reader->rest + strspn(reader->rest, " \t");

	reader->rest = word + strcspn(word, " \t");
	if (*reader->rest)
		*reader->rest++ = '\0';
	return word;
}

/* Says that the line has words too many. */
static void scenario_end(struct scenario_reader *reader)
{
	const char *word = scenario_next(reader);

	if (*word)
		SCENARIO_PROBLEM(reader, "take it out, or write it in a line of its own",
				 "`%s` is a word too many", word);
}

/* A bare number in its range. */
static bool scenario_number(struct scenario_reader *reader, const char *word, const char *what,
			    int64_t least, int64_t most, int64_t *ret_value)
{
	char *end = NULL;
	long long value;

	errno = 0;
	value = isdigit((unsigned char)*word) ? strtoll(word, &end, 10) : -1;
	if (!end || *end || errno || value < least || value > most) {
		SCENARIO_PROBLEM(reader, "write a number in this range, without a unit",
				 "%s: `%s` is no number from %lld to %lld", what, word,
				 (long long)least, (long long)most);
		return false;
	}
	*ret_value = value;
	return true;
}

/* Moves what another part of the program complained about to this line. */
static void scenario_take(struct scenario_reader *reader, struct nopal_problems *found)
{
	for (size_t i = 0; i < found->count; i++)
		SCENARIO_PROBLEM(reader, found->entries[i].fix, "%s", found->entries[i].cause);
	nopal_problems_fini(found);
}

static bool scenario_time(struct scenario_reader *reader, const char *word, const char *what,
			  int64_t most_ns, int64_t *ret_ns)
{
	struct nopal_problems found = { 0 };
	int64_t value;
	bool good = nopal_quantity_parse(word, NOPAL_TIME, what, &value, &found) == 0;

	scenario_take(reader, &found);
	if (good && value > most_ns) {
		SCENARIO_PROBLEM(reader, "write a shorter time", "%s: `%s` is longer than %lld s",
				 what, word, (long long)(most_ns / NOPAL_SECOND));
		return false;
	}
	if (good)
		*ret_ns = value;
	return good;
}

/* The place of a word in a NULL-ended list, or -1: a problem was added. */
static int scenario_choice(struct scenario_reader *reader, const char *word, const char *what,
			   const char *const *list)
{
	const char *near = nopal_nearest(word, list);
	char *fix;

	for (int i = 0; list[i]; i++)
		if (strcmp(list[i], word) == 0)
			return i;
	if (near) {
		fix = tool_printed("did you mean `%s`?", near);
	} else {
		fix = tool_printed("write one of:");
		for (int i = 0; list[i]; i++) {
			char *longer = tool_printed("%s %s", fix, list[i]);

			free(fix);
			fix = longer;
		}
	}
	SCENARIO_PROBLEM(reader, fix, *word ? "%s: there is no `%s`" : "%s: a word is missing%s",
			 what, word);
	free(fix);
	return -1;
}

/* ------------------------------------------------------------------ words of a case */

static void scenario_link(struct scenario_reader *reader)
{
	const char *words = reader->rest + strspn(reader->rest, " \t");
	struct nopal_problems found = { 0 };
	struct nopal_link forward, reverse;

	if (nopal_link_parse(words, &forward, &reverse, &found) == 0) {
		free(reader->at->link);
		reader->at->link = tool_need(strdup(words));
	}
	scenario_take(reader, &found);
}

static void scenario_side(struct scenario_reader *reader, const char *what, enum lab_code *ret_code)
{
	static const char *const codes[] = {
		[LAB_STUDENT] = "student", [LAB_REFERENCE] = "reference", NULL
	};
	int code = scenario_choice(reader, scenario_next(reader), what, codes);

	if (code >= 0)
		*ret_code = (enum lab_code)code;
	scenario_end(reader);
}

static void scenario_sender(struct scenario_reader *reader)
{
	scenario_side(reader, "sender", &reader->at->sender);
}

static void scenario_receiver(struct scenario_reader *reader)
{
	scenario_side(reader, "receiver", &reader->at->receiver);
}

/* "8..1000", or one number. */
static void scenario_size(struct scenario_reader *reader, char *range)
{
	char *most = strstr(range, "..");
	int64_t from, to;

	if (most) {
		*most = '\0';
		most += strlen("..");
	} else {
		most = range;
	}
	if (!scenario_number(reader, range, "size", 1, SCENARIO_SIZE, &from) ||
	    (most != range && !scenario_number(reader, most, "size", 1, SCENARIO_SIZE, &to)))
		return;
	if (most == range)
		to = from;
	if (to < from)
		SCENARIO_PROBLEM(reader, "write the smaller number first",
				 "size: %lld..%lld is no range", (long long)from, (long long)to);
	reader->at->size_min = (uint32_t)from;
	reader->at->size_max = (uint32_t)to;
}

/* messages N [every TIME] [size A..B], the two in any order. */
static void scenario_messages(struct scenario_reader *reader)
{
	static const char *const words[] = { "every", "size", NULL };
	int64_t count;
	char *word;

	if (!scenario_number(reader, scenario_next(reader), "messages", 1, SCENARIO_MESSAGES,
			     &count))
		return;
	reader->at->messages = (unsigned)count;
	while (*(word = scenario_next(reader))) {
		int which = scenario_choice(reader, word, "messages", words);

		if (which < 0)
			return;
		word = scenario_next(reader);
		if (which == 0)
			scenario_time(reader, word, "every", SCENARIO_EVERY_NS,
				      &reader->at->every_ns);
		else
			scenario_size(reader, word);
	}
}

static void scenario_within(struct scenario_reader *reader)
{
	if (scenario_time(reader, scenario_next(reader), "within", SCENARIO_WITHIN_NS,
			  &reader->at->within_ns) &&
	    reader->at->within_ns == 0)
		SCENARIO_PROBLEM(reader, "write a longer time", "within: no time passes");
	scenario_end(reader);
}

/* --------------------------------------------------------------------- expectations */

static void scenario_relation(struct scenario_reader *reader, struct lab_expectation *expectation,
			      const char *what)
{
	static const char *const relations[] = {
		[LAB_AT_MOST] = "<=", [LAB_AT_LEAST] = ">=", [LAB_EQUAL] = "=", NULL
	};
	int relation = scenario_choice(reader, scenario_next(reader), what, relations);
	const char *value = scenario_next(reader);

	if (relation < 0)
		return;
	expectation->relation = (enum lab_relation)relation;
	if (expectation->subject == LAB_EXPECT_LATEST)
		scenario_time(reader, value, what, SCENARIO_WITHIN_NS, &expectation->value);
	else
		scenario_number(reader, value, what, 0, SCENARIO_COUNT, &expectation->value);
	scenario_end(reader);
}

/* resend at TIME TOLERANCE */
static void scenario_resend(struct scenario_reader *reader, struct lab_expectation *expectation)
{
	static const char *const words[] = { "at", NULL };

	if (scenario_choice(reader, scenario_next(reader), "resend", words) < 0)
		return;
	scenario_time(reader, scenario_next(reader), "resend at", SCENARIO_WITHIN_NS,
		      &expectation->value);
	scenario_time(reader, scenario_next(reader), "give or take", SCENARIO_WITHIN_NS,
		      &expectation->tolerance);
	scenario_end(reader);
}

static const char *const scenario_subjects[] = {
	"all",	     "once", "ordered",	  "intact", "none",   "ended",
	"datagrams", "acks", "delivered", "delay",  "resend", NULL,
};
enum { SCENARIO_CHECKS = 6 }; /* of these are checks, and the bits of enum lab_checks */

/* One check or several: all once ordered. */
static void scenario_checks(struct scenario_reader *reader, struct lab_expectation *expectation,
			    int first)
{
	for (int which = first; which >= 0;) {
		char *word;

		if (which >= SCENARIO_CHECKS) {
			SCENARIO_PROBLEM(reader, "write it behind an `expect` of its own",
					 "expect: `%s` stands among checks",
					 scenario_subjects[which]);
			return;
		}
		expectation->value |= 1 << which;
		word = scenario_next(reader);
		if (!*word)
			break;
		which = scenario_choice(reader, word, "expect", scenario_subjects);
	}
	if ((expectation->value & LAB_NONE) && (expectation->value & LAB_ALL))
		SCENARIO_PROBLEM(reader, "take one of them out", "`all` and `none` contradict");
}

static void scenario_expect(struct scenario_reader *reader)
{
	static const enum lab_subject subjects[] = { LAB_EXPECT_DATAGRAMS, LAB_EXPECT_ACKS,
						     LAB_EXPECT_DELIVERED, LAB_EXPECT_LATEST,
						     LAB_EXPECT_RESEND };
	struct lab_expectation expectation = { .line = reader->line };
	struct lab_scenario *at = reader->at;
	const char *word = scenario_next(reader);
	int which;

	if (word[strcspn(word, "<=>")]) {
		SCENARIO_PROBLEM(reader,
				 "put blanks around <=, >= or =", "expect: there is no `%s`", word);
		return;
	}
	which = scenario_choice(reader, word, "expect", scenario_subjects);
	if (which < 0)
		return;
	if (which >= SCENARIO_CHECKS)
		expectation.subject = subjects[which - SCENARIO_CHECKS];
	if (which < SCENARIO_CHECKS)
		scenario_checks(reader, &expectation, which);
	else if (expectation.subject == LAB_EXPECT_RESEND)
		scenario_resend(reader, &expectation);
	else
		scenario_relation(reader, &expectation, word);
	if (at->expectation_count == SCENARIO_EXPECTATIONS) {
		SCENARIO_PROBLEM(reader, "make two cases of it", "a case expects at most %d things",
				 SCENARIO_EXPECTATIONS);
		return;
	}
	at->expectations = tool_need(reallocarray(at->expectations, at->expectation_count + 1,
						  sizeof(*at->expectations)));
	at->expectations[at->expectation_count++] = expectation;
}

/* ----------------------------------------------------------------------------- cases */

static const char *const scenario_words[] = {
	[SCENARIO_LINK] = "link",	  [SCENARIO_SENDER] = "sender",
	[SCENARIO_RECEIVER] = "receiver", [SCENARIO_SENT] = "messages",
	[SCENARIO_WITHIN] = "within",	  [SCENARIO_EXPECT] = "expect",
	[SCENARIO_WORDS] = scenario_case, NULL
};

/* A complaint about the case as a whole, in its first line. */
#define SCENARIO_WHOLE(reader, fix, ...)                                                           \
	nopal_problems_add((reader)->problems, (reader)->file, (reader)->at->line, (fix),          \
			   __VA_ARGS__)

/* Faults that only resends and messages together tell. */
static void scenario_check_expectations(struct scenario_reader *reader)
{
	const struct lab_scenario *at = reader->at;

	for (size_t i = 0; i < at->expectation_count; i++) {
		const struct lab_expectation *one = &at->expectations[i];

		if (one->subject == LAB_EXPECT_RESEND && at->size_min < SCENARIO_TRACED)
			nopal_problems_add(
				reader->problems, reader->file, one->line,
				"let messages have 8 bytes or more",
				"resend: a shorter message is not known again on its way");
		if (one->subject == LAB_EXPECT_DELIVERED && one->relation != LAB_AT_MOST &&
		    one->value > at->messages)
			nopal_problems_add(reader->problems, reader->file, one->line,
					   "expect no more than are sent",
					   "delivered: %u messages are sent", at->messages);
	}
}

/* The case is complete: does it hold together?  Parts that are wrong have been told already. */
static void scenario_finish(struct scenario_reader *reader)
{
	static const enum scenario_word needed[] = { SCENARIO_LINK, SCENARIO_SENT, SCENARIO_WITHIN,
						     SCENARIO_EXPECT };
	struct lab_scenario *at = reader->at;
	bool whole = true;

	if (!at)
		return;
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (!reader->said[needed[i]]) {
			SCENARIO_WHOLE(reader, "add the line", "the case has no `%s`",
				       scenario_words[needed[i]]);
			whole = false;
		}
	if (!whole || !at->messages || !at->within_ns)
		return;
	if ((at->messages - 1) * at->every_ns >= at->within_ns)
		SCENARIO_WHOLE(reader, "send fewer, or make `within` longer",
			       "the case is over before its last message is sent");
	if ((uint64_t)at->messages * at->size_max > SCENARIO_BYTES)
		SCENARIO_WHOLE(reader, "send fewer, or shorter ones",
			       "the messages may have more than 64 MiB together");
	scenario_check_expectations(reader);
}

/* case "NAME" */
static void scenario_begin(struct scenario_reader *reader)
{
	struct lab_scenarios *all = reader->all;
	char *name = reader->rest + strspn(reader->rest, " \t");
	size_t length = strlen(name);

	scenario_finish(reader);
	if (all->count == all->room) {
		all->room = 2 * all->room + 4;
		all->list = tool_need(reallocarray(all->list, all->room, sizeof(*all->list)));
	}
	reader->at = &all->list[all->count++];
	memset(reader->said, 0, sizeof(reader->said));
	if (length < 3 || length - 2 > SCENARIO_NAME || *name != '"' || name[length - 1] != '"' ||
	    memchr(name + 1, '"', length - 2)) {
		SCENARIO_PROBLEM(reader, "write case \"NAME\", with at most 80 letters",
				 "the case has no name in quotes");
	} else {
		name[length - 1] = '\0';
		name++;
	}
	*reader->at = (struct lab_scenario){ .name = tool_need(strdup(name)),
					     .line = reader->line,
					     .receiver = LAB_REFERENCE,
					     .size_min = SCENARIO_TRACED,
					     .size_max = SCENARIO_TRACED };
	for (size_t i = 0; i + 1 < all->count; i++)
		if (strcmp(all->list[i].name, name) == 0)
			SCENARIO_PROBLEM(reader, "give it another name",
					 "the case of line %d has this name, too",
					 all->list[i].line);
}

static void scenario_line(struct scenario_reader *reader)
{
	static void (*const readers[])(struct scenario_reader *) = {
		[SCENARIO_LINK] = scenario_link,	 [SCENARIO_SENDER] = scenario_sender,
		[SCENARIO_RECEIVER] = scenario_receiver, [SCENARIO_SENT] = scenario_messages,
		[SCENARIO_WITHIN] = scenario_within,	 [SCENARIO_EXPECT] = scenario_expect,
	};
	const char *word = scenario_next(reader);
	int which;

	if (!*word)
		return;
	which = scenario_choice(reader, word, "words of a case", scenario_words);
	if (which == SCENARIO_WORDS) {
		scenario_begin(reader);
	} else if (which >= 0 && !reader->at) {
		SCENARIO_PROBLEM(reader, "begin with case \"NAME\"", "`%s` is of no case", word);
	} else if (which >= 0 && which != SCENARIO_EXPECT && reader->said[which]) {
		SCENARIO_PROBLEM(reader, "keep one of the two lines",
				 "`%s` is said in line %d already", word, reader->said[which]);
	} else if (which >= 0) {
		reader->said[which] = reader->line;
		readers[which](reader);
	}
}

/* Cuts the comment and the blanks at the end off. */
static void scenario_trim(char *line)
{
	bool quoted = false;
	size_t length;

	for (char *at = line; *at; at++) {
		quoted ^= *at == '"';
		if (*at == '#' && !quoted)
			*at = '\0';
		if (!*at)
			break;
	}
	for (length = strlen(line); length && isspace((unsigned char)line[length - 1]); length--)
		line[length - 1] = '\0';
}

int lab_scenarios_parse(const char *text, const char *file, struct lab_scenarios *ret_scenarios,
			struct nopal_problems *problems)
{
	struct scenario_reader reader = { .file = file,
					  .problems = problems,
					  .all = ret_scenarios };
	size_t errors = problems->errors;

	*ret_scenarios = (struct lab_scenarios){ 0 };
	while (*text) {
		size_t length = strcspn(text, "\n");
		char line[SCENARIO_LINE + 1];

		reader.line++;
		if (length > SCENARIO_LINE) {
			SCENARIO_PROBLEM(&reader, "cut it", "the line is longer than %d bytes",
					 SCENARIO_LINE);
		} else {
			memcpy(line, text, length);
			line[length] = '\0';
			scenario_trim(line);
			reader.rest = line;
			scenario_line(&reader);
		}
		text += length + (text[length] == '\n');
		if (ret_scenarios->count > SCENARIO_CASES) {
			SCENARIO_PROBLEM(&reader, "make two files of it",
					 "there are more than %d cases", SCENARIO_CASES);
			break;
		}
	}
	scenario_finish(&reader);
	if (!ret_scenarios->count && problems->errors == errors) {
		reader.line = 1;
		SCENARIO_PROBLEM(&reader, "begin with case \"NAME\"", "there is no case");
	}
	return problems->errors == errors ? 0 : -EINVAL;
}

void lab_scenarios_fini(struct lab_scenarios *scenarios)
{
	for (size_t i = 0; i < scenarios->count; i++) {
		free(scenarios->list[i].name);
		free(scenarios->list[i].link);
		free(scenarios->list[i].expectations);
	}
	free(scenarios->list);
	*scenarios = (struct lab_scenarios){ 0 };
}
