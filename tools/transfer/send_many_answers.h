/* SPDX-License-Identifier: MIT */
/*
 * send_many_answers.h -- answers and results of each receiver.
 */
#ifndef NOPAL_SEND_MANY_ANSWERS_H
#define NOPAL_SEND_MANY_ANSWERS_H

#include "transfer/send_many_file.h"

extern const struct nopal_callbacks many_callbacks;

#endif
