/* SPDX-License-Identifier: MIT */
/*
 * units.c: quantities as people write them, and what is refused.
 */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "support/test.h"

static int64_t value_of(const char *text, int unit)
{
	struct nopal_problems problems = { 0 };
	int64_t value = -1;

	assert_int_equal(nopal_quantity_parse(text, unit, "key", &value, &problems), 0);
	assert_int_equal(problems.count, 0);
	return value;
}

/* Refused, with these words in cause and fix, and the value untouched. */
static void refuses(const char *text, int unit, const char *cause, const char *fix)
{
	struct nopal_problems problems = { 0 };
	int64_t value = 77;

	assert_true(nopal_quantity_parse(text, unit, "key", &value, &problems) < 0);
	assert_int_equal(value, 77);
	assert_int_equal(problems.errors, 1);
	assert_non_null(strstr(problems.entries[0].cause, "key"));
	assert_non_null(strstr(problems.entries[0].cause, cause));
	assert_non_null(strstr(problems.entries[0].fix, fix));
	nopal_problems_fini(&problems);
}

TEST(test_times)
{
	assert_int_equal(value_of("25ms", NOPAL_TIME), 25 * NOPAL_MILLISECOND);
	assert_int_equal(value_of("0ns", NOPAL_TIME), 0);
	assert_int_equal(value_of("1us", NOPAL_TIME), NOPAL_MICROSECOND);
	assert_int_equal(value_of("1.5s", NOPAL_TIME), 1500 * NOPAL_MILLISECOND);
	assert_int_equal(value_of("2min", NOPAL_TIME), 120 * NOPAL_SECOND);
	assert_int_equal(value_of("1h", NOPAL_TIME), 3600 * NOPAL_SECOND);
	assert_int_equal(value_of("10 ms", NOPAL_TIME), 10 * NOPAL_MILLISECOND);
}

TEST(test_sizes_rates_shares)
{
	assert_int_equal(value_of("1500B", NOPAL_SIZE), 1500);
	assert_int_equal(value_of("4kB", NOPAL_SIZE), 4000);
	assert_int_equal(value_of("4KiB", NOPAL_SIZE), 4096);
	assert_int_equal(value_of("3MB", NOPAL_SIZE), 3000000);
	assert_int_equal(value_of("4MiB", NOPAL_SIZE), 4 << 20);
	assert_int_equal(value_of("2GB", NOPAL_SIZE), INT64_C(2000000000));
	assert_int_equal(value_of("1GiB", NOPAL_SIZE), 1 << 30);
	assert_int_equal(value_of("20Mbit", NOPAL_RATE), 20000000);
	assert_int_equal(value_of("20mbit", NOPAL_RATE), 20000000);
	assert_int_equal(value_of("9bit", NOPAL_RATE), 9);
	assert_int_equal(value_of("1Gbit", NOPAL_RATE), 1000000000);
	assert_int_equal(value_of("5%", NOPAL_PERCENT), 50000);
	assert_int_equal(value_of("0.0001%", NOPAL_PERCENT), 1);
}

TEST(test_bare_ones)
{
	assert_int_equal(value_of("12", NOPAL_COUNT), 12);
	assert_int_equal(value_of("-3", NOPAL_COUNT), -3);
	assert_int_equal(value_of("on", NOPAL_SWITCH), 1);
	assert_int_equal(value_of("off", NOPAL_SWITCH), 0);
}

TEST(test_a_bare_number_where_a_unit_is_due)
{
	refuses("25", NOPAL_TIME, "bare number", "like 25ms");
	refuses("0", NOPAL_TIME, "bare number", "ns us ms s min h");
	refuses("1500", NOPAL_SIZE, "bare number", "seg");
	refuses("10", NOPAL_RATE, "bare number", "Mbit");
	refuses("5", NOPAL_PERCENT, "bare number", "%");
}

