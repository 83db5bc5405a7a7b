/* SPDX-License-Identifier: MIT */
/*
 * send_many_check.h -- compares the beginning of a file that receivers have.
 */
#ifndef NOPAL_SEND_MANY_CHECK_H
#define NOPAL_SEND_MANY_CHECK_H

#include "transfer/send_many_file.h"

/* All have answered; compares on the event `step`. */
void many_gathered(struct many *many);
void many_check(void *user);

#endif
