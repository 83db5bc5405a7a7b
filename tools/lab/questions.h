/* SPDX-License-Identifier: MIT */
/*
 * questions.h -- questions about a trial, drawn for one student, and answers held against its facts.
 *
 * A lab lists what can be asked of it.  The student's id draws the seed of a trial, and of those
 * questions that this trial can answer some, with the messages that they are about:
 *
 *     seed = lab_questions_seed("loss", "ada");
 *     ...run a trial with that seed, of the reference...
 *     count = lab_questions_draw(trial, lab->questions, seed, 3, asked);
 *     lab_questions_print(asked, count, file);
 *
 * The grader does the same again, and judges each line of answers.txt.
 */
#ifndef NOPAL_LAB_QUESTIONS_H
#define NOPAL_LAB_QUESTIONS_H

#include <stdio.h>

#include "lab/lab.h"

enum lab_ask {
	LAB_ASK_NOTHING,   /* ends a table */
	LAB_ASK_LEFT,	   /* the time at which a message's first datagram left the host */
	LAB_ASK_DELIVERED, /* the time at which a message of the host was delivered */
	LAB_ASK_TOOK,	   /* from sending to delivery of a message of the host */
	LAB_ASK_AGAIN,	   /* from a message's first datagram to the second with the same bytes */
	LAB_ASK_CARRIED,   /* how many datagrams carried a message, where there were several */
	LAB_ASK_LOST,	   /* how many of the host's datagrams the network lost */
	LAB_ASK_DAMAGED,   /* how many of them arrived with other bytes */
	LAB_ASK_DOUBLED,   /* how many of them arrived more than once */
	LAB_ASK_SENT,	   /* how many datagrams the host sent */
	LAB_ASK_SLOWEST,   /* which message took the longest from sending to delivery */
	LAB_ASK_HOLDER,	   /* which segment waited longest to leave, and for which microprotocol:
			    * of the host's trace */
	LAB_ASK_SHARED,	   /* a shared variable of the host's session 0, when the trial has run */
};

struct lab_question {
	enum lab_ask ask;
	int host;
	/* LAB_ASK_SHARED: its name, which ends with its unit (_ns, _bytes, _segments), and its words
	 * in the question, "smoothed round-trip time". */
	const char *shared, *words;
};

enum { LAB_QUESTIONS = 6 /* at most */, LAB_QUESTIONS_USUAL = 3 };
enum { LAB_QUESTION_TEXT = 320, LAB_QUESTION_WORD = 64 };

/* The form of an answer. */
enum lab_answer_form {
	LAB_ANSWER_TIME,   /* "12.5 ms"; value: ns */
	LAB_ANSWER_COUNT,  /* "3 datagrams"; word: the noun, for one */
	LAB_ANSWER_NUMBER, /* "message 7"; word: the noun */
	LAB_ANSWER_HOLDER, /* "segment 9, retransmit"; word: the microprotocol */
};

/* A question that was drawn, and its answer. */
struct lab_asked {
	enum lab_ask ask;
	enum lab_answer_form form;
	int64_t value, tolerance;
	char text[LAB_QUESTION_TEXT], word[LAB_QUESTION_WORD];
};

/* Of a lab and a student, for the trial and for what is asked of it. */
uint64_t lab_questions_seed(const char *lab, const char *id);
/* Finishes the trial.  Returns how many: fewer than `most` where the trial answers fewer. */
int lab_questions_draw(struct lab_trial *trial, const struct lab_question *table, uint64_t seed,
		       int most, struct lab_asked ret_asked[LAB_QUESTIONS]);
/* As the beginning of an answers.txt. */
void lab_questions_print(const struct lab_asked *asked, int count, FILE *out);

/* ------------------------------------------------------------------- answers */

/* The lines of answers.txt by question; NULL: there is none. */
struct lab_answers {
	char *lines[LAB_QUESTIONS];
};
/* "1: 12.5 ms" is a line; blank ones, and those that begin with #, are not.  Negative: problems
 * were added.  `file` is what they name. */
int lab_answers_parse(const char *text, const char *file, struct lab_answers *ret_answers,
		      struct nopal_problems *problems);
void lab_answers_fini(struct lab_answers *answers);

enum lab_answer_verdict {
	LAB_ANSWER_RIGHT,
	LAB_ANSWER_WRONG,
	LAB_ANSWER_REFUSED, /* no answer to such a question: no unit, another form */
	LAB_ANSWER_MISSING,
};
/* `ret_why` has room for LAB_QUESTION_TEXT: a sentence that helps and gives nothing away, or "". */
enum lab_answer_verdict lab_answer_judge(const struct lab_asked *asked, const char *answer,
					 char *ret_why);

#endif
