/* SPDX-License-Identifier: MIT */
/*
 * test_lab_questions -- questions of labs: what is drawn, what the answers are, how a student's are
 * judged.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab/arena.h"
#include "lab/questions.h"
#include "session/endpoint_sessions.h"
#include "support/made_trial.h"
#include "support/own_file.h"
#include "support/test.h"

enum { SEEDS = 200, IDS = 50 };

static struct lab_asked asked[LAB_QUESTIONS];
static char why[LAB_QUESTION_TEXT];

static const struct lab_question everything[] = {
	{ .ask = LAB_ASK_LEFT },
	{ .ask = LAB_ASK_DELIVERED },
	{ .ask = LAB_ASK_TOOK },
	{ .ask = LAB_ASK_AGAIN },
	{ .ask = LAB_ASK_CARRIED },
	{ .ask = LAB_ASK_LOST },
	{ .ask = LAB_ASK_SENT },
	{ .ask = LAB_ASK_DAMAGED },
	{ .ask = LAB_ASK_DOUBLED },
	{ .ask = LAB_ASK_SLOWEST },
	{ .ask = LAB_ASK_HOLDER },
	{ .ask = LAB_ASK_SHARED, 0, "smoothed_rtt_ns", "smoothed round-trip time" },
	{ 0 },
};

/* The one question of this kind about the made trial; false: it cannot be asked. */
static bool ask(enum lab_ask kind)
{
	const struct lab_question table[] = { { .ask = kind }, { 0 } };

	return lab_questions_draw(&made, table, 1, LAB_QUESTIONS_USUAL, asked) == 1;
}

static void judged(const char *answer, enum lab_answer_verdict verdict)
{
	enum lab_answer_verdict got = lab_answer_judge(&asked[0], answer, why);

	if (got != verdict)
		fail_msg("`%s` is %d, and not %d: %s", answer, got, verdict, why);
}

static void says(const char *text)
{
	if (!strstr(why, text))
		fail_msg("no \"%s\" in: %s", text, why);
}

/* ------------------------------------------------------------------- drawing */

TEST(test_seeds_differ_by_lab_and_by_student)
{
	assert_int_equal(lab_questions_seed("loss", "ada"), lab_questions_seed("loss", "ada"));
	assert_int_not_equal(lab_questions_seed("loss", "ada"), lab_questions_seed("loss", "bob"));
	assert_int_not_equal(lab_questions_seed("loss", "ada"), lab_questions_seed("delay", "ada"));
	assert_int_not_equal(lab_questions_seed("a", "bc"), lab_questions_seed("ab", "c"));
}

TEST(test_the_same_seed_draws_the_same_questions)
{
	struct lab_asked again[LAB_QUESTIONS];

	made_long();
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		assert_int_equal(
			lab_questions_draw(&made, everything, seed, LAB_QUESTIONS_USUAL, asked),
			LAB_QUESTIONS_USUAL);
		assert_int_equal(
			lab_questions_draw(&made, everything, seed, LAB_QUESTIONS_USUAL, again),
			LAB_QUESTIONS_USUAL);
		for (int i = 0; i < LAB_QUESTIONS_USUAL; i++) {
			assert_string_equal(asked[i].text, again[i].text);
			assert_int_equal(asked[i].value, again[i].value);
		}
	}
}

TEST(test_three_different_questions_are_drawn_and_all_kinds_come)
{
	bool seen[LAB_ASK_SHARED + 1] = { false };

	made_long();
	made.datagrams[0].corrupt = true;
	made.datagrams[2].copies = 2;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		lab_questions_draw(&made, everything, seed, LAB_QUESTIONS_USUAL, asked);
		for (int i = 0; i < LAB_QUESTIONS_USUAL; i++)
			seen[asked[i].ask] = true;
		assert_int_not_equal(asked[0].ask, asked[1].ask);
		assert_int_not_equal(asked[0].ask, asked[2].ask);
		assert_int_not_equal(asked[1].ask, asked[2].ask);
	}
	for (enum lab_ask kind = LAB_ASK_LEFT; kind < LAB_ASK_HOLDER; kind++)
		assert_true(seen[kind] || kind == LAB_ASK_SLOWEST);
}

