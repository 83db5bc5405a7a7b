/* SPDX-License-Identifier: MIT */
/*
 * Erasure codes and compression in an upper layer and in a lower one, alone and together: each
 * composition keeps what it promises over bad networks, and each part does its work where it is.
 */
#include <stdio.h>

#include "../microprotocols/compression/codec.h"
#include "aead_crypto.h"
#include "engine/composite.h"
#include "support/oracle.h"
#include "support/own_rig.h"
#include "support/suite.h"
#include "support/test.h"

#define UPPER "layer \"upper\" {\n transport_driver {} "
#define LOWER "\n}\nlayer \"lower\" {\n transport_driver {} virtual_circuit {} "
#define EACH                                                                                       \
	"\n}\nlayer \"lower\" {\n multiplicity = per_destination\n"                                \
	" transport_driver {} virtual_circuit {} "
#define STREAM "layer \"stream\" {\n multiplicity = per_stream\n transport_driver {} stream_end {} "
#define END    " checksum {} }\n"
#define ARQ                                                                                        \
	"sequenced_segments {} positive_ack { selective = on } retransmission_timer {} "           \
	"duplicate_ack {} rtt_estimation { timeout_min = 20ms } retransmit {} "
#define CUT    "resize { mtu = 1300B } "
#define WHOLE  "whole_messages {} "
#define CODES  "forward_error_correction { k = 4  n = 6  code = cauchy } "
#define SHORT  "compression {} "
#define ORDER  "reliable_fifo {} "
#define NUMBER "sequenced_segments {} "

static const struct {
	const char *text;
	bool codes_above, codes_below, shortens;
} composed[] = {
	/* codes beside resends, above a layer that loses; below resends; beside them, below; twice */
	{ UPPER CUT ARQ CODES ORDER LOWER "fixed_size {} " END, true, false, false },
	{ UPPER CUT ARQ ORDER LOWER "fixed_size {} " NUMBER CODES END, false, true, false },
	{ UPPER WHOLE LOWER "resize {} " ARQ CODES ORDER END, false, true, false },
	{ UPPER CUT ARQ CODES ORDER LOWER "fixed_size {} " NUMBER CODES END, true, true, false },
	/* without resends */
	{ UPPER CUT NUMBER CODES "lossy_fifo {} " LOWER "fixed_size {} " END, true, false, false },
	{ UPPER CUT NUMBER "lossy_fifo {} " LOWER "fixed_size {} " NUMBER CODES END, false, true,
	  false },
	/* compression where messages are whole, or cut; above resends, and below them */
	{ UPPER WHOLE SHORT LOWER "resize {} " ARQ ORDER END, false, false, true },
	{ UPPER CUT ARQ SHORT ORDER LOWER "fixed_size {} " END, false, false, true },
	{ UPPER WHOLE LOWER "resize {} " ARQ SHORT ORDER END, false, false, true },
	{ UPPER CUT ARQ ORDER LOWER "fixed_size {} " SHORT END, false, false, true },
	/* both in one layer, and in two */
	{ UPPER CUT ARQ SHORT CODES ORDER LOWER "fixed_size {} " END, true, false, true },
	{ UPPER WHOLE LOWER "resize {} " ARQ SHORT CODES ORDER END, false, true, true },
	{ UPPER CUT ARQ SHORT ORDER LOWER "fixed_size {} " NUMBER CODES END, false, true, true },
	{ UPPER CUT ARQ CODES ORDER LOWER "fixed_size {} " SHORT END, true, false, true },
	/* one to many: once for all, and for each */
	{ UPPER WHOLE SHORT "fan_out {} " EACH "resize {} " ARQ CODES ORDER END, false, true,
	  true },
	{ UPPER WHOLE "fan_out {} " EACH "resize {} " ARQ SHORT CODES ORDER END, false, true,
	  true },
	/* many streams on a flow */
	{ STREAM CUT NUMBER SHORT ORDER "windowed_flow {} round_robin {} " LOWER
					"fixed_size {} " ARQ CODES END,
	  false, true, true },
};
enum { COMPOSED = sizeof(composed) / sizeof(*composed), WEATHERS = 3, SEEDS = 3, MESSAGES = 60 };

