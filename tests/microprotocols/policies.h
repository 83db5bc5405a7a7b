/* SPDX-License-Identifier: MIT */
/*
 * policies.h -- a congestion policy on the bench: its window, and what every policy does that
 * halves, or nearly, at a loss and takes a mark for one.  A check begins with the policy as it
 * opened, before anything has left.
 *
 *     begin(40 * SEG);
 *     check_marks_are_losses(20 * SEG, 10 * SEG, 2 * SEG);
 *     bench_close();
 */
#ifndef NOPAL_TEST_POLICIES_H
#define NOPAL_TEST_POLICIES_H

#include "support/bench.h"
#include "support/test.h"

enum { SEG = BENCH_BODY };

static inline int64_t window(void)
{
	return *bench_shared("congestion_window_bytes");
}

/* Congestion without a loss: as one loss, once a round trip.  The window after one mark and after
 * two, and the least that a loss leaves of it. */
static inline void check_marks_are_losses(int64_t once, int64_t twice, int64_t min)
{
	bench.next_packet = 100;
	bench_raise(NOPAL_CONGESTION_MARKED, NULL);
	assert_int_equal(window(), once);
	bench_raise(NOPAL_CONGESTION_MARKED, NULL);
	bench_status(NOPAL_SEGMENT_LOST, 99);
	bench.oldest_packet = 99;
	bench_raise(NOPAL_CONGESTION_MARKED, NULL);
	bench_ack(98, 10 * SEG);
	assert_int_equal(window(), once);
	bench.oldest_packet = 100;
	bench_raise(NOPAL_CONGESTION_MARKED, NULL);
	assert_int_equal(window(), twice);
	/* A loss of what left after it is a new one. */
	bench_status(NOPAL_SEGMENT_LOST, 100);
	assert_in_range(window(), min, twice - 1);
}

static inline void check_a_mark_after_a_timeout_takes_nothing(void)
{
	bench.next_packet = 100;
	bench_status(NOPAL_SEGMENT_TIMEOUT, 1);
	bench_raise(NOPAL_CONGESTION_MARKED, NULL);
	bench.oldest_packet = 100;
	bench_raise(NOPAL_CONGESTION_MARKED, NULL);
	assert_int_equal(window(), SEG);
}

/* From a window of forty segments: losses of one flight halve it once, and no loss takes the last
 * two. */
static inline void check_one_reduction_an_epoch(void)
{
	bench.next_packet = 100;
	bench_status(NOPAL_SEGMENT_LOST, 1);
	bench_status(NOPAL_SEGMENT_LOST, 99);
	assert_int_equal(window(), 20 * SEG);
	bench_status(NOPAL_SEGMENT_LOST, 100);
	assert_int_equal(window(), 10 * SEG);
	for (int i = 0; i < 10; i++)
		bench_status(NOPAL_SEGMENT_LOST, bench.next_packet++);
	assert_int_equal(window(), 2 * SEG);
}

#endif