TEST(test_wrong_units)
{
	refuses("10ms", NOPAL_SIZE, "is a time where a size is due", "1500B");
	refuses("10mb", NOPAL_SIZE, "no unit `mb`", "MB");
	refuses("10MS", NOPAL_TIME, "no unit `MS`", "ms");
	refuses("12ms", NOPAL_COUNT, "a time where a number is due", "without a unit");
	refuses("12x", NOPAL_COUNT, "no unit `x`", "without a unit");
	refuses("1sec", NOPAL_TIME, "no unit `sec`", "s");
}

TEST(test_no_numbers)
{
	refuses("", NOPAL_TIME, "is not a time", "25ms");
	refuses("ms", NOPAL_TIME, "is not a time", "25ms");
	refuses("-5ms", NOPAL_TIME, "is not a time", "25ms");
	refuses("1.ms", NOPAL_TIME, "is not a time", "25ms");
	refuses("nan", NOPAL_COUNT, "is not a number", "12");
	refuses("99999999999999999999", NOPAL_COUNT, "is not a number", "12");
	refuses("0x10", NOPAL_COUNT, "no unit `x10`", "12");
	refuses("1.0000000000001s", NOPAL_TIME, "is not a time", "25ms");
}

TEST(test_inexact_and_too_large)
{
	refuses("0.5ns", NOPAL_TIME, "not a whole number", "smaller unit");
	refuses("1.5", NOPAL_COUNT, "not a whole number", "whole");
	refuses("9223372036854775807h", NOPAL_TIME, "63 bits", "smaller");
	assert_int_equal(value_of("9223372036854775807", NOPAL_COUNT), INT64_MAX);
}

TEST(test_switches_and_units_unknown)
{
	int64_t value;

	refuses("yes", NOPAL_SWITCH, "not one of off|on", "off on");
	refuses("onn", NOPAL_SWITCH, "not one of", "did you mean `on`");
	assert_true(nopal_quantity_parse("1", 99, "key", &value, NULL) < 0);
	assert_true(nopal_quantity_parse("1", -1, "key", &value, NULL) < 0);
}

TEST(test_segments)
{
	struct nopal_problems problems = { 0 };
	struct nopal_quantity quantity;

	refuses("10seg", NOPAL_SIZE, "only a microprotocol's section", "bytes");
	assert_true(nopal__quantity_read("10seg", NOPAL_SIZE, NULL, "key", &quantity, &problems));
	assert_true(quantity.in_segments);
	assert_int_equal(quantity.value, 10);
	assert_false(nopal__quantity_read("1.5seg", NOPAL_SIZE, NULL, "key", &quantity, &problems));
	nopal_problems_fini(&problems);
}

/* As it is written back. */
static const char *address_of(const char *text, struct nopal_address *ret_address)
{
	static char back[NOPAL_ADDRESS_TEXT];
	struct nopal_quantity quantity;
	struct nopal_problems problems = { 0 };

	assert_true(nopal__quantity_read(text, NOPAL_ADDRESS, NULL, "key", &quantity, &problems));
	assert_int_equal(problems.count, 0);
	*ret_address = quantity.address;
	return nopal_address_format(&quantity.address, back);
}

static void refuses_address(const char *text)
{
	const struct nopal_address before = { .port = 77 };
	struct nopal_quantity quantity = { .address = before };
	struct nopal_problems problems = { 0 };

	assert_false(nopal__quantity_read(text, NOPAL_ADDRESS, NULL, "key", &quantity, &problems));
	assert_true(nopal_address_equal(&quantity.address, &before));
	assert_int_equal(problems.errors, 1);
	assert_non_null(strstr(problems.entries[0].cause, "key"));
	assert_non_null(strstr(problems.entries[0].cause, "is not an address: "));
	assert_non_null(strstr(problems.entries[0].fix, "239.1.2.3:9000"));
	assert_non_null(strstr(problems.entries[0].fix, "[ff15::1:2]:9000"));
	nopal_problems_fini(&problems);
}

