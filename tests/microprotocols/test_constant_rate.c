/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "support/rig.h"
#include "support/test.h"

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

TEST(test_the_rate_is_kept)
{
	/* a second's worth, and what goes at once at first */
	assert_in_range(in_a_second(BASE "constant_rate { rate = 800kbit }\n"), 100000,
			100000 + 2 * 4 * 1500);
	assert_in_range(in_a_second(BASE "constant_rate { rate = 4Mbit }\n"), 500000,
			500000 + 2 * 4 * 1500);
}

TEST(test_zero_is_no_limit)
{
	assert_int_equal(in_a_second(BASE "constant_rate {}\n"), 1000000);
}

TEST(test_it_needs_who_keeps_to_it)
{
	char text[1024];

	assert_true(rig_refused("transport_driver {}\nfixed_size {}\n"
				"constant_rate {}\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "rate_mechanism"));
}