TEST(test_students_are_asked_about_different_messages)
{
	const struct lab_question table[] = { { .ask = LAB_ASK_LEFT }, { 0 } };
	char first[LAB_QUESTION_TEXT], id[16];
	int different = 0;

	made_long();
	lab_questions_draw(&made, table, lab_questions_seed("loss", "0"), LAB_QUESTIONS_USUAL,
			   asked);
	memcpy(first, asked[0].text, sizeof(first));
	for (int i = 1; i < IDS; i++) {
		snprintf(id, sizeof(id), "%d", i);
		lab_questions_draw(&made, table, lab_questions_seed("loss", id),
				   LAB_QUESTIONS_USUAL, asked);
		different += strcmp(first, asked[0].text) != 0;
	}
	assert_in_range(different, IDS / 2, IDS);
}

TEST(test_a_trial_that_cannot_answer_is_not_asked)
{
	made_begin("nothing happens", 2);
	assert_int_equal(lab_questions_draw(&made, everything, 1, LAB_QUESTIONS_USUAL, asked), 0);
	made_message(0, 0);
	made_datagram(0, 1, 0, -1, 1);
	assert_false(ask(LAB_ASK_DELIVERED));
	assert_false(ask(LAB_ASK_AGAIN));
	assert_false(ask(LAB_ASK_SLOWEST));
	assert_false(ask(LAB_ASK_HOLDER));
	assert_false(ask(LAB_ASK_SHARED));
	assert_true(ask(LAB_ASK_LEFT));
	assert_true(ask(LAB_ASK_LOST));
}

/* ------------------------------------------------------- answers of the facts */

TEST(test_times_of_a_message_are_those_of_its_datagrams)
{
	made_begin("one of three", 2);
	made_message(0, 1000);
	made_datagram(0, 1, 5000, -1, 1);
	made_datagram(0, 1, 205000, 230000, 1);
	made_datagram(1, 0, 230000, 255000, 0);
	made_delivery(1, 230000, 1);
	assert_true(ask(LAB_ASK_LEFT));
	assert_int_equal(asked[0].value, 5 * NOPAL_MILLISECOND);
	assert_true(ask(LAB_ASK_DELIVERED));
	assert_int_equal(asked[0].value, 230 * NOPAL_MILLISECOND);
	assert_true(ask(LAB_ASK_TOOK));
	assert_int_equal(asked[0].value, 229 * NOPAL_MILLISECOND);
	assert_true(ask(LAB_ASK_AGAIN));
	assert_int_equal(asked[0].value, 200 * NOPAL_MILLISECOND);
	assert_true(ask(LAB_ASK_CARRIED));
	assert_int_equal(asked[0].value, 2);
	assert_true(ask(LAB_ASK_SENT));
	assert_int_equal(asked[0].value, 2);
	assert_true(ask(LAB_ASK_LOST));
	assert_int_equal(asked[0].value, 1);
}

TEST(test_counts_of_a_host_are_of_what_became_of_its_datagrams)
{
	made_loss();
	assert_true(ask(LAB_ASK_SENT));
	assert_int_equal(asked[0].value, 4);
	assert_true(ask(LAB_ASK_DAMAGED));
	assert_int_equal(asked[0].value, 1);
	assert_true(ask(LAB_ASK_DOUBLED));
	assert_int_equal(asked[0].value, 1);
	assert_string_equal(asked[0].word, "datagram");
}

TEST(test_the_slowest_message_is_asked_for_where_there_is_one)
{
	made_loss();
	assert_true(ask(LAB_ASK_SLOWEST));
	assert_int_equal(asked[0].value, 3);
	assert_string_equal(asked[0].word, "message");
	made_long(); /* 12 and 31 took as long as each other */
	assert_false(ask(LAB_ASK_SLOWEST));
}

/* ---------------------------------------------------------- answers of a trace */

enum { SESSION = 0x1111 };

static struct nopal_world world;
static struct nopal_plan *plan;
static const struct lab_bench bench;
static struct lab_arena arena;

static uint8_t part_of(const char *name)
{
	uint8_t part = 0;

	while (strcmp(nopal_plan_part(plan, part)->microprotocol->name, name) != 0)
		part++;
	return part;
}

static void put(int64_t ms, enum nopal_trace_what what, uint8_t part, uint64_t segment, uint64_t b)
{
	nopal__trace(world.tracer, ms * NOPAL_MILLISECOND, SESSION, what, part, NOPAL_SEND, segment,
		     b);
}

/* Segment 1 waits for `retransmit` 5 ms, segment 2 for `windowed_cc` so long; what waits after it
 * left once does not count. */
