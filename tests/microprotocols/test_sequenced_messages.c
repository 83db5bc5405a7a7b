/* SPDX-License-Identifier: MIT */
#include "engine/composite.h"
#include "support/segments.h"
#include "support/test.h"

static const char NUMBERED[] = "transport_driver {}\nfixed_size {}\n"
			       "sequenced_messages {}\na_tap {}\n";
static const char CONNECTED[] = "transport_driver {}\nfixed_size {}\n"
				"sequenced_messages {}\nvirtual_circuit {}\n"
				"a_tap {}\n";

enum { NUMBER }; /* attributes of sequenced_messages */

static uint32_t arrive_number(struct rig_side *side, uint64_t number)
{
	struct arriving one = arriving_begin(side->session, NOPAL_KIND_DATA, "x", 1);
	uint32_t before = side->delivered;

	nopal_set(rig_at(side->session, "sequenced_messages"), one.segment, NUMBER, number);
	arriving_end(&one);
	return side->delivered - before;
}

static uint64_t reference(struct rig_side *side)
{
	struct nopal_at at = rig_at(side->session, "sequenced_messages");
	struct nopal_composite *composite = nopal__composite(side->session);

	return composite->awake
		->serial[composite->layer->plan->serial_of[at.part->attribute[NUMBER]] - 1];
}

TEST(test_numbers_begin_at_one_without_a_handshake)
{
	struct rig rig;

	rig_open(&rig, NUMBERED, NULL);
	for (int i = 0; i < 3; i++)
		rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 3);
	assert_int_equal(reference(&rig.acceptor), 3);
	rig_close(&rig);
}

TEST(test_numbers_begin_where_the_handshake_says)
{
	struct rig rig;

	rig_open(&rig, CONNECTED, NULL);
	for (int i = 0; i < 3; i++)
		rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 3);
	assert_int_equal(reference(&rig.acceptor),
			 rig_shared(rig.acceptor.session, "initial_peer") + 2);
	rig_close(&rig);
}

TEST(test_a_number_before_the_first_is_dropped)
{
	struct rig rig;

	rig_open(&rig, NUMBERED, NULL);
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(arrive_number(&rig.acceptor, 0), 0);
	assert_int_equal(arrive_number(&rig.acceptor, 1), 1);
	rig_close(&rig);
}

TEST(test_a_late_number_does_not_move_the_reference)
{
	struct rig rig;

	rig_open(&rig, NUMBERED, NULL);
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(arrive_number(&rig.acceptor, UINT64_C(0x100000000)), 1);
	assert_int_equal(reference(&rig.acceptor), UINT64_C(0x100000000));
	assert_int_equal(arrive_number(&rig.acceptor, 7), 1);
	assert_int_equal(reference(&rig.acceptor), UINT64_C(0x100000000));
	rig_close(&rig);
}
