/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "plan/plan.h"
#include "judge/judge.h"
#include "support/rig.h"
#include "support/test.h"

static struct nopal_plan *plan;
static struct judge_facts facts;
static struct judgement judgement;
static struct judge_suspects suspects;

/* 200 messages over `bulk`, of which all arrived. */
static int setup(void **state)
{
	(void)state;
	plan = rig_plan("extends = \"bulk\"\n");
	facts = (struct judge_facts){
		.sender_end = NOPAL_ENDED_WELL,
		.receiver_end = NOPAL_ENDED_WELL,
		.numbered = true,
		.counted = true,
		.bytes_seen = true,
		.sent = 200,
		.delivered = 200,
		.data = 300,
		.control = 200,
		.open_ns = NOPAL_SECOND,
	};
	suspects.count = 0;
	return plan ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	nopal_plan_unref(plan);
	return 0;
}

EACH_TEST(setup, teardown);

static enum judge_verdict verdict(unsigned quality)
{
	judge(plan, &facts, &judgement);
	return judgement.of[quality].verdict;
}

static void is_blamed(const char *name)
{
	judge_blame(&judgement, &suspects);
	if (!name)
		assert_null(judgement.blamed);
	else
		assert_string_equal(judgement.blamed, name);
}

static struct judge_suspect *suspect(const char *name)
{
	struct judge_suspect *one = &suspects.one[suspects.count++];

	*one = (struct judge_suspect){ .layer = "a", .microprotocol = name };
	one->why = "something";
	return one;
}

TEST(test_judge_of_a_good_run_finds_all_held)
{
	assert_int_equal(verdict(NOPAL_DELIVERY), JUDGE_HELD);
	assert_int_equal(verdict(NOPAL_ORDER), JUDGE_HELD);
	assert_int_equal(verdict(NOPAL_DUPLICATES), JUDGE_HELD);
	assert_int_equal(verdict(NOPAL_INTEGRITY), JUDGE_HELD);
	assert_int_equal(verdict(NOPAL_OUTCOME), JUDGE_HELD);
	assert_int_equal(verdict(NOPAL_PROGRESS), JUDGE_HELD);
	assert_int_equal(verdict(JUDGE_RULES), JUDGE_HELD);
	assert_int_equal(verdict(NOPAL_PACE), JUDGE_NOT);
	assert_false(judge_is_broken(&judgement));
	assert_false(judge_say(&judgement, stderr));
}

TEST(test_judge_of_a_missing_message_looks_at_the_end)
{
	facts.missing = (struct judge_count){ 2, 16 };
	facts.gaps = facts.missing;
	facts.delivered = 198;
	assert_int_equal(verdict(NOPAL_DELIVERY), JUDGE_BROKEN);
	assert_string_equal(judgement.of[NOPAL_DELIVERY].evidence,
			    "message 17 of 200 (and 1 more) never arrived, and "
			    "the session ended in good order");
	assert_int_equal(verdict(NOPAL_ORDER), JUDGE_BROKEN);
	facts.sender_end = NOPAL_GAVE_UP; /* and so it was told */
	assert_int_equal(verdict(NOPAL_DELIVERY), JUDGE_HELD);
	assert_int_equal(verdict(NOPAL_ORDER), JUDGE_BROKEN);
	facts.sender_end = JUDGE_OPEN;
	assert_int_equal(verdict(NOPAL_DELIVERY), JUDGE_NOT);
	facts.given_up = facts.missing;
	assert_int_equal(verdict(NOPAL_DELIVERY), JUDGE_BROKEN);
	is_blamed("retransmit");
}

