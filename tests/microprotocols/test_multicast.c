/* SPDX-License-Identifier: MIT */
/* Destinations that hear the channel, that are served without it, and that come late. */
#include "engine/composite.h"
#include "support/many.h"
#include "support/test.h"

ALL_TESTS(IPv4, NULL, NULL);
ALL_TESTS(IPv6, many_of_ipv6, NULL);

static struct many many;

#define ALL	  "fan_out {}"
#define AT_A_RATE ALL " rate_cc {} slowest_receiver { initial = 1Mbit most = 1Mbit }"

static void begin(const char *config, uint32_t count, const char *link)
{
	many_open(&many, config, count, link, 1);
	many_run(&many, NOPAL_SECOND);
}

static void all_have(uint32_t from, uint32_t end)
{
	for (uint32_t i = 0; i < many.count; i++)
		assert_true(many_has(&many, i, from, end));
}

/* ------------------------------------------------------------ who hears it */

static void check_transmissions(uint32_t count)
{
	begin(MANY_CHANNEL("", "report = 1ms", ALL), count, "delay 1ms");
	assert_int_equal(many_hearing(&many), count);
	many_watch(&many);
	many_send_some(&many, 10, 5000, 0); /* four segments each */
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.multicasts, 40);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 10);
	all_have(0, 10);
	many_close(&many);
}

TEST(test_one_transmission_however_many_hear)
{
	check_transmissions(1);
	check_transmissions(7);
	check_transmissions(40);
}

/* Sent before anybody was open, when nobody is known to hear, and when all are. */
TEST(test_nothing_gets_lost_as_they_begin_to_hear)
{
	many_open(&many, MANY_CHANNEL("", "", ALL), 5, "delay 10ms 5ms", 1);
	for (int i = 0; i < 60; i++) {
		many_send_some(&many, 1, 3000, 0);
		many_run(&many, 3 * NOPAL_MILLISECOND);
	}
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 5);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 60);
	all_have(0, 60);
	many_close(&many);
}

TEST(test_who_does_not_hear_gets_copies)
{
	many_open(&many, MANY_CHANNEL("", "report = 1ms", ALL), 4, "delay 1ms", 1);
	many_deafen(&many, 2, true);
	many_run(&many, 60 * NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 3);
	many_watch(&many);
	many_send_some(&many, 10, 5000, 0);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.multicasts, 40);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 10);
	all_have(0, 10);
	many_close(&many);
}

/* ------------------------------------------------------------------ probes */

static void check_probes(const char *config, uint32_t deaf, uint64_t probes)
{
	many_open(&many, config, 3, "delay 1ms", 1);
	many_watch(&many);
	for (uint32_t i = 0; i < deaf; i++)
		many_deafen(&many, i, true);
	many_run(&many, 100 * NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 3 - deaf);
	assert_int_equal(many.multicasts, probes);
	many_close(&many);
}

TEST(test_probes_end_when_all_hear_or_none_will)
{
	check_probes(MANY_CHANNEL("", "", ALL), 0, 1);
	check_probes(MANY_CHANNEL("", "", ALL), 1, 12);
	check_probes(MANY_CHANNEL("", "", ALL), 3, 12);
	check_probes(MANY_CHANNEL("probes = 1", "", ALL), 3, 1);
	check_probes(MANY_CHANNEL("probes = 5", "", ALL), 3, 5);
}

TEST(test_who_can_hear_later_does)
{
	many_open(&many, MANY_CHANNEL("", "", ALL), 3, "delay 10ms", 1);
	many_deafen(&many, 0, true);
	for (int i = 0; i < 100; i++) {
		if (i == 50)
			many_deafen(&many, 0, false);
		many_send_some(&many, 1, 2000, 0);
		many_run(&many, 20 * NOPAL_MILLISECOND);
		if (i == 40)
			assert_int_equal(many_hearing(&many), 2);
	}
	many_run(&many, 10 * NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 3);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 100);
	all_have(0, 100);
	many_close(&many);
}

/* Another one opens, and probes begin again: so one that was deaf is asked, too. */
TEST(test_who_opens_later_is_probed)
{
	many_prepare(&many, MANY_CHANNEL("probes = 2", "", ALL), 2, "delay 10ms", 1);
	many_deafen(&many, 0, true);
	assert_true(many_add(&many, 0) > 0);
	many_run(&many, 10 * NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 0);
	many_deafen(&many, 0, false);
	many_run(&many, 10 * NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 0);
	assert_true(many_add(&many, 1) > 0);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 2);
	many_send_some(&many, 5, 2000, 0);
	many_run(&many, NOPAL_SECOND);
	all_have(0, 5);
	many_close(&many);
}

/* -------------------------------------------------------------------- late */

