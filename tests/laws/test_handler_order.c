/* SPDX-License-Identifier: MIT */
/*
 * Order independence: whatever order handlers have where none is declared, the deliveries are the
 * same.
 */
#include <stdio.h>

#include "compose/compose.h"
#include "support/oracle.h"
#include "support/test.h"

enum { ORDERS = 24, MESSAGES = 60 };

static const struct {
	const char *config, *link;
} cases[] = {
	{ "ctp_minimal", "delay 10ms" },	   { "ctp_lossy_fifo", "delay 10ms" },
	{ "ctp_video", "rate 50mbit delay 10ms" }, { "ctp_audio", "rate 50mbit delay 10ms" },
	{ "ctp_bulk", "delay 10ms loss 5%" },	   { "bulk", "rate 20mbit delay 10ms loss 5%" },
};

static uint64_t deliveries(const char *config, const char *link, uint64_t order)
{
	static struct oracle oracle;
	const struct oracle_run run = {
		.config = config,
		.weather = link,
		.seed = 7,
		.messages = MESSAGES,
		.strict = true,
	};

	nopal__order_seed = order;
	if (!oracle_run(&oracle, &run))
		fail_msg("%s, order %llu: %s", config, (unsigned long long)order, oracle.violation);
	nopal__order_seed = 0;
	assert_true(oracle.side[1].delivered > 0);
	return oracle.side[1].hash;
}

TEST(test_undeclared_orders_do_not_matter)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t expected = deliveries(cases[i].config, cases[i].link, 0);

		for (uint64_t order = 1; order <= ORDERS; order++)
			assert_true(deliveries(cases[i].config, cases[i].link, order) == expected);
	}
}