TEST(test_judge_holds_nobody_to_what_was_not_promised)
{
	nopal_plan_unref(plan);
	plan = rig_plan("transport_driver {}\nfixed_size {}\n");
	facts.missing = facts.gaps = facts.overtaken = facts.twice = (struct judge_count){ 5, 3 };
	facts.delivered = 195;
	judge(plan, &facts, &judgement);
	assert_false(judge_is_broken(&judgement));
	facts.wrong = facts.missing;
	facts.link_corrupts = true;
	judge(plan, &facts, &judgement);
	assert_false(judge_is_broken(&judgement));
	facts.link_corrupts = false; /* who else did it? */
	assert_int_equal(verdict(NOPAL_INTEGRITY), JUDGE_BROKEN);
}

TEST(test_judge_of_relations_asks_whether_they_are_known)
{
	nopal_plan_unref(plan);
	plan = rig_plan("extends = \"bulk\"\nwithout = { reliable_fifo }\nsemantic_order {}\n");
	facts.names = "label|after";
	facts.overtaken = (struct judge_count){ 5, 3 };
	assert_int_equal(verdict(NOPAL_ORDER), JUDGE_NOT);
	facts.related = true;
	assert_int_equal(verdict(NOPAL_ORDER), JUDGE_HELD);
	assert_int_equal(verdict(NOPAL_LABELS), JUDGE_HELD);
	facts.early = (struct judge_count){ 1, 7 };
	facts.relabelled = (struct judge_count){ 2, 9 };
	assert_int_equal(verdict(NOPAL_ORDER), JUDGE_BROKEN);
	assert_string_equal(judgement.of[NOPAL_ORDER].evidence,
			    "message 8 of 200 with label|after came before the one that it names");
	assert_int_equal(verdict(NOPAL_LABELS), JUDGE_BROKEN);
	assert_int_equal(judge_bound(plan, &judgement.promised.quality[NOPAL_ORDER]),
			 30 * NOPAL_SECOND);
}

TEST(test_judge_of_a_tag_looks_at_its_own_messages)
{
	nopal_plan_unref(plan);
	plan = rig_plan("extends = \"bulk\"\ntag_matching {}\n");
	facts.names = "tag";
	facts.related = true;
	facts.overtaken = (struct judge_count){ 5, 3 };
	assert_int_equal(verdict(NOPAL_ORDER), JUDGE_HELD);
	facts.tag_overtaken = (struct judge_count){ 1, 3 };
	assert_int_equal(verdict(NOPAL_ORDER), JUDGE_BROKEN);
}

/* A broken promise of one class is named by its own words. */
TEST(test_judgements_of_two_classes_join)
{
	struct judgement plain;

	nopal_plan_unref(plan);
	plan = rig_plan("extends = \"ctp_mixed\"\n");
	judge(plan, &facts, &plain);
	facts.names = "out_of_band";
	facts.overtaken = (struct judge_count){ 5, 3 };
	assert_int_equal(verdict(NOPAL_ORDER), JUDGE_HELD);
	facts.names = "deadline";
	assert_int_equal(verdict(NOPAL_ORDER), JUDGE_BROKEN);
	judge_join(&plain, &judgement);
	assert_true(judge_is_broken(&plain));
	assert_int_equal(plain.promised.quality[NOPAL_ORDER].value,
			 judgement.promised.quality[NOPAL_ORDER].value);
}

TEST(test_judge_of_a_duplicate_asks_who_forgot_the_session)
{
	facts.twice = (struct judge_count){ 1, 9 };
	assert_int_equal(verdict(NOPAL_DUPLICATES), JUDGE_BROKEN);
	is_blamed("sequenced_segments");
	nopal_plan_unref(plan);
	plan = rig_plan("transport_driver {}\nfixed_size {}\n"
			"sequenced_segments {}\n");
	facts.receiver_restarted = true;
	assert_int_equal(verdict(NOPAL_DUPLICATES), JUDGE_NOT);
	facts.receiver_restarted = false;
	assert_int_equal(verdict(NOPAL_DUPLICATES), JUDGE_BROKEN);
}

