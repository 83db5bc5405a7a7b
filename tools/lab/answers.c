/* SPDX-License-Identifier: MIT */
/*
 * answers.c -- a student's answers: their file, and each of them held against the facts.
 *
 * An answer without its unit is refused, whatever its number: what is asked is a time or a count of
 * something.  What is said of a wrong one does not tell the right one.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "lab/questions.h"

enum { ANSWERS_TEN = 10, ANSWERS_THOUSAND = 1000 };

/* ----------------------------------------------------------------------- file */

/* A line without blanks at its ends; the caller frees it. */
static char *answers_trimmed(const char *from, size_t length)
{
	while (length > 0 && isspace((unsigned char)from[0])) {
		from++;
		length--;
	}
	while (length > 0 && isspace((unsigned char)from[length - 1]))
		length--;
	return tool_need(strndup(from, length));
}

/* One line that is not blank; false: a problem was added. */
static bool answers_line(const char *line, const char *file, int number,
			 struct lab_answers *answers, struct nopal_problems *problems)
{
	char *end;
	unsigned long which = strtoul(line, &end, ANSWERS_TEN);

	if (end == line || (*end != ':' && *end != '.') || which < 1 || which > LAB_QUESTIONS) {
		nopal_problems_add(problems, file, number, "write `1: 12.5 ms`",
				   "a line begins with the number of its question, 1 to %d",
				   LAB_QUESTIONS);
		return false;
	}
	if (answers->lines[which - 1] && *answers->lines[which - 1]) {
		nopal_problems_add(problems, file, number, "leave one of them",
				   "question %lu has two answers", which);
		return false;
	}
	free(answers->lines[which - 1]);
	answers->lines[which - 1] = answers_trimmed(end + 1, strlen(end + 1));
	return true;
}

int lab_answers_parse(const char *text, const char *file, struct lab_answers *ret_answers,
		      struct nopal_problems *problems)
{
	bool good = true;

	*ret_answers = (struct lab_answers){ 0 };
	for (int number = 1; *text; number++) {
		size_t length = strcspn(text, "\n");
		char *line = answers_trimmed(text, length);

		if (*line && *line != '#')
			good &= answers_line(line, file, number, ret_answers, problems);
		free(line);
		text += length;
		text += *text == '\n';
	}
	return good ? 0 : -EINVAL;
}

void lab_answers_fini(struct lab_answers *answers)
{
	for (int i = 0; i < LAB_QUESTIONS; i++)
		free(answers->lines[i]);
	*answers = (struct lab_answers){ 0 };
}

/* ------------------------------------------------------------------- judging */

__attribute__((format(printf, 3, 4))) static enum lab_answer_verdict answers_say(
	enum lab_answer_verdict verdict, char *ret_why, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(ret_why, LAB_QUESTION_TEXT, format, arguments);
	va_end(arguments);
	return verdict;
}

/* Where the answer to such a question stands. */
static enum lab_answer_verdict answers_wrong(const struct lab_asked *asked, char *ret_why)
{
	static const char *const places[] = {
		[LAB_ASK_LEFT] = "look in the ladder for the first arrow that begins with it",
		[LAB_ASK_DELIVERED] = "look in the ladder for the line that delivers it",
		[LAB_ASK_TOOK] = "from the line that sends it to the first one that delivers it",
		[LAB_ASK_AGAIN] = "from its first arrow to the first one that says (again)",
		[LAB_ASK_CARRIED] = "count arrows that begin with it, lost ones too",
		[LAB_ASK_LOST] = "count arrows of this host that end in a cross",
		[LAB_ASK_DAMAGED] = "count arrows of this host that are dotted",
		[LAB_ASK_DOUBLED] = "count arrows of this host that have a double line",
		[LAB_ASK_SENT] = "count all arrows that leave this host, lost ones too",
		[LAB_ASK_SLOWEST] = "compare, message by message, its sending and its delivery",
		[LAB_ASK_HOLDER] =
			"`nopal why` tells of a segment who held it longest before it left",
		[LAB_ASK_SHARED] = "read it at the end of the run, when nothing more happens",
	};

	return answers_say(LAB_ANSWER_WRONG, ret_why, "That is not so: %s.", places[asked->ask]);
}

static bool answers_near(int64_t value, const struct lab_asked *asked)
{
	return value >= asked->value - asked->tolerance && value <= asked->value + asked->tolerance;
}