static bool is_built(size_t i)
{
	return nopal__codec_zstd.built || !strstr(composed[i].text, SHORT);
}

/* ---------------------------------------------------------------------- promises */

TEST(test_each_place_keeps_what_is_promised)
{
	static const char *const weathers[WEATHERS] = {
		"delay 10ms 5ms loss 5% duplicate 2% reorder 2%",
		"rate 2mbit delay 20ms loss 1% corrupt 1%",
		"delay 10ms loss gemodel 2% 30%; 3000ms: delay 10ms",
	};
	static struct oracle oracle;
	unsigned violations = 0;

	for (size_t i = 0; i < COMPOSED * WEATHERS * SEEDS; i++) {
		struct oracle_run run = {
			.config = composed[i % COMPOSED].text,
			.weather = weathers[i / COMPOSED % WEATHERS],
			.pairs = 2,
			.seed = 1 + i / COMPOSED / WEATHERS,
			.messages = MESSAGES,
		};

		if (!is_built(i % COMPOSED) || oracle_run(&oracle, &run))
			continue;
		violations++;
		printf("%s over %s, seed %llu: %s\n", run.config, run.weather,
		       (unsigned long long)run.seed, oracle.violation);
	}
	assert_int_equal(violations, 0);
}

/* ------------------------------------------------------------------------- effects */

enum { LENGTH = 900, SENT = 200 };

static uint64_t rebuilt(const struct nopal_composite *composite)
{
	return composite->awake ? composite->awake->counters.segments_rebuilt : 0;
}

/* All in runs of equal bytes, one a millisecond. */
static void talk(const char *text)
{
	char bytes[LENGTH + 1];

	rig_open(&rig, text, &(struct rig_options){ .link = "delay 10ms", .seed = 3 });
	rig_run(&rig, NOPAL_SECOND);
	rig_change(&rig, "delay 10ms loss 5%");
	for (unsigned i = 0; i < SENT; i++) {
		memset(bytes, 'a' + (int)(i % 26), LENGTH);
		bytes[LENGTH] = '\0';
		rig_send(&rig, bytes);
		rig_run(&rig, NOPAL_MILLISECOND);
	}
	rig_run(&rig, 200 * NOPAL_MILLISECOND);
}

TEST(test_each_part_works_where_it_is)
{
	for (size_t i = 0; i < COMPOSED; i++) {
		const struct nopal_composite *top;
		uint64_t bytes;

		if (!is_built(i))
			continue;
		talk(composed[i].text);
		assert_non_null(rig.acceptor.session);
		top = nopal__composite(rig.acceptor.session);
		bytes = nopal_session_counters(rig.opener.session)->datagram_bytes_out;
		assert_int_equal(rebuilt(top) > 0, composed[i].codes_above);
		assert_int_equal(rebuilt(top->below) > 0, composed[i].codes_below);
		assert_int_equal(bytes < SENT * LENGTH / 2, composed[i].shortens);
		rig_close(&rig);
	}
}

/* ------------------------------------------------------------------------- secrets */

/* Bytes that a layer below seals are as secret as those that one's own layer seals. */
TEST(test_compression_above_a_secret_is_refused)
{
	static const char text[] = UPPER WHOLE "%s" LOWER "resize {} " ARQ ORDER "aead {}\n}\n";
	static const char *const sections[] = { "compression {}",
						"compression { single_secret = on }" };
	char config[1024];

	if (!nopal__codec_zstd.built || !nopal__aead_found())
		skip();
	for (unsigned i = 0; i < 2; i++) {
		struct nopal_problems problems = { 0 };
		struct nopal_plan *plan;

		snprintf(config, sizeof(config), text, sections[i]);
		plan = nopal_plan_parse(config, "secret.conf", NULL, &problems);
		assert_int_equal(plan != NULL, i == 1);
		if (!plan)
			assert_non_null(strstr(problems.entries[0].cause, "tells of its secrets"));
		nopal_problems_fini(&problems);
		nopal_plan_unref(plan);
	}
}