TEST(test_judge_of_a_lie_waits_for_both_ends)
{
	facts.missing = facts.lies = (struct judge_count){ 1, 9 };
	assert_int_equal(verdict(NOPAL_OUTCOME), JUDGE_BROKEN);
	facts.receiver_end = NOPAL_RESOURCE;
	assert_int_equal(verdict(NOPAL_OUTCOME), JUDGE_NOT);
}

TEST(test_judge_of_the_rules_counts)
{
	facts.control = 1000000;
	assert_int_equal(verdict(JUDGE_RULES), JUDGE_BROKEN);
	assert_true(judge_storms(&facts));
	suspect("innocent")->deed[NOPAL_DEED_CONTROL] = 100;
	suspect("stormy")->deed[NOPAL_DEED_CONTROL] = 900000;
	is_blamed("stormy");
	facts.control = 200;
	assert_false(judge_storms(&facts));
	facts.steps = 10000000;
	assert_true(judge_storms(&facts));
	facts.steps = 0;
	facts.misuses = 1;
	assert_int_equal(verdict(JUDGE_RULES), JUDGE_BROKEN);
	suspect("clumsy")->deed[NOPAL_DEED_MISUSE] = 1;
	is_blamed("clumsy");
}

/* On a busy machine it gets few turns, and the run takes long. */
TEST(test_judge_of_spinning_asks_for_no_time)
{
	facts.open_ns = 3600 * NOPAL_SECOND;
	facts.spins = facts.data + facts.control;
	assert_int_equal(verdict(JUDGE_RULES), JUDGE_HELD);
	facts.spins += 1000;
	assert_int_equal(verdict(JUDGE_RULES), JUDGE_BROKEN);
	suspect("busy")->deed[NOPAL_DEED_WOKEN] = 5000;
	suspect("spinner")->deed[NOPAL_DEED_SPUN] = 1000;
	is_blamed("spinner");
}

/* Gates let go last, and who waits for an ack waits for the peer. */
TEST(test_judge_of_what_stands_still_blames_who_keeps_it)
{
	struct judge_suspect *gate, *jailer;

	facts.sender_end = facts.receiver_end = JUDGE_OPEN;
	facts.stuck = "nothing happened";
	assert_int_equal(verdict(NOPAL_PROGRESS), JUDGE_BROKEN);
	gate = suspect("a_gate");
	gate->gate = true;
	gate->held[NOPAL_SEND] = gate->alone[NOPAL_SEND] = 10;
	gate->oldest[NOPAL_SEND] = gate->oldest_alone[NOPAL_SEND] = 3;
	jailer = suspect("jailer");
	jailer->held[NOPAL_SEND] = 4;
	jailer->oldest[NOPAL_SEND] = 2;
	is_blamed("jailer");
	assert_string_equal(judgement.because, "4 segments wait for it: something");
	jailer->deed[NOPAL_DEED_STOPPED] = 0;
	suspect("swallower")->deed[NOPAL_DEED_STOPPED] = 3;
	verdict(NOPAL_PROGRESS);
	is_blamed("swallower");
}

/* Numbers of segments are those of their layer. */
TEST(test_judge_of_layers_blames_the_lower_one)
{
	struct judge_suspect *above, *below;

	nopal_plan_unref(plan);
	plan = rig_plan("extends = \"one_to_many_all\"\n");
	facts.sender_end = facts.receiver_end = JUDGE_OPEN;
	facts.stuck = "nothing happened";
	above = suspect("fans_out");
	above->layer = "group";
	above->held[NOPAL_DONE] = 1;
	above->oldest_alone[NOPAL_DONE] = 1;
	below = suspect("jailer");
	below->layer = "destination";
	below->oldest[NOPAL_SEND] = 7;
	below->held[NOPAL_SEND] = 1;
	verdict(NOPAL_PROGRESS);
	is_blamed("jailer");
}

