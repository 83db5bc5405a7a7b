/* SPDX-License-Identifier: MIT */
/*
 * scout.h -- when messages come, whoever holds them up later: the microprotocol `a_scout` sees them
 * before what orders them does.  The text of each is its number.
 *
 *     scout_open(&rig, "transport_driver {} ... a_scout {}\n", &options);
 *     rig_send(&rig, "7"), rig_run(&rig, NOPAL_SECOND);
 *     assert_true(came_ns[7] <= rig.acceptor.delivered_ns[0]);
 */
#ifndef NOPAL_TEST_SCOUT_H
#define NOPAL_TEST_SCOUT_H

#include "support/rig.h"
#include "support/test.h"

enum { SCOUT_ROOM = 512 };

extern int64_t came_ns[SCOUT_ROOM]; /* by number, the first time; 0: never */

void scout_open(struct rig *rig, const char *config, const struct rig_options *options);

#endif
