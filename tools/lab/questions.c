/* SPDX-License-Identifier: MIT */
/*
 * questions.c -- questions about a trial, and their answers as its facts have them.
 */
#include "lab/questions.h"

#include <stdlib.h>
#include <string.h>

#include "frame/tool.h"
#include "lab/arena.h"

enum {
	QUESTIONS_KINDS = 32, /* of one table */
	/* Of a time: as a page prints it, and one part in a thousand. */
	QUESTIONS_TOLERANCE_NS = 100 * NOPAL_MICROSECOND,
	QUESTIONS_TOLERANCE_PART = 1000,
};

/* -------------------------------------------------------------------- drawing */

uint64_t lab_questions_seed(const char *lab, const char *id)
{
	struct nopal_hash hash;

	nopal_hash_init(&hash);
	nopal_hash_update(&hash, lab, strlen(lab) + 1);
	nopal_hash_update(&hash, id, strlen(id));
	return nopal_hash_final(&hash);
}

/* A number below `end`; the state goes on. */
static size_t questions_below(uint64_t *state, size_t end)
{
	struct nopal_hash hash;

	nopal_hash_init(&hash);
	nopal_hash_update(&hash, state, sizeof(*state));
	*state = nopal_hash_final(&hash);
	return (size_t)(*state % end);
}

/* ---------------------------------------------------------------------- facts */

/* The host's datagram with this message, from the index on; NULL: none. */
static const struct lab_datagram *questions_carrier(const struct lab_trial *trial, int host,
						    uint32_t message, bool again)
{
	for (size_t i = 0; i < trial->datagram_count; i++) {
		const struct lab_datagram *one = &trial->datagrams[i];

		if (one->from == host && one->message == message && (one->again > 0) == again)
			return one;
	}
	return NULL;
}

static int64_t questions_took(const struct lab_message *message)
{
	return message->sent_ns < 0 || message->delivered_ns < 0
		       ? -1
		       : message->delivered_ns - message->sent_ns;
}

static bool questions_is_one(const struct lab_datagram *one, enum lab_ask ask)
{
	if (ask == LAB_ASK_LOST)
		return one->arrived_ns < 0;
	if (ask == LAB_ASK_DAMAGED)
		return one->corrupt;
	return ask != LAB_ASK_DOUBLED || one->copies > 1;
}

/* Of the host's datagrams those that are asked for; with a message, where it is not 0. */
static int64_t questions_count(const struct lab_trial *trial, int host, enum lab_ask ask,
			       uint32_t message)
{
	int64_t count = 0;

	for (size_t i = 0; i < trial->datagram_count; i++) {
		const struct lab_datagram *one = &trial->datagrams[i];

		count += one->from == host && questions_is_one(one, ask) &&
			 (!message || one->message == message);
	}
	return count;
}

/* A wait for one microprotocol before a segment left for the first time. */
struct questions_wait {
	uint64_t segment;
	int64_t span_ns;
	char part[LAB_QUESTION_WORD];
};

/* Segments of a trace that wait to leave for the first time. */
struct questions_waiting {
	struct {
		uint32_t session;
		uint64_t segment;
		int64_t since_ns;
		bool left;
	} * list;
	size_t count, room;
};

static size_t questions_find(const struct questions_waiting *waiting,
			     const struct nopal_trace_record *record)
{
	size_t i = waiting->count;

	while (i > 0 && (waiting->list[i - 1].segment != record->a ||
			 waiting->list[i - 1].session != record->session))
		i--;
	return i; /* 0: none; else one more than its index */
}

static void questions_hold(struct questions_waiting *waiting,
			   const struct nopal_trace_record *record)
{
	if (waiting->count == waiting->room) {
		waiting->room = waiting->room * 2 + QUESTIONS_KINDS;
		waiting->list = tool_need(
			reallocarray(waiting->list, waiting->room, sizeof(*waiting->list)));
	}
	waiting->list[waiting->count].session = record->session;
	waiting->list[waiting->count].segment = record->a;
	waiting->list[waiting->count].since_ns = record->time_ns;
	waiting->list[waiting->count].left = false;
	waiting->count++;
}

