/* SPDX-License-Identifier: MIT */
/*
 * properties.c: rules of --with, and the properties that they give messages.
 */
#include <string.h>

#include "frame/properties.h"
#include "support/rig.h"
#include "support/test.h"

static struct nopal_plan *plan;
static struct properties with;

static int setup(void **state)
{
	(void)state;
	plan = rig_plan(
		"extends = \"ctp_mixed\"\nwithout = { reliable_fifo }\nsemantic_order {}\n");
	return plan ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	nopal_plan_unref(plan);
	return 0;
}

EACH_TEST(setup, teardown);

static bool parse(const char *first, const char *second)
{
	const char *texts[] = { first, second, NULL };

	return properties_parse(texts, plan, 7, &with);
}

/* The value of a property of a message, as people count: from 1. */
static uint64_t value(uint64_t index, const char *name)
{
	return properties_value(&with, index - 1, name);
}

static unsigned class_of(uint64_t index)
{
	struct nopal_property properties[PROPERTIES_MAX];
	unsigned class;

	properties_of(&with, index - 1, properties, &class);
	return class;
}

TEST(test_a_rule_without_condition_is_for_every_message)
{
	assert_true(parse("deadline=200ms", NULL));
	assert_int_equal(value(1, "deadline"), 200 * NOPAL_MILLISECOND);
	assert_int_equal(value(1000, "deadline"), 200 * NOPAL_MILLISECOND);
	assert_int_equal(value(1, "urgent"), 0);
}

TEST(test_every_and_from_choose_messages)
{
	assert_true(parse("urgent=on,out_of_band=on every 5", "attempts=2 every 10 from 3"));
	for (uint64_t i = 1; i <= 30; i++) {
		assert_int_equal(value(i, "urgent"), i % 5 == 0);
		assert_int_equal(value(i, "out_of_band"), i % 5 == 0);
		assert_int_equal(value(i, "attempts"), i % 10 == 3 ? 2 : 0);
	}
}

TEST(test_a_later_rule_counts)
{
	assert_true(parse("deadline=1s", "deadline=never every 2"));
	assert_int_equal(value(1, "deadline"), NOPAL_SECOND);
	assert_int_equal(value(2, "deadline"), NOPAL_NEVER);
}

TEST(test_a_value_is_computed_from_the_number_of_the_message)
{
	assert_true(parse("label=index,after=index-1", "urgent=index%3"));
	assert_int_equal(value(1, "label"), 1);
	assert_int_equal(value(1, "after"), 0);
	assert_int_equal(value(9, "after"), 8);
	assert_int_equal(value(9, "urgent"), 0);
	assert_int_equal(value(11, "urgent"), 2);
	assert_true(parse("label=index-1*160+5", NULL)); /* in the order of the text */
	assert_int_equal(value(3, "label"), 2 * 160 + 5);
}

TEST(test_a_share_and_a_range_are_drawn_by_the_seed)
{
	uint64_t count = 0, sum = 0;

	assert_true(parse("attempts=2..4 share 25%", NULL));
	for (uint64_t i = 1; i <= 4000; i++) {
		uint64_t drawn = value(i, "attempts");

		assert_true(drawn == 0 || (drawn >= 2 && drawn <= 4));
		assert_int_equal(drawn, value(i, "attempts"));
		count += drawn != 0;
		sum += drawn;
	}
	assert_in_range(count, 900, 1100);
	assert_in_range(sum, 28 * count / 10, 32 * count / 10);
}

TEST(test_a_class_has_the_names_of_what_is_not_0)
{
	char text[PROPERTIES_TEXT];

	assert_true(parse("urgent=on every 2", "deadline=1s every 3"));
	assert_int_equal(class_of(1), 0);
	assert_null(properties_names(&with, class_of(1), text));
	assert_string_equal(properties_names(&with, class_of(3), text), "deadline");
	assert_string_equal(properties_names(&with, class_of(6), text), "urgent|deadline");
	assert_int_equal(class_of(6), properties_all(&with));
	assert_true(parse("urgent=off", NULL));
	assert_int_equal(class_of(1), 0);
}

TEST(test_a_bad_rule_is_refused)
{
	static const char *const bad[] = {
		"",
		"deadline",
		"deadline=",
		"=5",
		"deadlin=5ms",
		"deadline=5",
		"deadline=-5ms",
		"attempts=5ms",
		"urgent=never",
		"attempts=4..2",
		"attempts=2 every",
		"attempts=2 every 0",
		"attempts=2 sometimes 5",
		"attempts=2 share 0%",
		"attempts=2 share 101%",
		"out_of_band=256",
		"label=index-",
		"label=index^2",
		"label=index%0",
		"label=index+1+1+1+1+1",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (parse(bad[i], NULL))
			fail_msg("\"%s\" was taken", bad[i]);
}

TEST(test_too_many_rules_are_refused)
{
	const char *texts[PROPERTIES_RULES + 2] = { 0 };

	for (int i = 0; i < PROPERTIES_RULES; i++)
		texts[i] = "urgent=on";
	assert_true(properties_parse(texts, plan, 1, &with));
	texts[PROPERTIES_RULES] = "urgent=on";
	assert_false(properties_parse(texts, plan, 1, &with));
}