TEST(test_addresses_that_are_none)
{
	static const char *const bad[] = {
		"",
		"239.1.2.3",
		":9000",
		"239.1.2:9000",
		"239.1.2.3.4:9",
		"239.1.2.256:9000",
		"239.1.2.3:65536",
		"239.1.2.3:",
		"239.1.2.3:0",
		"239.1.2.3:9000x",
		"239.1.2.3: 9000",
		"239..2.3:9000",
		"239.1.2.-3:9000",
		"a.b.c.d:9000",
		"localhost:9000",
		"239.1.2.3%lo:9000",
		"[239.1.2.3]:9000",
		"1.2.3.4294967297:9",
		"1.2.3.99999999999999999999:9",
		"ff15::1:9000",
		"[ff15::1]",
		"[ff15::1]:",
		"[ff15::1]:0",
		"[ff15::1]9000",
		"[ff15::1:9000",
		"ff15::1]:9000",
		"[]:9000",
		"[%lo]:9000",
		"[ff15::1]]:9000",
		"[[ff15::1]:9000",
		"[ff15::g]:9000",
		"[ff15::1::2]:9000",
		"[1:2:3:4:5:6:7:8:9]:9000",
		"[ff15::1 ]:9000",
		"[ff02::1%]:9000",
		"[ff02::1%nosuchdevice]:9000",
		"[ff02::1%0]:9000",
		"[ff02::1%65536]:9000",
		"[ff02::1%lo%lo]:9000",
	};
	char longest[1000];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refuses_address(bad[i]);
	memset(longest, '1', sizeof(longest));
	memcpy(longest + sizeof(longest) - sizeof(":9000"), ":9000", sizeof(":9000"));
	refuses_address(longest);
	longest[0] = '[';
	refuses_address(longest);
}

TEST(test_addresses)
{
	struct nopal_address address;

	assert_string_equal(address_of("239.1.2.3:9000", &address), "239.1.2.3:9000");
	assert_true(nopal_address_is_v4(&address));
	assert_true(nopal_address_is_multicast(&address));
	assert_string_equal(address_of("0.0.0.0:1", &address), "0.0.0.0:1");
	assert_false(nopal_address_is_multicast(&address));
	assert_string_equal(address_of("255.255.255.255:65535", &address), "255.255.255.255:65535");
	assert_false(nopal_address_is_multicast(&address));
	assert_string_equal(address_of("[ff15:0::0042:0001]:9010", &address), "[ff15::42:1]:9010");
	assert_false(nopal_address_is_v4(&address));
	assert_true(nopal_address_is_multicast(&address));
	assert_int_equal(address.interface, 0);
	assert_string_equal(address_of("[2001:db8::ff:e000:1]:9", &address),
			    "[2001:db8::ff:e000:1]:9");
	assert_false(nopal_address_is_multicast(&address));
}

/* A mapped address is of IPv4, however it is written. */
TEST(test_an_address_that_is_mapped)
{
	struct nopal_address address;

	assert_string_equal(address_of("[::ffff:239.1.2.3]:9000", &address), "239.1.2.3:9000");
	assert_true(nopal_address_is_v4(&address));
	assert_true(nopal_address_is_multicast(&address));
}

/* An interface by its name is the one of that index, and is written by that. */
TEST(test_an_address_at_an_interface)
{
	struct nopal_address named, back, other;

	address_of("[ff02::42%lo]:9000", &named);
	assert_true(named.interface > 0);
	address_of(address_of("[ff02::42%lo]:9000", &named), &back);
	assert_true(nopal_address_equal(&named, &back));
	address_of("[ff02::42]:9000", &other);
	assert_false(nopal_address_equal(&named, &other));
}

TEST(test_words)
{
	struct nopal_problems problems = { 0 };
	struct nopal_quantity quantity;

	assert_true(nopal__quantity_read("newreno", NOPAL_WORD, "reno|newreno|tahoe", "variant",
					 &quantity, &problems));
	assert_int_equal(quantity.value, 1);
	assert_false(nopal__quantity_read("tahoo", NOPAL_WORD, "reno|newreno|tahoe", "variant",
					  &quantity, &problems));
	assert_string_equal(problems.entries[0].fix, "did you mean `tahoe`?");
	assert_false(nopal__quantity_read("", NOPAL_WORD, "reno|tahoe", "variant", &quantity,
					  &problems));
	nopal_problems_fini(&problems);
}