/* An order that waits for what is missing is not to blame for that. */
TEST(test_judge_of_what_arrived_blames_who_keeps_it_there)
{
	struct judge_suspect *order;

	order = suspect("some_order");
	order->held[NOPAL_DELIVER] = order->alone[NOPAL_DELIVER] = 7;
	order = suspect("acks");
	order->held[NOPAL_DONE] = 1;
	facts.stuck = "nothing happened";
	verdict(NOPAL_PROGRESS);
	is_blamed("retransmit");
	facts.missing = facts.lies = (struct judge_count){ 1, 9 };
	verdict(NOPAL_PROGRESS);
	is_blamed("some_order");
}

TEST(test_judge_of_a_bad_end_blames_deeds_alone)
{
	facts.sender_end = NOPAL_GAVE_UP;
	judge(plan, &facts, &judgement);
	assert_false(judge_is_broken(&judgement));
	suspect("holder")->held[NOPAL_SEND] = 100;
	is_blamed(NULL);
	suspect("dropper")->deed[NOPAL_DEED_LOST] = 1;
	is_blamed("dropper");
}

TEST(test_judge_says_it_in_words_and_json)
{
	char *text = NULL;
	size_t length = 0;
	json_t *object, *delivery;
	FILE *out;

	facts.missing = (struct judge_count){ 1, 16 };
	judge(plan, &facts, &judgement);
	judge_blame(&judgement, &suspects);
	out = open_memstream(&text, &length);
	assert_true(judge_say(&judgement, out));
	fclose(out);
	assert_string_equal(text, "nopal: broken: delivery \"all\" (retransmit): message 17 of "
				  "200 never arrived, and the session ended in good order\n"
				  "nopal: blamed: retransmit: it promised delivery: all\n");
	free(text);
	object = judge_json(&judgement);
	delivery = json_object_get(object, "delivery");
	assert_string_equal(json_string_value(json_object_get(delivery, "verdict")), "broken");
	assert_string_equal(json_string_value(json_object_get(delivery, "given_by")), "retransmit");
	assert_non_null(json_object_get(object, "blamed"));
	json_decref(object);
}

/* --------------------------------------------------------------- standing still */

static struct judge_patience patience_of(const char *config)
{
	struct nopal_plan *other = rig_plan(config);
	struct judge_patience patience;

	assert_non_null(other);
	patience = judge_patience(other);
	nopal_plan_unref(other);
	return patience;
}

static void may_wait(const char *config, int64_t seconds, int64_t all_seconds)
{
	struct judge_patience patience = patience_of(config);

	assert_int_equal(patience.wait_ns / NOPAL_SECOND, seconds);
	assert_int_equal(patience.all_ns / NOPAL_SECOND, all_seconds);
}

#define NUMBERED "transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
#define TIMED	 NUMBERED "positive_ack {}\nretransmission_timer { timeout_max = 90s }\n"

TEST(test_a_run_may_wait_as_long_as_its_timers)
{
	may_wait("transport_driver {}\nfixed_size {}\n", 0, 0);
	may_wait(TIMED, 90, 90);
	may_wait(TIMED "keep_alive { timeout = 2min }\n", 120, 120);
}

TEST(test_a_run_may_wait_for_each_attempt)
{
	may_wait(TIMED "retransmit {}\n", 90, 16 * 90);
	may_wait(TIMED "retransmit { attempts = 3 }\n", 90, 3 * 90);
}

TEST(test_a_run_may_wait_for_doubled_waits)
{
	may_wait(NUMBERED "go_back_n { timeout = 10s  backoff = 3  attempts = 2 }\n", 80, 160);
	may_wait(NUMBERED "xon_xoff { probe = 2s }\n", 128, 128);
}

TEST(test_the_longest_waits_are_a_number)
{
	struct judge_patience patience =
		patience_of(NUMBERED "positive_ack {}\nretransmission_timer {}\n"
				     "retransmit { attempts = 1000 }\n"
				     "keep_alive { timeout = 48h }\n");

	assert_true(patience.all_ns > patience.wait_ns);
	assert_true(patience.all_ns <= 1000 * 24 * 3600 * NOPAL_SECOND);
}