/* In the midst of a message: it gets the next ones, and whole. */
TEST(test_late_is_from_then_on)
{
	uint32_t from;

	many_prepare(&many, MANY_CHANNEL("", "", AT_A_RATE), 3, "delay 10ms", 1);
	assert_true(many_add(&many, 0) > 0 && many_add(&many, 1) > 0);
	many_run(&many, NOPAL_SECOND);
	many_send_some(&many, 40, 20000, 0); /* 160 ms each */
	many_run(&many, 2030 * NOPAL_MILLISECOND);
	assert_true(many_add(&many, 2) > 0);
	many_run(&many, 20 * NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 3);
	assert_true(many_has(&many, 0, 0, 40) && many_has(&many, 1, 0, 40));
	from = 40 - many.end[2].delivered;
	assert_in_range(from, 12, 14);
	assert_true(many_has(&many, 2, from, 40));
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 40);
	many_close(&many);
}

TEST(test_late_is_refused)
{
	many_prepare(&many, MANY_CHANNEL("late = refuse", "", ALL), 3, "delay 10ms", 1);
	assert_true(many_add(&many, 0) > 0);
	many_run(&many, NOPAL_SECOND);
	assert_true(many_add(&many, 1) > 0); /* nothing has left yet */
	many_run(&many, NOPAL_SECOND);
	many_send_some(&many, 1, 5000, 0);
	many_run(&many, NOPAL_SECOND);
	assert_true(many_add(&many, 2) > 0);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.end[2].ended, 1);
	assert_int_equal(many.end[2].end, NOPAL_REFUSED);
	assert_null(many.end[2].session);
	many_send_some(&many, 4, 5000, 0);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 5);
	assert_true(many_has(&many, 0, 0, 5) && many_has(&many, 1, 0, 5));
	assert_int_equal(many.end[2].delivered, 0);
	many_close(&many);
}

/* A message for one alone begins nothing. */
TEST(test_what_is_for_one_does_not_begin_the_group)
{
	many_prepare(&many, MANY_CHANNEL("late = refuse", "", ALL), 2, "delay 10ms", 1);
	assert_true(many_add(&many, 0) > 0);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many_send_bytes(&many, 5000, 1), 0);
	many_run(&many, NOPAL_SECOND);
	assert_true(many_add(&many, 1) > 0);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 2);
	many_close(&many);
}

/* -------------------------------------------------- to one alone, and back */

TEST(test_to_one_alone_and_back)
{
	begin(MANY_CHANNEL("", "", ALL), 3, "delay 10ms 3ms loss 5%");
	many.echo = true;
	many_watch(&many);
	for (uint32_t i = 0; i < 10; i++) {
		assert_int_equal(many_send_bytes(&many, 9000, 2), 0);
		many_run(&many, NOPAL_SECOND);
	}
	assert_int_equal(many.multicasts, 0);
	assert_true(many_has(&many, 1, 0, 10));
	assert_int_equal(many.end[0].delivered + many.end[2].delivered, 0);
	assert_int_equal(many.answers, 10);
	assert_int_equal(many.answer_from, 2);
	many_send_some(&many, 10, 9000, 0);
	many_run(&many, 10 * NOPAL_SECOND);
	assert_int_equal(many.answers, 40);
	assert_int_equal(many.answers_wrong, 0);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 20);
	assert_true(many_has(&many, 1, 0, 20));
	assert_true(many_has(&many, 0, 10, 20));
	many_close(&many);
}

static int send_urgent(size_t bytes)
{
	static char text[MANY_LONGEST];
	const struct nopal_property urgent = { nopal_property(many.plan, "urgent"), 1 };
	uint32_t number = many.sent++;

	many_write(number, text, bytes);
	many.length[number] = bytes;
	return nopal_send_message(many.group, &(struct nopal_outgoing){ .bytes = text,
									.length = bytes,
									.cookie = number,
									.properties = &urgent,
									.property_count = 1 });
}

/* The urgent message is for all destinations, and so takes its turn. */
TEST(test_an_urgent_message)
{
	begin(MANY_CHANNEL("", "", AT_A_RATE), 3, "delay 10ms loss 3%");
	many_send_some(&many, 10, 20000, 0);
	many_run(&many, 200 * NOPAL_MILLISECOND);
	assert_int_equal(send_urgent(5000), 0);
	many_run(&many, 20 * NOPAL_SECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 11);
	all_have(0, 11);
	many_close(&many);
}

/* A message that it has overtaken leaves later, and so is for one that joined meanwhile. */
TEST(test_an_urgent_message_and_one_that_is_late)
{
	uint32_t from;

	many_prepare(&many, MANY_CHANNEL("", "", AT_A_RATE), 2, "delay 10ms", 1);
	assert_true(many_add(&many, 0) > 0);
	many_run(&many, NOPAL_SECOND);
	many_send_some(&many, 10, 20000, 0);
	many_run(&many, 200 * NOPAL_MILLISECOND);
	assert_int_equal(send_urgent(5000), 0);
	many_run(&many, 200 * NOPAL_MILLISECOND);
	assert_true(many_add(&many, 1) > 0);
	many_run(&many, 20 * NOPAL_SECOND);
	assert_true(many_has(&many, 0, 0, 11));
	for (from = 0; from < 10 && !many.end[1].seen[from]; from++)
		continue;
	assert_in_range(from, 2, 4);
	for (; from < 10; from++)
		assert_int_equal(many.end[1].seen[from], 1);
	assert_int_equal(many.end[1].wrong + many.end[1].late, 0);
	many_close(&many);
}