static void write_waits(int64_t second_ms)
{
	const uint8_t retransmit = part_of("retransmit"), window = part_of("windowed_cc");
	uint16_t number;

	assert_int_equal(nopal_trace_start(&world, path, NOPAL_TRACE_EVENTS), 0);
	number = nopal__trace_plan(world.tracer, plan);
	nopal__trace(world.tracer, 0, SESSION, NOPAL_TRACED_SESSION, NOPAL_TRACE_RUNTIME, number,
		     SESSION, nopal__trace_role(true, 0));
	put(1, NOPAL_TRACED_HOLD, NOPAL_TRACE_RUNTIME, 1, 3);
	put(2, NOPAL_TRACED_HOLD, NOPAL_TRACE_RUNTIME, 2, 3);
	put(2, NOPAL_TRACED_RELEASE, window, 1, 1);
	put(6, NOPAL_TRACED_RELEASE, retransmit, 1, 0);
	put(6, NOPAL_TRACED_TRANSMIT, NOPAL_TRACE_RUNTIME, 1, 70);
	put(6, NOPAL_TRACED_HOLD, NOPAL_TRACE_RUNTIME, 1, 3);
	put(2 + second_ms, NOPAL_TRACED_RELEASE, window, 2, 0);
	put(2 + second_ms, NOPAL_TRACED_TRANSMIT, NOPAL_TRACE_RUNTIME, 2, 71);
	put(90, NOPAL_TRACED_RELEASE, retransmit, 1, 0);
	assert_int_equal(nopal_trace_stop(&world), 0);
	made_loss();
	arena.hosts[0].trace_fd = open(path, O_RDONLY | O_CLOEXEC);
	arena.trial = &made;
	arena.bench = &bench;
	made.arena = &arena;
}

static int begin_trace(void **state)
{
	struct nopal_problems problems = { 0 };

	plan = nopal_plan_load("bulk_cubic", NULL, &problems);
	return !plan || set_up(state);
}

static int end_trace(void **state)
{
	close(arena.hosts[0].trace_fd);
	made.arena = NULL;
	nopal_plan_unref(plan);
	return tear_down(state);
}

TEST_WITH(begin_trace, end_trace, test_the_holder_is_whom_the_segment_waited_for_longest)
{
	write_waits(9);
	assert_true(ask(LAB_ASK_HOLDER));
	assert_int_equal(asked[0].value, 2);
	assert_string_equal(asked[0].word, "windowed_cc");
	judged("segment 2, windowed_cc", LAB_ANSWER_RIGHT);
	judged("Segment 2 windowed_cc", LAB_ANSWER_RIGHT);
	judged("segment 1, windowed_cc", LAB_ANSWER_WRONG);
	judged("segment 2, retransmit", LAB_ANSWER_WRONG);
	judged("segment 2", LAB_ANSWER_REFUSED);
	judged("windowed_cc", LAB_ANSWER_REFUSED);
}

TEST_WITH(begin_trace, end_trace, test_the_holder_is_not_asked_for_where_two_waited_as_long)
{
	write_waits(5);
	assert_false(ask(LAB_ASK_HOLDER));
}

/* -------------------------------------------------------------------- judging */

static void set_time(int64_t value_ns)
{
	asked[0] = (struct lab_asked){ .ask = LAB_ASK_AGAIN,
				       .form = LAB_ANSWER_TIME,
				       .value = value_ns,
				       .tolerance = NOPAL_MILLISECOND };
}

TEST(test_a_time_is_right_in_any_unit_and_within_its_tolerance)
{
	set_time(200 * NOPAL_MILLISECOND);
	judged("200 ms", LAB_ANSWER_RIGHT);
	judged("200ms", LAB_ANSWER_RIGHT);
	judged("0.2 s", LAB_ANSWER_RIGHT);
	judged("200000 us", LAB_ANSWER_RIGHT);
	judged("201 ms", LAB_ANSWER_RIGHT);
	judged("201.1 ms", LAB_ANSWER_WRONG);
	judged("199 ms", LAB_ANSWER_RIGHT);
	judged("198.9 ms", LAB_ANSWER_WRONG);
	says("from its first arrow");
	assert_null(strstr(why, "200"));
}

TEST(test_a_time_without_a_unit_is_refused_with_the_reason)
{
	set_time(200 * NOPAL_MILLISECOND);
	judged("200", LAB_ANSWER_REFUSED);
	says("`200` has no unit");
	judged("0.2", LAB_ANSWER_REFUSED);
	judged("200 apples", LAB_ANSWER_REFUSED);
	says("is no time");
	judged("soon", LAB_ANSWER_REFUSED);
	judged("200 B", LAB_ANSWER_REFUSED);
}

