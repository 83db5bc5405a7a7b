/* SPDX-License-Identifier: MIT */
/*
 * send_many_shares.h -- ranges of a spread file that each receiver holds.
 */
#ifndef NOPAL_SEND_MANY_SHARES_H
#define NOPAL_SEND_MANY_SHARES_H

#include "transfer/send_many_file.h"

void many_on_held(struct many *many, struct many_one *one, const struct nopal_message *message);
void many_forget_held(struct many_one *one);
/* The ranges that remaining receivers hold together; false: no memory. */
bool many_unite(struct many *many);

#endif
