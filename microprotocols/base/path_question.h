/* SPDX-License-Identifier: MIT */
/*
 * path_question.h -- the question that a path was asked, to prove that the peer is there: 8 random
 * bytes.
 *
 * A question is good for NOPAL_PATH_SILENCE_NS: before that no other path can have its number.
 */
#ifndef NOPAL_PATH_QUESTION_H
#define NOPAL_PATH_QUESTION_H

#include <nopal/microprotocol.h>

enum { PATH_QUESTION_BYTES = 8 }; /* of a question and of its answer */

/* Until round trips are measured, a question leaves no more often. */
static const int64_t PATH_QUESTION_EVERY_NS = 100 * NOPAL_MILLISECOND;

struct path_question {
	uint64_t bytes; /* 0: the path was not asked */
	int64_t made_ns, asked_ns;
};

static inline bool path_question_is_good(const struct nopal_session *session,
					 const struct path_question *question)
{
	return question->bytes && session->now_ns - question->made_ns < NOPAL_PATH_SILENCE_NS;
}

/* May the path be asked now?  Once a round trip, `rtt_ns`, if that is known; else 0. */
static inline bool path_question_ask(struct nopal_session *session, struct path_question *question,
				     int64_t rtt_ns)
{
	int64_t every_ns = rtt_ns ? rtt_ns : PATH_QUESTION_EVERY_NS;

	if (question->bytes && session->now_ns - question->asked_ns < every_ns)
		return false;
	if (!path_question_is_good(session, question)) {
		nopal_random_bytes(session, &question->bytes, sizeof(question->bytes));
		question->made_ns = session->now_ns;
	}
	question->asked_ns = session->now_ns;
	return true;
}

#endif
