/* SPDX-License-Identifier: MIT */
/* promise.c, promise_check.c: how rows combine, and what is refused or warned of. */
#include <stdlib.h>
#include <string.h>

#include "compose/compose.h"
#include "plan/plan.h"
#include "support/compose_rig.h"
#include "support/test.h"

struct f_parameters {
	int64_t on, delay_ns;
};
#define F_PARAMETERS                                                                               \
	.parameters_size = sizeof(struct f_parameters),                                            \
	.parameters = (const struct nopal_parameter[])                                             \
	{                                                                                          \
		{ .name = "on",                                                                    \
		  .unit = NOPAL_SWITCH,                                                            \
		  .offset = offsetof(struct f_parameters, on),                                     \
		  .initial = "off",                                                                \
		  .doc = "" },                                                                     \
			{ .name = "delay",                                                         \
			  .unit = NOPAL_TIME,                                                      \
			  .offset = offsetof(struct f_parameters, delay_ns),                       \
			  .initial = "50ms",                                                       \
			  .doc = "" },                                                             \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

FAKE(f_all, .provides = FAKE_ROLES({ "f_resends", false }),
     .promises = NOPAL_PROMISES({ NOPAL_DELIVERY, NOPAL_RECOVERY, NOPAL_GIVES, NOPAL_ALL,
				  .because = "resends" }));
FAKE(f_waits, .promises = NOPAL_PROMISES({ NOPAL_ORDER, NOPAL_ORDERING, NOPAL_GIVES, NOPAL_AS_SENT,
					   .because = "waits" },
					 { NOPAL_PROGRESS, NOPAL_ORDERING, NOPAL_LOWERS, 0,
					   .unless = NOPAL_DELIVERY, .unless_has = NOPAL_ALL,
					   .without = "f_skips", .because = "waits for ever" }));
FAKE(f_skips,
     .promises = NOPAL_PROMISES({ NOPAL_DELIVERY, NOPAL_GIVING_UP, NOPAL_LOWERS, NOPAL_IN_TIME,
				  .of = "f_due|f_old", .because = "skips" }));
FAKE(f_drops, F_PARAMETERS,
     .promises = NOPAL_PROMISES({ NOPAL_DELIVERY, NOPAL_TIMING, NOPAL_LOWERS, NOPAL_IN_TIME,
				  .when = "on", .bound = "delay", .because = "drops" },
				{ NOPAL_LATENESS, NOPAL_TIMING, NOPAL_GIVES, NOPAL_LATE_DROPPED,
				  .bound = "delay", .because = "drops" }));
FAKE(f_repairs, F_PARAMETERS,
     .promises = NOPAL_PROMISES({ NOPAL_DELIVERY, NOPAL_RECOVERY, NOPAL_GIVES, NOPAL_REPAIRED,
				  .bound = "delay", .when = "!on", .because = "repairs" }));
FAKE(f_shuffles, .promises = NOPAL_PROMISES({ NOPAL_ORDER, NOPAL_SENDING, NOPAL_LOWERS, 0,
					      .with = "f_resends", .because = "shuffles" }));
FAKE(f_shares, .promises = NOPAL_PROMISES({ NOPAL_LABELS, NOPAL_REASSEMBLY, NOPAL_LOWERS, 0,
					    .because = "shares" }));
FAKE(f_number,
     .attributes = FAKE_ATTRIBUTES({ .name = "f_no", .access = NOPAL_WRITE, .wire_bytes = 4 }));
FAKE(f_tires, .promises = NOPAL_PROMISES({ NOPAL_DELIVERY, NOPAL_REASSEMBLY, NOPAL_LOWERS,
					   NOPAL_IN_TIME, .without = "f_resends",
					   .amid_partial = true, .because = "tires" }));
FAKE(f_wants, .promises = NOPAL_PROMISES({ NOPAL_DELIVERY, NOPAL_ORDERING, NOPAL_REQUIRES,
					   NOPAL_ALL, .because = "wants all" }));
FAKE(f_shuns, .promises = NOPAL_PROMISES({ NOPAL_DELIVERY, NOPAL_ORDERING, NOPAL_FORBIDS, NOPAL_ALL,
					   .because = "shuns all" }));
FAKE(f_calm, .promises = NOPAL_PROMISES(NOPAL_CONGESTION_CONTROLLED, NOPAL_FLOW_CONTROLLED));

static const struct nopal_microprotocol *const fakes[] = {
	&f_all,	   &f_waits, &f_skips, &f_drops, &f_repairs, &f_shuffles, &f_shares,
	&f_number, &f_wants, &f_calm,  &f_tires, &f_shuns,   NULL,
};

static int add_fakes(void **state)
{
	(void)state;
	return compose_rig_add(fakes);
}

ALL_TESTS(tests, add_fakes, NULL);

/* Of the config's layer, for messages with these properties. */
static unsigned value(const struct composing *composing, size_t layer, enum nopal_quality quality,
		      const char *names)
{
	struct nopal_promise_walk walk = {
		.composition = composing->composition,
		.names = names,
	};

	assert_non_null(composing->composition);
	nopal__promise_walk(&walk, layer);
	return walk.service.quality[quality].value;
}

static unsigned value_of(const char *text, enum nopal_quality quality, const char *names)
{
	struct composing composing = compose(text);
	unsigned found = value(&composing, 0, quality, names);

	done(&composing);
	return found;
}

/* Delivery, of a config of several layers. */
static unsigned value_of_layers(const char *text, const char *names)
{
	struct nopal_problems problems = { 0 };
	struct composing composing = { 0 };
	unsigned found;

	composing.composition =
		nopal__compose(nopal__config_parse(text, "t.conf", NULL, &problems), &problems);
	found = value(&composing, 0, NOPAL_DELIVERY, names);
	done(&composing);
	nopal_problems_fini(&problems);
	return found;
}

TEST(test_network_promises_min)
{
	assert_int_equal(value_of("", NOPAL_DELIVERY, NULL), 0);
	assert_int_equal(value_of("", NOPAL_ORDER, NULL), 0);
	assert_int_equal(value_of("", NOPAL_PROGRESS, NULL), NOPAL_GOES_ON);
	assert_int_equal(value_of("", NOPAL_RECEIVERS, NULL), NOPAL_EVERY);
}

TEST(test_stages_lower_what_earlier_ones_gave)
{
	assert_int_equal(value_of("f_all {}", NOPAL_DELIVERY, NULL), NOPAL_ALL);
	assert_int_equal(value_of("f_drops { on = on } f_all {}", NOPAL_DELIVERY, NULL),
			 NOPAL_IN_TIME);
	assert_int_equal(value_of("f_drops {} f_all {}", NOPAL_DELIVERY, NULL), NOPAL_ALL);
	assert_int_equal(value_of("f_drops { on = on } f_repairs {}", NOPAL_DELIVERY, NULL),
			 NOPAL_REPAIRED);
	assert_int_equal(value_of("f_repairs { on = on }", NOPAL_DELIVERY, NULL), 0);
}

TEST(test_order_without_all_has_gaps)
{
	assert_int_equal(value_of("f_waits {} f_all {}", NOPAL_ORDER, NULL), NOPAL_AS_SENT);
	assert_int_equal(value_of("f_waits {} f_all {} f_drops { on = on }", NOPAL_ORDER, NULL),
			 NOPAL_AS_SENT & ~NOPAL_GAPLESS);
}

TEST(test_rows_of_a_property_act_on_its_messages)
{
	const char *config = "f_all {} f_skips {}";

	assert_int_equal(value_of(config, NOPAL_DELIVERY, NULL), NOPAL_ALL);
	assert_int_equal(value_of(config, NOPAL_DELIVERY, "f_new"), NOPAL_ALL);
	assert_int_equal(value_of(config, NOPAL_DELIVERY, "f_new|f_old"), NOPAL_IN_TIME);
}

TEST(test_upper_layer_stands_on_the_lower)
{
	static const char text[] = "layer \"top\" { f_drive {} f_cut {} f_shuffles {} }\n"
				   "layer \"low\" { f_drive {} f_cut {} f_all {} f_waits {} }\n";
	static const char loses[] = "layer \"top\" { f_drive {} f_cut {} f_all {} f_shuffles {} }\n"
				    "layer \"low\" { f_drive {} f_cut {} f_all {} f_waits {} }\n";
	struct nopal_problems problems = { 0 };
	struct composing composing = { 0 };

	composing.composition =
		nopal__compose(nopal__config_parse(text, "t.conf", NULL, &problems), &problems);
	assert_int_equal(value(&composing, 0, NOPAL_DELIVERY, NULL), NOPAL_ALL);
	assert_int_equal(value(&composing, 0, NOPAL_ORDER, NULL), NOPAL_AS_SENT);
	assert_int_equal(value(&composing, 2, NOPAL_DELIVERY, NULL), 0);
	nopal__composition_free(composing.composition);
	composing.composition =
		nopal__compose(nopal__config_parse(loses, "t.conf", NULL, &problems), &problems);
	assert_int_equal(value(&composing, 0, NOPAL_ORDER, NULL), 0);
	assert_true(nopal__promise_stands_on_all(composing.composition, 0));
	assert_false(nopal__promise_stands_on_all(composing.composition, 1));
	done(&composing);
	nopal_problems_fini(&problems);
}

/* Messages of one class may be given up below: then one that waits for a segment of another class
 * does not know whether it comes. */
TEST(test_layer_above_a_partly_reliable_one_may_tire)
{
	static const char lower[] = "\nlayer \"low\" { f_drive {} f_cut {} f_all {} f_skips {} }";
	char text[256];

	snprintf(text, sizeof(text), "layer \"top\" { f_drive {} f_cut {} f_tires {} }%s", lower);
	assert_int_equal(value_of_layers(text, NULL), NOPAL_IN_TIME);
	snprintf(text, sizeof(text), "layer \"top\" { f_drive {} f_cut {} }%s", lower);
	assert_int_equal(value_of_layers(text, NULL), NOPAL_ALL);
	assert_int_equal(value_of_layers(text, "f_due"), NOPAL_IN_TIME);
	snprintf(text, sizeof(text), "layer \"top\" { f_drive {} f_cut {} f_tires {} f_all {} }%s",
		 lower);
	assert_int_equal(value_of_layers(text, NULL), NOPAL_ALL);
	assert_int_equal(value_of_layers("layer \"top\" { f_drive {} f_cut {}\n"
					 "f_tires {} }\n"
					 "layer \"low\" { f_drive {} f_cut {}\n"
					 "f_all {} }",
					 NULL),
			 NOPAL_ALL);
}

TEST(test_giver_is_the_last_that_changed_it)
{
	struct composing composing = compose("f_all {} f_drops { on = on }");
	struct nopal_promise_walk walk = {
		.composition = composing.composition,
	};
	const struct nopal_guarantee *delivery = &walk.service.quality[NOPAL_DELIVERY];

	nopal__promise_walk(&walk, 0);
	assert_int_equal(delivery->part, 3); /* behind f_drive, f_cut, f_all */
	assert_string_equal(delivery->row->because, "drops");
	assert_int_equal(walk.service.quality[NOPAL_ORDER].part, -1);
	done(&composing);
}

/* -------------------------------------------------------------- refused, warned */

TEST(test_shared_segment_below_attributes_is_refused)
{
	struct nopal_problems problems = { 0 };
	struct composing composing = { 0 };

	assert_null(nopal__compose(nopal__config_parse("layer \"top\" { f_drive {} f_cut {}\n"
						       "f_number {} }\n"
						       "layer \"low\" { f_drive {} f_cut {}\n"
						       "f_shares {} }\n",
						       "t.conf", NULL, &problems),
				   &problems));
	composing.problems = problems;
	complains(&composing, 4, "f_no of f_number in layer `top`", "in place of f_shares");
	nopal_problems_fini(&problems);
}

TEST(test_required_service_is_refused_where_it_lacks)
{
	struct composing composing;

	bad("\nf_wants {}", 3, "f_wants needs delivery `all`, and has `some`", "f_all {}");
	composing = good("f_wants {} f_all {} f_calm {}");
	done(&composing);
}

TEST(test_forbidden_service_is_refused_where_it_is)
{
	struct composing composing;

	bad("\nf_shuns {} f_all {} f_calm {}", 3, "f_shuns does not stand on delivery `all`",
	    "take f_shuns {} out");
	composing = good("f_shuns {} f_calm {}");
	done(&composing);
}

TEST(test_legal_and_surely_not_meant_is_warned_of)
{
	struct composing composing;

	warns("f_waits {}", 2, "f_waits may stand still: waits for ever", "f_all {}");
	composing = good("f_waits {} f_skips {}");
	done(&composing);
	warns("f_all {}", 2, "no congestion control", "windowed_cc");
	warns("f_all {}", 2, "no flow control", "windowed_flow");
	composing = good("f_all {} f_calm {}");
	done(&composing);
	warns("f_drops {}\nf_repairs { delay = 80ms }", 3,
	      "f_repairs may repair a segment later than f_drops waits",
	      "set f_repairs.delay below f_drops.delay");
	composing = good("f_drops {} f_repairs { delay = 50ms }");
	done(&composing);
}

/* --------------------------------------------------------------------- findings */

TEST(test_shipped_parts_promise_no_more_than_they_keep)
{
	static const struct {
		const char *text;
		enum nopal_quality quality;
		unsigned value;
	} cases[] = {
		{ "extends = \"bulk\"\nfixed_rate_jitter {} sequenced_messages {}", NOPAL_DELIVERY,
		  NOPAL_IN_TIME },
		{ "extends = \"bulk\"\n"
		  "without = { bbr_congestion, usual_rtt, loss_compensation, ack_train }\n"
		  "without = { standing_queue, ack_aggregation, queue_drain, marked_drain }\n"
		  "constant_rate { rate = 1Mbit }\n"
		  "without = { windowed_cc, resend_copies }",
		  NOPAL_PACE, NOPAL_FIXED_RATE },
		{ "extends = \"one_to_many_any\"", NOPAL_RECEIVERS, NOPAL_SO_MANY },
		{ "extends = \"one_to_many_balance\"", NOPAL_RECEIVERS, NOPAL_SO_MANY },
		{ "extends = \"bulk\"", NOPAL_DELIVERY, NOPAL_ALL },
		{ "extends = \"bulk\"", NOPAL_DUPLICATES, NOPAL_ONCE },
		{ "transport_driver {} resize {} sequenced_segments {}", NOPAL_DUPLICATES,
		  NOPAL_ONCE_A_SESSION },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct nopal_problems problems = { 0 };
		struct nopal_plan *plan;
		struct nopal_service service;

		plan = nopal_plan_parse(cases[i].text, "case.conf", NULL, &problems);
		if (!plan)
			nopal_problems_print(&problems, stderr);
		assert_non_null(plan);
		nopal_plan_service(plan, 0, NULL, &service);
		assert_int_equal(service.quality[cases[i].quality].value, cases[i].value);
		nopal_problems_fini(&problems);
		nopal_plan_unref(plan);
	}
}