/* ----------------------------------------------------------- two families */

static void check_family(bool cast6, uint32_t count)
{
	uint32_t hearing = cast6 ? count / 2 : (count + 1) / 2;
	const struct nopal_session *bottom;

	many_cast6 = cast6;
	many_family = MANY_MIXED;
	many_open(&many, MANY_CHANNEL("", "report = 1ms", ALL), count, "delay 1ms", 1);
	many_watch(&many);
	many_run(&many, 60 * NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), hearing);
	assert_int_equal(many.multicasts, hearing > 0); /* one probe */
	bottom = &nopal__bottom(nopal__composite(many.group))->session;
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(nopal_destination_at(bottom, i)->joined, many_is_v6(i) == cast6);
	many_watch(&many);
	many_send_some(&many, 10, 5000, 0);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.multicasts, hearing ? 40 : 0);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 10);
	all_have(0, 10);
	many_close(&many);
}

/* A destination of the other family is not asked whether it hears, and has copies; so have all,
 * where nobody is of the channel's. */
TEST(test_members_of_both_families)
{
	const enum many_family family = many_family;
	const bool cast6 = many_cast6;

	check_family(false, 5);
	check_family(true, 5);
	check_family(true, 2);
	check_family(true, 1);
	many_family = family;
	many_cast6 = cast6;
}

/* A destination that joins opens it for its family, whoever was there before. */
TEST(test_one_of_the_other_family_comes_later)
{
	const enum many_family family = many_family;
	uint32_t first = many_cast6 ? 0 : 1, then = 1 - first;

	many_family = MANY_MIXED;
	many_prepare(&many, MANY_CHANNEL("", "", ALL), 2, "delay 10ms", 1);
	assert_true(many_add(&many, first) > 0);
	many_run(&many, NOPAL_SECOND);
	many_send_some(&many, 5, 5000, 0);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 0);
	assert_true(many_add(&many, then) > 0);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 1);
	many_send_some(&many, 5, 5000, 0);
	many_run(&many, NOPAL_SECOND);
	assert_true(many_has(&many, first, 0, 10));
	assert_true(many_has(&many, then, 5, 10));
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 10);
	many_close(&many);
	many_family = family;
}

/* ------------------------------------------------------------------ the group */

static struct nopal_plan *plan_with(const char *group, struct nopal_problems *problems)
{
	char config[2048];

	snprintf(config, sizeof(config), MANY_CHANNEL("group = \"%s\"", "", ALL), group);
	return nopal_plan_parse(config, "many.conf", NULL, problems);
}

static void refused(const char *group, const char *cause, const char *fix)
{
	struct nopal_problems problems = { 0 };

	assert_null(plan_with(group, &problems));
	assert_int_equal(problems.errors, 1);
	assert_non_null(strstr(problems.entries[0].cause, "multicast.group"));
	assert_non_null(strstr(problems.entries[0].cause, cause));
	assert_non_null(strstr(problems.entries[0].fix, fix));
	nopal_problems_fini(&problems);
}

TEST(test_groups_that_are_none)
{
	static const char *const hosts[] = {
		"223.255.255.255:9",	     "240.0.0.0:9",	    "[fe80::1]:9",
		"[2001:db8::ffff:e100:1]:9", "[::ffff:10.0.0.1]:9",
	};

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		refused(hosts[i], "no multicast address", "ff00::/8");
	refused("[ff01::1]:9", "leaves no host", "ff02");
	refused("[ff10::1]:9", "leaves no host", "ff15");
	refused("[ff15::1]", "is not an address", "[ff15::1:2]:9000");
	refused("[ff02::1%nosuchdevice]:9", "no such interface", "%eth0");
}

static void agree(const char *one, const char *other, bool same)
{
	struct nopal_problems problems = { 0 };
	struct nopal_plan *a, *b;

	a = plan_with(one, &problems);
	b = plan_with(other, &problems);
	assert_true(a && b);
	assert_int_equal(strcmp(nopal_plan_info(a)->canonical, nopal_plan_info(b)->canonical) == 0,
			 same);
	nopal_problems_fini(&problems);
	nopal_plan_unref(a);
	nopal_plan_unref(b);
}

/* Both ends have the same address, however it is written, and each its interface. */
TEST(test_what_both_ends_must_have)
{
	agree("239.1.2.3:9", "239.1.2.3:9", true);
	agree("239.1.2.3:9", "[::ffff:239.1.2.3]:9", true);
	agree("239.1.2.3:9", "239.1.2.4:9", false);
	agree("[ff02::1]:9", "[ff02:0::0001]:9", true);
	agree("[ff02::1]:9", "[ff02::1%lo]:9", true);
	agree("[ff02::1]:9", "[ff12::1]:9", false);
	agree("[ff02::1]:9", "[ff02::1]:10", false);
	agree("[ff02::1]:9", "239.1.2.3:9", false);
}