static void writes(int64_t value, bool segments, enum nopal_unit unit, const char *choices,
		   const char *expected)
{
	struct nopal_quantity quantity = { .value = value, .in_segments = segments };
	struct nopal_arena arena = { 0 };

	assert_string_equal(nopal__quantity_text(&arena, quantity, unit, choices), expected);
	nopal__arena_release(&arena);
}

TEST(test_writing)
{
	writes(25 * NOPAL_MILLISECOND, false, NOPAL_TIME, NULL, "25ms");
	writes(90 * NOPAL_SECOND, false, NOPAL_TIME, NULL, "90s");
	writes(7200 * NOPAL_SECOND, false, NOPAL_TIME, NULL, "2h");
	writes(0, false, NOPAL_TIME, NULL, "0ns");
	writes(1500, false, NOPAL_SIZE, NULL, "1500B");
	writes(4 << 20, false, NOPAL_SIZE, NULL, "4MiB");
	writes(3000000, false, NOPAL_SIZE, NULL, "3MB");
	writes(10, true, NOPAL_SIZE, NULL, "10seg");
	writes(10000000, false, NOPAL_RATE, NULL, "10Mbit");
	writes(50000, false, NOPAL_PERCENT, NULL, "5%");
	writes(2500, false, NOPAL_PERCENT, NULL, "0.25%");
	writes(1, false, NOPAL_SWITCH, NULL, "on");
	writes(2, false, NOPAL_WORD, "a|b|c", "c");
	writes(-4, false, NOPAL_COUNT, NULL, "-4");
}

static bool outside(const char *text, enum nopal_unit unit, const char *min, const char *max)
{
	struct nopal_problems problems = { 0 };
	struct nopal_quantity quantity;
	bool out;

	assert_true(nopal__quantity_read(text, unit, NULL, "key", &quantity, &problems));
	out = nopal__quantity_outside(quantity, unit, min, max, "key", &problems);
	assert_int_equal(problems.errors, out);
	nopal_problems_fini(&problems);
	return out;
}

TEST(test_ranges)
{
	assert_false(outside("1", NOPAL_COUNT, "1", "9"));
	assert_false(outside("9", NOPAL_COUNT, "1", "9"));
	assert_true(outside("0", NOPAL_COUNT, "1", "9"));
	assert_true(outside("10", NOPAL_COUNT, "1", "9"));
	assert_true(outside("10", NOPAL_COUNT, NULL, "9"));
	assert_true(outside("0", NOPAL_COUNT, "1", NULL));
	assert_false(outside("0", NOPAL_COUNT, NULL, NULL));
	assert_true(outside("1ms", NOPAL_TIME, "2ms", "1s"));
	assert_true(outside("2000seg", NOPAL_SIZE, "1seg", "1000seg"));
	assert_false(outside("2000seg", NOPAL_SIZE, "1B", "1000B"));
	assert_false(outside("224.0.0.0:1", NOPAL_ADDRESS, "224.0.0.0:1", "239.255.255.255:65535"));
	assert_true(outside("223.255.255.255:9000", NOPAL_ADDRESS, "224.0.0.0:1",
			    "239.255.255.255:65535"));
	assert_true(outside("240.0.0.0:1", NOPAL_ADDRESS, "224.0.0.0:1", "239.255.255.255:65535"));
	assert_true(outside("239.1.2.3:65535", NOPAL_ADDRESS, "224.0.0.0:1", "239.1.2.3:65534"));
	assert_false(outside("[ff15::1]:1", NOPAL_ADDRESS, "[ff00::]:1", "[ff15::1]:1"));
	assert_true(outside("[ff15::2]:1", NOPAL_ADDRESS, "[ff00::]:1", "[ff15::1]:1"));
}
