/* SPDX-License-Identifier: MIT */
/*
 * test_link.c -- the words of a link: all that are understood, and every mistake with its cause and
 * its fix.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/nopal.h>
#include <nopal/microprotocol.h>
#include "support/test.h"

static int parse(const char *text, struct nopal_link *forward, struct nopal_link *reverse)
{
	struct nopal_problems problems = { 0 };
	int error;

	error = nopal_link_parse(text, forward, reverse, &problems);
	assert_int_equal(error<0, problems.errors> 0);
	nopal_problems_fini(&problems);
	return error;
}

static struct nopal_link parsed(const char *text)
{
	struct nopal_link forward, reverse;

	assert_int_equal(parse(text, &forward, &reverse), 0);
	assert_memory_equal(&forward, &reverse, sizeof(forward));
	return forward;
}

TEST(empty_text_is_an_ideal_link)
{
	struct nopal_link link = parsed("");

	assert_int_equal(link.delay_ns, 0);
	assert_int_equal(link.rate_bps, 0);
	assert_int_equal(link.limit, 1000);
	assert_int_equal(link.mtu, 1500);
	assert_int_equal(link.loss_model, NOPAL_LOSS_NONE);
}

TEST(every_word_is_understood)
{
	struct nopal_link link = parsed("rate 2.5Mbit delay 25ms 2ms 12.5% distribution normal "
					"loss 5% duplicate 0.01% corrupt 1% reorder 25% gap 5 "
					"limit 400 mtu 9000 down 1s 1500ms ecn ce_threshold 3ms");

	assert_int_equal(link.rate_bps, 2500000);
	assert_true(link.ecn);
	assert_int_equal(link.ce_threshold_ns, 3 * NOPAL_MILLISECOND);
	assert_int_equal(link.delay_ns, 25 * NOPAL_MILLISECOND);
	assert_int_equal(link.jitter_ns, 2 * NOPAL_MILLISECOND);
	assert_int_equal(link.delay_correlation, 125000);
	assert_int_equal(link.distribution, NOPAL_NORMAL);
	assert_int_equal(link.loss_model, NOPAL_LOSS_RANDOM);
	assert_int_equal(link.loss, 50000);
	assert_int_equal(link.duplicate, 100);
	assert_int_equal(link.corrupt, 10000);
	assert_int_equal(link.reorder, 250000);
	assert_int_equal(link.gap, 5);
	assert_int_equal(link.limit, 400);
	assert_int_equal(link.mtu, 9000);
	assert_int_equal(link.down_from_ns, NOPAL_SECOND);
	assert_int_equal(link.down_until_ns, 1500 * NOPAL_MILLISECOND);
}

TEST(units_are_scaled)
{
	assert_int_equal(parsed("delay 7ns").delay_ns, 7);
	assert_int_equal(parsed("delay 0.25us").delay_ns, 250);
	assert_int_equal(parsed("delay 1.5MS").delay_ns, 1500000);
	assert_int_equal(parsed("delay 2s").delay_ns, 2 * NOPAL_SECOND);
	assert_int_equal(parsed("rate 1000bit").rate_bps, 1000);
	assert_int_equal(parsed("rate 64kbit").rate_bps, 64000);
	assert_int_equal(parsed("rate 10GBIT").rate_bps, 10000000000);
	assert_int_equal(parsed("loss 100%").loss, 1000000);
	assert_int_equal(parsed("loss random 0.0001%").loss, 1);
}

TEST(loss_models_have_netem_defaults)
{
	struct nopal_link link = parsed("loss gemodel 1%");

	assert_int_equal(link.loss_model, NOPAL_LOSS_GEMODEL);
	assert_int_equal(link.ge_p, 10000);
	assert_int_equal(link.ge_r, 990000);
	assert_int_equal(link.ge_bad_loss, 1000000);
	assert_int_equal(link.ge_good_loss, 0);
	link = parsed("loss gemodel 1% 10% 70% 0.1%");
	assert_int_equal(link.ge_r, 100000);
	assert_int_equal(link.ge_bad_loss, 700000);
	assert_int_equal(link.ge_good_loss, 1000);
}

TEST(masks_are_hex_or_bits)
{
	assert_int_equal(parsed("loss mask 0x5").loss_mask, 5);
	assert_int_equal(parsed("loss mask 1011").loss_mask, 0xd);
	assert_true(parsed("loss mask 0xffffffffffffffff").loss_mask == UINT64_MAX);
	assert_int_equal(parsed("loss mask 0xA").loss_model, NOPAL_LOSS_MASK);
}

TEST(directions_have_words_of_their_own)
{
	struct nopal_link forward, reverse;

	assert_int_equal(parse("rate 10mbit delay 5ms fwd: loss 1% rev:delay 20ms fwd: limit 3",
			       &forward, &reverse),
			 0);
	assert_int_equal(forward.rate_bps, 10000000);
	assert_int_equal(reverse.rate_bps, 10000000);
	assert_int_equal(forward.loss, 10000);
	assert_int_equal(reverse.loss, 0);
	assert_int_equal(forward.delay_ns, 5 * NOPAL_MILLISECOND);
	assert_int_equal(reverse.delay_ns, 20 * NOPAL_MILLISECOND);
	assert_int_equal(forward.limit, 3);
	assert_int_equal(reverse.limit, 1000);
}

/* A text that is refused, with a part of the cause and of the fix. */
struct refusal {
	const char *text, *cause, *fix;
};

