/* SPDX-License-Identifier: MIT */
/* How long a message may be: of who cuts, of who passes it whole, and of the path. */
#include "plan/build.h"
#include "support/fakes.h"
#include "support/rig.h"
#include "support/test.h"

enum { PARTS = 4, LAYERS = 2, BODY = 1400, DATAGRAM = 1472, FLOOR = 1172 };

#define SEGMENTS .provides = FAKE_ROLES({ "message_segments", true })

static uint64_t asked_bytes;

static uint64_t seven_of(const void *parameters, uint32_t body_bytes)
{
	(void)parameters;
	asked_bytes = body_bytes;
	return 7 * (uint64_t)body_bytes;
}

static uint64_t a_hundred(const void *parameters, uint32_t body_bytes)
{
	(void)parameters, (void)body_bytes;
	return 100;
}

FAKE(f_other, .needs = FAKE_RELATIONS({ "layer_below", "fakes" }));
FAKE(f_one, SEGMENTS); /* a message is a segment */
FAKE(f_cuts, SEGMENTS, .message_limit = seven_of);
FAKE(f_whole, SEGMENTS, .message_limit = seven_of,
     .needs = FAKE_RELATIONS({ "segment_numbers", "fakes" }, { "layer_below", "fakes" }));
FAKE(f_says, .message_limit = a_hundred);

static struct nopal_part parts[PARTS];
static struct nopal_layer layers[LAYERS];
static struct nopal_plan plan;

/* Each layer has two parts. */
static uint64_t limit_of(const struct nopal_microprotocol *const *names, uint64_t wanted)
{
	plan = (struct nopal_plan){
		.parts = parts,
		.part_count = PARTS,
		.layers = layers,
		.layer_count = LAYERS,
		.datagram_bytes = DATAGRAM,
		.path_floor = FLOOR,
	};
	for (uint8_t i = 0; i < PARTS; i++)
		parts[i] = (struct nopal_part){ .microprotocol = names[i] };
	for (uint8_t i = 0; i < LAYERS; i++)
		layers[i] = (struct nopal_layer){
			.plan = &plan,
			.index = i,
			.first_part = (uint8_t)(2 * i),
			.part_count = 2,
			.body_bytes = BODY - i,
		};
	asked_bytes = 0;
	nopal__limit_messages(&plan, wanted);
	return plan.info.message_limit;
}

#define LIMIT(wanted, ...)                                                                         \
	limit_of((const struct nopal_microprotocol *const[]){ __VA_ARGS__ }, wanted)

TEST(test_a_segment_holds_one_message)
{
	assert_int_equal(LIMIT(0, &f_other, &f_one, &f_one, &f_one), BODY);
	assert_int_equal(LIMIT(BODY - 5, &f_one, &f_other, &f_one, &f_one), BODY - 5);
	assert_int_equal(LIMIT(BODY + 5, &f_one, &f_other, &f_one, &f_one), BODY);
}

TEST(test_who_cuts_says_how_often)
{
	assert_int_equal(LIMIT(0, &f_cuts, &f_other, &f_one, &f_one),
			 7 * (BODY - (DATAGRAM - FLOOR)));
	assert_int_equal(asked_bytes, BODY - (DATAGRAM - FLOOR));
}

TEST(test_nobody_says_more_than_16_mib)
{
	assert_int_equal(LIMIT(0, &f_other, &f_other, &f_one, &f_one), 16 << 20);
	assert_int_equal(LIMIT(17 << 20, &f_other, &f_other, &f_one, &f_one), 17 << 20);
}

/* And who does not cut is asked there alone. */
TEST(test_what_is_whole_is_the_next_layers)
{
	assert_int_equal(LIMIT(0, &f_whole, &f_other, &f_one, &f_other), BODY - 1);
	assert_int_equal(LIMIT(0, &f_whole, &f_other, &f_cuts, &f_other),
			 7 * (BODY - 1 - (DATAGRAM - FLOOR)));
	assert_int_equal(LIMIT(0, &f_whole, &f_says, &f_one, &f_other), 100);
	assert_int_equal(LIMIT(0, &f_cuts, &f_says, &f_one, &f_other),
			 7 * (BODY - (DATAGRAM - FLOOR)));
	assert_int_equal(LIMIT(0, &f_whole, &f_other, &f_whole, &f_says), 100);
}
