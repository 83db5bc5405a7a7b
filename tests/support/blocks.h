/* SPDX-License-Identifier: MIT */
/*
 * blocks.h -- messages that fill blocks of forward_error_correction or windows of
 * sliding_window_fec: sent by the opener of a captured pair, recognised at the acceptor.  The
 * checks hold of both: they want one parity or repair behind every four sources, that of the
 * longest segments behind every two.
 *
 *     capture_open(&net, fec_config(5, 4, ""));
 *     send_block(4);
 *     pass_from(1, 5);
 *     assert_true(is_delivered(0));
 *     capture_close(&net);
 */
#ifndef NOPAL_TEST_BLOCKS_H
#define NOPAL_TEST_BLOCKS_H

#include "support/capture.h"
#include "support/test.h"

extern struct capture net;

const char *fec_config(int n, int k, const char *more);
size_t length_of(uint32_t i);

/* Sends `count` messages of various lengths and takes what comes of it. */
void send_block(uint32_t count);
bool is_delivered(uint32_t i);

/* Of what was taken, the places from `first` to before `end` arrive. */
void pass_from(uint32_t first, uint32_t end);

/* One byte of it is another, and `length` bytes of it arrive. */
void give_changed(uint32_t place, size_t at, uint8_t value, size_t length);
void check_late_originals_and_duplicates_are_stopped(void);

/* Fewer than four are sent and one is lost: what repairs it leaves after `flush`. */
void check_flush(uint32_t count, uint32_t lost);
void check_closing_sends_what_repairs(void);

/* Two segments as long as the path takes can be repaired too. */
void check_longest_segments(void);

#endif