static const struct refusal refusals[] = {
	{ "delay", "`delay` needs a time", "ms" },
	{ "delay loss 1%", "`delay` needs a time", "25ms" },
	{ "delay 20", "needs its unit", "ms" },
	{ "delay 20ms 5", "needs its unit", "ms" },
	{ "delay 20ms 5ms 10", "needs its unit", "%" },
	{ "delay 20parsec", "not a time", "ms" },
	{ "delay -5ms", "not a time", "ms" },
	{ "delay .ms", "not a time", "ms" },
	{ "delay 1.2.3ms", "not a time", "ms" },
	{ "delay 0.5ns", "finer than can be kept", "digits" },
	{ "delay 99999999999999999999s", "not a time", "ms" },
	{ "delay 9999999999s", "out of range", "1000000000000000ns" },
	{ "delay 20ms distribution", "is not a distribution", "uniform" },
	{ "delay 9ms 1ms distribution normall", "normall", "`normal`" },
	{ "distribution normal", "without jitter", "5ms" },
	{ "loss", "is not a kind of loss", "gemodel" },
	{ "loss 5", "needs its unit", "%" },
	{ "loss 101%", "out of range", "0% and 100%" },
	{ "loss 0.00001%", "finer than can be kept", "digits" },
	{ "loss gemodell 1%", "gemodell", "`gemodel`" },
	{ "loss gemodel", "needs a percentage", "%" },
	{ "loss mask", "not a mask", "0x5" },
	{ "loss mask 0x", "not a mask", "0x5" },
	{ "loss mask 0xg", "not a mask", "0x5" },
	{ "loss mask 0x11111111111111111", "not a mask", "64" },
	{ "loss mask 102", "not a mask", "101" },
	{ "duplicate", "needs a percentage", "%" },
	{ "corrupt 1", "needs its unit", "%" },
	{ "reorder 5%", "without delay", "delay" },
	{ "delay 5ms reorder 5% gap", "needs a count", "400" },
	{ "delay 5ms reorder 5% gap 0", "out of range", "1 and" },
	{ "rate 100", "needs its unit", "mbit" },
	{ "rate 100mbps", "not a rate", "mbit" },
	{ "rate 1bit", "out of range", "1000bit" },
	{ "limit 10ms", "not a count", "400" },
	{ "limit 0", "out of range", "1 and" },
	{ "mtu 20", "out of range", "68 and 65535" },
	{ "down 2s", "needs a time", "ms" },
	{ "ecn", "without loss", "loss 1%" },
	{ "ce_threshold 1ms", "without rate", "rate 10mbit" },
	{ "rate 1mbit ce_threshold", "needs a time", "ms" },
	{ "down 2s 1s", "ends before it begins", "earlier" },
	{ "dely 5ms", "`dely` is not a word of a link", "`delay`" },
	{ "5ms", "is not a word of a link", "delay" },
	{ "limit 5 limit 6", "given twice", "once" },
	{ "fwd: rat 1mbit", "`rat` is not a word", "`rate`" },
	{ "fwd: distribution pareto", "fwd: `distribution`", "5ms" },
};

TEST(mistakes_are_named_with_a_fix)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
		const struct refusal *refusal = &refusals[i];
		struct nopal_link forward = { .limit = 5 }, reverse;
		struct nopal_problems problems = { 0 };

		assert_int_equal(nopal_link_parse(refusal->text, &forward, &reverse, &problems),
				 -EINVAL);
		assert_int_equal(problems.count, 1);
		assert_int_equal(forward.limit, 5);
		if (!strstr(problems.entries[0].cause, refusal->cause) ||
		    !strstr(problems.entries[0].fix, refusal->fix))
			fail_msg("%s: %s (%s)", refusal->text, problems.entries[0].cause,
				 problems.entries[0].fix);
		nopal_problems_fini(&problems);
	}
}

TEST(all_mistakes_are_named_at_once)
{
	struct nopal_link forward, reverse;
	struct nopal_problems problems = { 0 };

	nopal_link_parse("rate 5 delay 7 8 foo 5 6 bar loss 2", &forward, &reverse, &problems);
	assert_int_equal(problems.count, 5);
	nopal_problems_fini(&problems);
}
