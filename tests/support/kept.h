/* SPDX-License-Identifier: MIT */
/*
 * kept.h -- a pair of sessions in which no segment of the opener is done before the test says so:
 * the fake `m_keeper` holds them.
 *
 *     kept_open("transport_driver {}\nfixed_size {}\nm_keeper {}\n");
 *     rig_send(&rig, "x");
 *     settle(2, NOPAL_OUTCOME_DELIVERED);
 *
 * `session` is the opener's.
 */
#ifndef NOPAL_TESTS_KEPT_H
#define NOPAL_TESTS_KEPT_H

#include "support/own_rig.h"

extern const struct nopal_microprotocol m_keeper;

extern struct nopal_session *session;

void kept_open(const char *config);

/* As the role acknowledgement does it, in a turn. */
void settle(uint32_t number, enum nopal_outcome outcome);

#endif
