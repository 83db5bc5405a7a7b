/* SPDX-License-Identifier: MIT */
/*
 * losses.h -- what finds losses by the acks of what left later: on a path of 10 ms that loses
 * chosen datagrams of the opener, and tapped by `a_tap`.
 *
 *     lose_after(1, &rig, config, "0x10", 20);
 *     rig_run(&rig, 100 * NOPAL_MILLISECOND);
 *     assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 1);
 *     rig_close(&rig);
 *
 * `before` is how many messages cross before any is lost.
 */
#ifndef NOPAL_TEST_LOSSES_H
#define NOPAL_TEST_LOSSES_H

#include <stdio.h>

#include "support/rig.h"
#include "support/test.h"

static inline void open_after(unsigned before, struct rig *rig, const char *config)
{
	rig_open(rig, config, &(struct rig_options){ .link = "delay 10ms" });
	for (unsigned i = 0; i < before; i++)
		rig_send(rig, "x");
	rig_run(rig, NOPAL_SECOND);
	assert_int_equal(rig->acceptor.delivered, before);
}

/* Sends `count` at once and loses those of the mask. */
static inline void lose_after(unsigned before, struct rig *rig, const char *config,
			      const char *mask, unsigned count)
{
	char words[64];

	open_after(before, rig, config);
	snprintf(words, sizeof(words), "delay 10ms loss mask %s", mask);
	rig_change(rig, words);
	for (unsigned i = 0; i < count; i++)
		rig_send(rig, "x");
}

/* Ten that leave on a path that loses all. */
static inline void lose_ten(struct rig *rig, const char *config)
{
	rig_open(rig, config, &(struct rig_options){ .link = "delay 10ms loss 100%" });
	for (int i = 0; i < 10; i++)
		rig_send(rig, "x");
}

static inline void check_recovery(unsigned before, const char *config, const char *mask,
				  uint32_t losses)
{
	struct rig rig;

	lose_after(before, &rig, config, mask, 20);
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), losses);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_TIMEOUT), 0);
	assert_int_equal(rig.acceptor.delivered, before + 20);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], before + 20);
	rig_close(&rig);
}

/* Losses are found and mended without a timeout, by acks of either kind. */
static inline void check_recoveries(unsigned before, const char *cumulative, const char *selective)
{
	check_recovery(before, cumulative, "0x1", 1);
	check_recovery(before, cumulative, "0x10", 1);
	check_recovery(before, selective, "0x1", 1);
	check_recovery(before, selective, "0x5555", 8);
	check_recovery(before, selective, "0xffff", 16);
}

/* Where nobody resends, a loss is missing. */
static inline void check_missing(unsigned before, const char *config)
{
	struct rig rig;

	lose_after(before, &rig, config, "0x5", 20);
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 2);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 2);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], before + 18);
	assert_int_equal(rig_awake(rig.opener.session)->segments.alive, 0);
	rig_close(&rig);
}

#endif
