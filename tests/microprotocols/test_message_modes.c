/* SPDX-License-Identifier: MIT */
/* A mode for each message: any, all, P of K, and balanced, by the properties of `fan_out` and
 * `balance`, whatever the config says of the others. */
#include "support/many.h"

#define ALL UINT64_MAX

enum { HOSTS = 4, BYTES = 500 };

static struct many many;

static void begin(const char *config)
{
	static const char *const ray[HOSTS] = { "delay 5ms", "delay 50ms", "delay 100ms",
						"delay 200ms" };

	many_open(&many, config, HOSTS, "delay 5ms", 1);
	for (uint32_t i = 0; i < HOSTS; i++)
		many_link(&many, i, ray[i]);
	many_run(&many, 5 * NOPAL_SECOND);
}

/* Sends to K, of which P must have it; returns the message's number. */
static uint32_t say(uint64_t copies, uint64_t required)
{
	const struct nopal_property properties[] = {
		{ nopal_property(many.plan, "given_to"), copies },
		{ nopal_property(many.plan, "required"), required },
	};
	/* without `balance` there is no property given_to */
	size_t first = properties[0].which ? 0 : 1;
	static char bytes[BYTES];
	uint32_t number = many.sent++;

	assert_int_not_equal(properties[1].which, 0);
	snprintf(bytes, MANY_DIGITS, "%u ", number);
	many_write(number, bytes, BYTES);
	many.length[number] = BYTES;
	many.sent_ns[number] = nopal_world_now(many.world);
	assert_int_equal(
		nopal_send_message(many.group,
				   &(struct nopal_outgoing){ .bytes = bytes,
							     .length = BYTES,
							     .cookie = number,
							     .properties = properties + first,
							     .property_count = 2 - first }),
		0);
	return number;
}

static uint32_t havers(uint32_t number)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < HOSTS; i++)
		count += many.end[i].seen[number];
	return count;
}

/* So many get it, and it is done when so many milliseconds have passed. */
static void check(uint64_t copies, uint64_t required, uint32_t have, int64_t from_ms, int64_t to_ms)
{
	uint32_t number = say(copies, required);

	many_run(&many, 5 * NOPAL_SECOND);
	assert_int_equal(havers(number), have);
	assert_int_equal(many.outcome_count[number], 1);
	assert_int_equal(many.outcome[number], NOPAL_OUTCOME_DELIVERED);
	assert_in_range(many.outcome_ns[number] - many.sent_ns[number], from_ms * NOPAL_MILLISECOND,
			to_ms * NOPAL_MILLISECOND);
}

/* Round trips: 10, 100, 200 and 400 ms; the nearest ones are done first. */
static void check_all_modes(void)
{
	check(ALL, ALL, 4, 400, 440);
	check(ALL, 1, 4, 10, 40);
	check(ALL, 2, 4, 100, 140);
	check(ALL, 3, 4, 200, 240);
	check(3, 1, 3, 10, 240);
	check(2, 2, 2, 100, 440);
	check(1, 1, 1, 10, 440);
	check(1, ALL, 1, 10, 440);
}

TEST(test_each_message_has_its_mode_where_the_config_balances)
{
	begin(MANY_RELIABLE("fan_out { acks = 1 } balance { copies = 1 }"));
	check_all_modes();
	check(0, 0, 1, 10, 440); /* as the config says */
	many_close(&many);
}

TEST(test_each_message_has_its_mode_where_the_config_wants_all)
{
	begin(MANY_RELIABLE("fan_out {} balance { copies = 4 }"));
	check_all_modes();
	check(0, 0, 4, 400, 440);
	many_close(&many);
}

TEST(test_without_a_choice_the_rule_is_each_message_own)
{
	begin(MANY_RELIABLE("fan_out { acks = 2 }"));
	check(0, 1, 4, 10, 40);
	check(0, 3, 4, 200, 240);
	check(0, ALL, 4, 400, 440);
	check(0, 0, 4, 100, 140);
	many_close(&many);
}

/* More than `most`: all. */
TEST(test_a_message_that_asks_for_too_many_goes_to_all)
{
	begin(MANY_RELIABLE("fan_out {} balance { most = 2 }"));
	check(3, 0, 4, 400, 440);
	check(2, 0, 2, 100, 440);
	many_close(&many);
}

TEST(test_more_that_must_have_it_than_get_it_is_missing_at_once)
{
	uint32_t number;

	begin(MANY_RELIABLE("fan_out {} balance {}"));
	number = say(2, 3);
	assert_int_equal(many.outcome_count[number], 1);
	assert_int_equal(many.outcome[number], NOPAL_OUTCOME_LOST);
	many_close(&many);
}

/* A message for all waits for nobody who was removed; a message for P needs P. */
TEST(test_a_removed_destination_counts_by_the_rule_of_the_message)
{
	uint32_t all, three;

	begin(MANY_RELIABLE("fan_out { acks = 1 }"));
	all = say(0, ALL);
	three = say(0, 4);
	nopal_destination_remove(many.group, 4, true);
	many_run(&many, 5 * NOPAL_SECOND);
	assert_int_equal(many.outcome[all], NOPAL_OUTCOME_DELIVERED);
	assert_int_not_equal(many.outcome[three], NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(many.outcome_count[three], 1);
	many_close(&many);
}

/* A copy that a host lost goes to another host, and to none that has the message. */
TEST(test_what_a_dead_host_lacks_goes_to_another)
{
	uint32_t number[3];

	begin(MANY_RELIABLE("fan_out {} balance {}"));
	for (uint32_t i = 0; i < 3; i++)
		number[i] = say(i + 1, 0);
	nopal_session_abort(many.end[0].session, "enough");
	many_cut(&many, 1);
	many_run(&many, 300 * NOPAL_SECOND);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(many.outcome_count[number[i]], 1);
		assert_true(havers(number[i]) >= 1);
	}
	many_close(&many);
}