TEST(test_a_time_that_is_a_thousand_times_off_is_told_so)
{
	set_time(200 * NOPAL_MILLISECOND);
	judged("200 s", LAB_ANSWER_WRONG);
	says("a factor of a thousand");
	judged("0.2 ms", LAB_ANSWER_WRONG);
	says("a factor of a thousand");
	set_time(0);
	judged("500 ms", LAB_ANSWER_WRONG);
	says("from its first arrow");
}

TEST(test_a_count_needs_its_noun)
{
	asked[0] = (struct lab_asked){ LAB_ASK_LOST, LAB_ANSWER_COUNT, 3, .word = "datagram" };
	judged("3 datagrams", LAB_ANSWER_RIGHT);
	judged("3 Datagrams", LAB_ANSWER_RIGHT);
	judged("4 datagrams", LAB_ANSWER_WRONG);
	says("end in a cross");
	judged("3", LAB_ANSWER_REFUSED);
	says("`3` of what?");
	judged("3 segments", LAB_ANSWER_REFUSED);
	judged("3 datagram boxes", LAB_ANSWER_REFUSED);
	judged("three datagrams", LAB_ANSWER_REFUSED);
	says("is no number");
	asked[0].value = 1;
	judged("1 datagram", LAB_ANSWER_RIGHT);
}

TEST(test_a_message_is_named_by_noun_and_number)
{
	asked[0] = (struct lab_asked){ LAB_ASK_SLOWEST, LAB_ANSWER_NUMBER, 7, .word = "message" };
	judged("message 7", LAB_ANSWER_RIGHT);
	judged("Message7", LAB_ANSWER_RIGHT);
	judged("message 8", LAB_ANSWER_WRONG);
	judged("7", LAB_ANSWER_REFUSED);
	says("`message 7`");
	judged("message seven", LAB_ANSWER_REFUSED);
	judged("message 7, I think", LAB_ANSWER_REFUSED);
}

TEST(test_no_answer_is_missing)
{
	set_time(1);
	judged("", LAB_ANSWER_MISSING);
	assert_int_equal(lab_answer_judge(&asked[0], NULL, why), LAB_ANSWER_MISSING);
}

/* ----------------------------------------------------------------------- file */

static int parse(const char *text, struct lab_answers *ret_answers, const char *cause)
{
	struct nopal_problems problems = { 0 };
	int error = lab_answers_parse(text, "answers.txt", ret_answers, &problems);

	assert_int_equal(error<0, problems.count> 0);
	if (cause) {
		assert_int_not_equal(problems.count, 0);
		assert_non_null(strstr(problems.entries[0].cause, cause));
		assert_non_null(problems.entries[0].fix);
	}
	nopal_problems_fini(&problems);
	return error;
}

TEST(test_answers_are_lines_by_question)
{
	struct lab_answers answers;

	assert_int_equal(parse("# mine\n\n 2:  3 datagrams \r\n1. 12.5 ms\n3:\n", &answers, NULL),
			 0);
	assert_string_equal(answers.lines[0], "12.5 ms");
	assert_string_equal(answers.lines[1], "3 datagrams");
	assert_string_equal(answers.lines[2], "");
	lab_answers_fini(&answers);
}

TEST(test_answers_that_cannot_be_read_are_told_by_line)
{
	struct lab_answers answers;

	assert_true(parse("1: 2 ms\nsecond: 3 ms\n", &answers, "begins with the number") < 0);
	lab_answers_fini(&answers);
	assert_true(parse("7: 2 ms\n", &answers, "1 to 6") < 0);
	lab_answers_fini(&answers);
	assert_true(parse("1: 2 ms\n1: 3 ms\n", &answers, "two answers") < 0);
	lab_answers_fini(&answers);
}

TEST(test_printed_questions_are_answers_without_any_answer)
{
	struct lab_answers answers;
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	int count;

	made_loss();
	count = lab_questions_draw(&made, everything, 5, LAB_QUESTIONS_USUAL, asked);
	lab_questions_print(asked, count, out);
	fclose(out);
	assert_int_equal(count, LAB_QUESTIONS_USUAL);
	assert_int_equal(parse(text, &answers, NULL), 0);
	for (int i = 0; i < count; i++) {
		assert_non_null(strstr(text, asked[i].text));
		assert_string_equal(answers.lines[i], "");
		assert_int_equal(lab_answer_judge(&asked[i], answers.lines[i], why),
				 LAB_ANSWER_MISSING);
	}
	lab_answers_fini(&answers);
	free(text);
}
