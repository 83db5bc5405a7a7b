/* SPDX-License-Identifier: MIT */
/*
 * Memory of forward_error_correction, at work and at rest.
 */
#include "engine/composite.h"
#include "support/blocks.h"
#include "erasure.h"
#include "support/test.h"

TEST(test_memory_is_bounded)
{
	struct nopal_composite *composite;
	uint64_t held = 0;

	capture_open(&net, fec_config(5, 4, ""));
	composite = nopal__composite(net.rig.acceptor.session);
	for (uint32_t round = 0; round < 400; round++) {
		send_block(4);
		capture_pass(&net, round % 5);
		if (round == 300)
			held = composite->awake->bytes_held;
	}
	assert_int_equal(composite->awake->bytes_held, held);
	capture_close(&net);
}

static bool is_idle(const struct nopal_session *session)
{
	return !nopal__composite(session)->awake;
}

/* Buffers of a block are used again for the next. */
static void check_rest(int n, int k)
{
	struct nopal_composite *composite;
	uint64_t held;

	capture_open(&net, fec_config(n, k, "check_integrity {}\n"));
	composite = nopal__composite(net.rig.acceptor.session);
	rig_run(&net.rig, NOPAL_SECOND);
	assert_true(is_idle(net.rig.acceptor.session));
	for (uint32_t round = 0; round < 5; round++) {
		send_block((uint32_t)k);
		for (uint32_t i = 1; i <= (uint32_t)k; i++)
			capture_pass(&net, i);
		assert_true(is_delivered(0));
		assert_true(composite->awake->bytes_held > 0);
		rig_run(&net.rig, NOPAL_SECOND);
		assert_true(is_idle(net.rig.acceptor.session));
		assert_true(is_idle(net.rig.opener.session));
		rig_awake(net.rig.acceptor.session);
		if (round)
			assert_int_equal(composite->awake->bytes_held, held);
		held = composite->awake->bytes_held;
		assert_in_range(held, 0, 512);
	}
	capture_close(&net);
}

TEST(test_it_rests_small)
{
	check_rest(5, 4);
	if (nopal__erasure_has_cauchy())
		check_rest(9, 6);
}

/* Where parity may come after such a time, what it repairs is not forgotten. */
TEST(test_parity_may_come_to_one_at_rest)
{
	capture_open(&net, "transport_driver {}\nfixed_size {}\n"
			   "sequenced_segments {}\ncheck_integrity {}\n"
			   "forward_error_correction { flush = 3s }\n");
	send_block(2);
	capture_pass(&net, 0);
	rig_run(&net.rig, 2 * NOPAL_SECOND);
	assert_true(is_idle(net.rig.acceptor.session));
	rig_run(&net.rig, 2 * NOPAL_SECOND);
	assert_int_equal(net.count, 3);
	capture_pass(&net, 2);
	assert_true(is_delivered(1));
	capture_close(&net);
}
