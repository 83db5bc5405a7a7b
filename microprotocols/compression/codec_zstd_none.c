/* SPDX-License-Identifier: MIT */
/* codec_zstd_none.c -- where there is no libzstd. */
#include "codec.h"

const struct nopal__codec nopal__codec_zstd = { .built = false };