/* The longest wait in the trace; false: there is none, or two are as long. */
static bool questions_longest(struct nopal_trace_reader *reader, struct questions_wait *ret_longest)
{
	struct questions_waiting waiting = { 0 };
	struct nopal_trace_record record;
	bool twice = false;
	unsigned plan = 0;

	*ret_longest = (struct questions_wait){ 0 };
	while (nopal_trace_next(reader, &record) > 0) {
		size_t found = questions_find(&waiting, &record);
		int64_t span_ns = found ? record.time_ns - waiting.list[found - 1].since_ns : 0;

		if (record.what == NOPAL_TRACED_SESSION)
			plan = record.number;
		else if (record.what == NOPAL_TRACED_TRANSMIT && found)
			waiting.list[found - 1].left = true;
		else if (record.what == NOPAL_TRACED_HOLD && record.number == NOPAL_SEND && !found)
			questions_hold(&waiting, &record);
		if (record.what != NOPAL_TRACED_RELEASE || record.number != NOPAL_SEND || !found ||
		    waiting.list[found - 1].left || span_ns < ret_longest->span_ns)
			continue;
		twice = span_ns == ret_longest->span_ns;
		ret_longest->span_ns = span_ns;
		ret_longest->segment = record.a;
		snprintf(ret_longest->part, sizeof(ret_longest->part), "%s",
			 nopal_trace_part_name(reader, plan, record.part) ?: "");
	}
	free(waiting.list);
	return ret_longest->span_ns > 0 && !twice;
}

static bool questions_holder(const struct lab_trial *trial, int host,
			     struct questions_wait *ret_longest)
{
	int fd = trial->arena ? lab_host_trace(trial, host) : -1;
	char *path = tool_printed("/proc/self/fd/%d", fd);
	struct nopal_problems problems = { 0 };
	struct nopal_trace_reader *reader = fd < 0 ? NULL : nopal_trace_open(path, &problems);
	bool found = reader && questions_longest(reader, ret_longest);

	nopal_trace_close(reader);
	nopal_problems_fini(&problems);
	free(path);
	return found;
}

/* ------------------------------------------------------------- one question */

static void questions_time(struct lab_asked *asked, int64_t value_ns)
{
	asked->form = LAB_ANSWER_TIME;
	asked->value = value_ns;
	asked->tolerance = QUESTIONS_TOLERANCE_NS + value_ns / QUESTIONS_TOLERANCE_PART;
}

static void questions_number(struct lab_asked *asked, enum lab_answer_form form, int64_t value,
			     const char *noun)
{
	asked->form = form;
	asked->value = value;
	snprintf(asked->word, sizeof(asked->word), "%s", noun);
}

/* About one message of the host; false: it cannot be asked. */
static bool questions_of_message(const struct lab_trial *trial, int host, uint32_t number,
				 struct lab_asked *asked)
{
	const struct lab_message *message = &trial->messages[number - 1];
	const struct lab_datagram *first = questions_carrier(trial, host, number, false);
	const struct lab_datagram *again = questions_carrier(trial, host, number, true);

	if (message->host != host)
		return false;
	if (asked->ask == LAB_ASK_LEFT && first) {
		questions_time(asked, first->time_ns);
		snprintf(asked->text, sizeof(asked->text),
			 "At which time did the first datagram with message %u leave host %d?",
			 number, host);
	} else if (asked->ask == LAB_ASK_DELIVERED && message->delivered_ns >= 0) {
		questions_time(asked, message->delivered_ns);
		snprintf(asked->text, sizeof(asked->text),
			 "At which time was message %u delivered first?", number);
	} else if (asked->ask == LAB_ASK_TOOK && questions_took(message) >= 0) {
		questions_time(asked, questions_took(message));
		snprintf(asked->text, sizeof(asked->text),
			 "How long was message %u under way, from the application that sent it to "
			 "the one that got it?",
			 number);
	} else if (asked->ask == LAB_ASK_AGAIN && first && again) {
		questions_time(asked, again->time_ns - first->time_ns);
		snprintf(asked->text, sizeof(asked->text),
			 "How long after its first datagram did message %u leave host %d again?",
			 number, host);
	} else if (asked->ask == LAB_ASK_CARRIED && again) {
		questions_number(asked, LAB_ANSWER_COUNT,
				 questions_count(trial, host, asked->ask, number), "datagram");
		snprintf(asked->text, sizeof(asked->text),
			 "How many datagrams of host %d carried message %u or a part of it?", host,
			 number);
	} else {
		return false;
	}
	return true;
}

/* The one message that took longer than all others; 0: there is none. */
static uint32_t questions_slowest(const struct lab_trial *trial, int host)
{
	int64_t longest_ns = 0;
	uint32_t slowest = 0;

	for (size_t i = 0; i < trial->message_count; i++) {
		int64_t took_ns = questions_took(&trial->messages[i]);

		if (trial->messages[i].host != host || took_ns < longest_ns)
			continue;
		slowest = took_ns > longest_ns ? (uint32_t)i + 1 : 0;
		longest_ns = took_ns;
	}
	return slowest;
}

