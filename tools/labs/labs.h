/* SPDX-License-Identifier: MIT */
/* labs.h -- the labs that there are, by number. */
#ifndef NOPAL_LABS_H
#define NOPAL_LABS_H

#include "lab/lab.h"

extern const struct lab lab_00_hello, lab_01_hold_bits, lab_02_vanilla_udp, lab_03_delay,
	lab_04_corruption, lab_05_duplication, lab_06_loss, lab_07_sliding_window, lab_08_streaming,
	lab_09_erasure_codes, lab_10_congestion_control, lab_11_one_to_many, lab_12_compose;

/* NULL-ended. */
extern const struct lab *const labs_all[];
/* By number or by name, "6", "06-loss", "loss"; NULL: there is no such lab. */
const struct lab *labs_find(const char *word);
/* The lab of a folder that `nopal lab start` made; NULL: a problem was printed. */
const struct lab *labs_of(const char *folder);

#endif
