/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "rig.h"

#define BASE "transport_driver {}\nfixed_size {}\nrate_cc {}\na_tap {}\n"

/* Bytes that arrive within a second of sends as fast as may be. */
static uint64_t in_a_second(const char *config)
{
	struct rig rig;
	uint64_t delivered;

	rig_open(&rig, config, &(struct rig_options){ .link = "limit 100000" });
	for (int i = 0; i < 1000; i++)
		rig_send_bytes(&rig, 1000);
	rig_run(&rig, NOPAL_SECOND);
	delivered = rig.acceptor.delivered_bytes;
	rig_close(&rig);
	return delivered;
}

static void test_the_rate_is_kept(void **state)
{
	(void)state;
	/* a second's worth, and what goes at once at first */
	assert_in_range(in_a_second(BASE "constant_rate { rate = 800kbit }\n"), 100000,
			100000 + 2 * 4 * 1500);
	assert_in_range(in_a_second(BASE "constant_rate { rate = 4Mbit }\n"), 500000,
			500000 + 2 * 4 * 1500);
}

static void test_zero_is_no_limit(void **state)
{
	(void)state;
	assert_int_equal(in_a_second(BASE "constant_rate {}\n"), 1000000);
}

static void test_it_needs_who_keeps_to_it(void **state)
{
	char text[1024];

	(void)state;
	assert_true(rig_refused("transport_driver {}\nfixed_size {}\n"
				"constant_rate {}\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "rate_mechanism"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_rate_is_kept),
		cmocka_unit_test(test_zero_is_no_limit),
		cmocka_unit_test(test_it_needs_who_keeps_to_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