static bool questions_of_shared(const struct lab_question *question, struct lab_asked *asked)
{
	const char *unit = strrchr(question->shared, '_');

	if (unit && strcmp(unit, "_ns") == 0)
		questions_time(asked, asked->value);
	else if (unit && strcmp(unit, "_bytes") == 0)
		questions_number(asked, LAB_ANSWER_COUNT, asked->value, "byte");
	else
		questions_number(asked, LAB_ANSWER_COUNT, asked->value, "segment");
	snprintf(asked->text, sizeof(asked->text),
		 "What is the %s (the shared variable `%s`) of host %d at the end?",
		 question->words, question->shared, question->host);
	return true;
}

/* About the trial as a whole; false: it cannot be asked. */
static bool questions_of_trial(const struct lab_trial *trial, const struct lab_question *question,
			       struct lab_asked *asked)
{
	int host = question->host;
	static const char *const texts[] = {
		[LAB_ASK_LOST] = "How many datagrams of host %d did the network lose?",
		[LAB_ASK_DAMAGED] = "How many datagrams of host %d arrived with other bytes?",
		[LAB_ASK_DOUBLED] = "How many datagrams of host %d arrived more than once?",
		[LAB_ASK_SENT] = "How many datagrams did host %d send?",
	};
	struct questions_wait longest;

	if (asked->ask == LAB_ASK_SHARED)
		return questions_of_shared(question, asked);
	if (asked->ask == LAB_ASK_HOLDER) {
		if (!questions_holder(trial, host, &longest))
			return false;
		questions_number(asked, LAB_ANSWER_HOLDER, (int64_t)longest.segment, longest.part);
		snprintf(asked->text, sizeof(asked->text),
			 "Which segment of host %d waited longest before it left for the first "
			 "time, and for which microprotocol?",
			 host);
		return true;
	}
	if (asked->ask == LAB_ASK_SLOWEST) {
		questions_number(asked, LAB_ANSWER_NUMBER, questions_slowest(trial, host),
				 "message");
		snprintf(asked->text, sizeof(asked->text),
			 "Which message of host %d took the longest from sending to delivery?",
			 host);
		return asked->value > 0;
	}
	questions_number(asked, LAB_ANSWER_COUNT, questions_count(trial, host, asked->ask, 0),
			 "datagram");
	snprintf(asked->text, sizeof(asked->text), texts[asked->ask], host);
	return asked->value > 0;
}

/* Draws what the question is about; false: the trial cannot answer it. */
static bool questions_ask(const struct lab_trial *trial, const struct lab_question *question,
			  uint64_t *state, struct lab_asked *asked)
{
	size_t first = questions_below(state, trial->message_count + 1);

	if (question->ask > LAB_ASK_CARRIED)
		return questions_of_trial(trial, question, asked);
	for (size_t i = 0; i < trial->message_count; i++) {
		uint32_t number = (uint32_t)((first + i) % trial->message_count) + 1;

		if (questions_of_message(trial, question->host, number, asked))
			return true;
	}
	return false;
}

int lab_questions_draw(struct lab_trial *trial, const struct lab_question *table, uint64_t seed,
		       int most, struct lab_asked ret_asked[LAB_QUESTIONS])
{
	struct {
		const struct lab_question *question;
		int64_t shared;
	} left[QUESTIONS_KINDS] = { 0 };
	size_t kinds = 0;
	int count = 0;

	/* Hosts tell shared variables while they live, and have written their traces when not. */
	for (; kinds < QUESTIONS_KINDS && table->ask; table++) {
		left[kinds].question = table;
		kinds += table->ask != LAB_ASK_SHARED ||
			 (trial->arena &&
			  lab_shared(trial, table->host, 0, table->shared, &left[kinds].shared));
	}
	if (trial->arena)
		lab_trial_finish(trial);
	while (kinds > 0 && count < most) {
		size_t drawn = questions_below(&seed, kinds);
		const struct lab_question *question = left[drawn].question;

		ret_asked[count] =
			(struct lab_asked){ .ask = question->ask, .value = left[drawn].shared };
		count += questions_ask(trial, question, &seed, &ret_asked[count]);
		left[drawn] = left[--kinds];
	}
	return count;
}

void lab_questions_print(const struct lab_asked *asked, int count, FILE *out)
{
	fputs("# Answers, a line a question.\n", out);
	for (int i = 0; i < count; i++) {
		fprintf(out, "\n# %d. %s\n# Write it as: ", i + 1, asked[i].text);
		switch (asked[i].form) {
		case LAB_ANSWER_TIME:
			fputs("12.5 ms", out);
			break;
		case LAB_ANSWER_COUNT:
			fprintf(out, "3 %ss", asked[i].word);
			break;
		case LAB_ANSWER_NUMBER:
			fprintf(out, "%s 7", asked[i].word);
			break;
		case LAB_ANSWER_HOLDER:
			fputs("segment 7, the name of the microprotocol", out);
			break;
		}
		fprintf(out, "\n%d:\n", i + 1);
	}
}