static enum lab_answer_verdict answers_time(const struct lab_asked *asked, const char *answer,
					    char *ret_why)
{
	struct nopal_problems problems = { 0 };
	char *compact = tool_need(strdup(answer)), *end = compact;
	int64_t value;
	bool read;

	for (const char *at = answer; *at; at++)
		if (!isspace((unsigned char)*at))
			*end++ = *at;
	*end = '\0';
	read = nopal_quantity_parse(compact, NOPAL_TIME, "the answer", &value, &problems) == 0;
	nopal_problems_fini(&problems);
	if (!read && compact[strspn(compact, "0123456789.")] == '\0') {
		free(compact);
		return answers_say(LAB_ANSWER_REFUSED, ret_why,
				   "`%s` has no unit, and seconds are not milliseconds: write it "
				   "as `12.5 ms` or `0.0125 s`.",
				   answer);
	}
	free(compact);
	if (!read)
		return answers_say(LAB_ANSWER_REFUSED, ret_why,
				   "`%s` is no time: write it as `12.5 ms` or `0.0125 s`.", answer);
	if (answers_near(value, asked))
		return answers_say(LAB_ANSWER_RIGHT, ret_why, "%s", "");
	/* Not of a time so short that a thousandth of any is near it. */
	if (asked->value > 2 * asked->tolerance &&
	    (answers_near(value / ANSWERS_THOUSAND, asked) ||
	     (value < INT64_MAX / ANSWERS_THOUSAND &&
	      answers_near(value * ANSWERS_THOUSAND, asked))))
		return answers_say(LAB_ANSWER_WRONG, ret_why,
				   "`%s` is off by a factor of a thousand: look at the unit.",
				   answer);
	return answers_wrong(asked, ret_why);
}

/* Is it the noun, for one or for several? */
static bool answers_is_noun(const char *text, size_t length, const char *noun)
{
	size_t own = strlen(noun);

	return strncasecmp(text, noun, own) == 0 &&
	       (length == own || (length == own + 1 && tolower((unsigned char)text[own]) == 's'));
}

static enum lab_answer_verdict answers_count(const struct lab_asked *asked, const char *answer,
					     char *ret_why)
{
	char *noun;
	int64_t value = strtoll(answer, &noun, ANSWERS_TEN);

	if (noun == answer)
		return answers_say(LAB_ANSWER_REFUSED, ret_why,
				   "`%s` is no number: write it as `3 %ss`.", answer, asked->word);
	noun += strspn(noun, " \t");
	if (!*noun)
		return answers_say(LAB_ANSWER_REFUSED, ret_why,
				   "`%s` of what? Write the noun, too: `3 %ss`.", answer,
				   asked->word);
	if (!answers_is_noun(noun, strlen(noun), asked->word))
		return answers_say(LAB_ANSWER_REFUSED, ret_why,
				   "`%s` counts something else: %ss are asked for.", answer,
				   asked->word);
	if (value == asked->value)
		return answers_say(LAB_ANSWER_RIGHT, ret_why, "%s", "");
	return answers_wrong(asked, ret_why);
}

/* "message 7"; "segment 7, retransmit" with the microprotocol's name in `*ret_rest`. */
static bool answers_named(const char *answer, const char *noun, int64_t *ret_value,
			  const char **ret_rest)
{
	size_t word = strcspn(answer, " \t0123456789");
	const char *number = answer + word + strspn(answer + word, " \t");
	char *end;

	*ret_value = strtoll(number, &end, ANSWERS_TEN);
	*ret_rest = end + strspn(end, ", \t");
	return answers_is_noun(answer, word, noun) && end > number;
}

static enum lab_answer_verdict answers_number(const struct lab_asked *asked, const char *answer,
					      char *ret_why)
{
	bool holder = asked->form == LAB_ANSWER_HOLDER;
	const char *noun = holder ? "segment" : asked->word, *rest;
	int64_t value;

	if (!answers_named(answer, noun, &value, &rest) || holder != (*rest != '\0'))
		return answers_say(LAB_ANSWER_REFUSED, ret_why,
				   "`%s` is no answer to this: write it as `%s 7%s`.", answer, noun,
				   holder ? ", the name of the microprotocol" : "");
	if (value == asked->value && (!holder || strcasecmp(rest, asked->word) == 0))
		return answers_say(LAB_ANSWER_RIGHT, ret_why, "%s", "");
	return answers_wrong(asked, ret_why);
}

enum lab_answer_verdict lab_answer_judge(const struct lab_asked *asked, const char *answer,
					 char *ret_why)
{
	if (!answer || !*answer)
		return answers_say(LAB_ANSWER_MISSING, ret_why, "There is no answer yet.");
	switch (asked->form) {
	case LAB_ANSWER_TIME:
		return answers_time(asked, answer, ret_why);
	case LAB_ANSWER_COUNT:
		return answers_count(asked, answer, ret_why);
	case LAB_ANSWER_NUMBER:
	case LAB_ANSWER_HOLDER:
		break;
	}
	return answers_number(asked, answer, ret_why);
}
