/* SPDX-License-Identifier: MIT */
/*
 * restart.h -- one side of a rig is killed, and started again at the same address:
 * nobody is told, and the other side's datagrams meet an endpoint that knows nothing.
 */
#ifndef NOPAL_TEST_RESTART_H
#define NOPAL_TEST_RESTART_H

#include <nopal/nopal.h>
#include "support/rig.h"

extern const uint8_t restart_key[NOPAL_RESET_KEY_BYTES];

void restart_kill(struct rig *rig, struct rig_side *side, const char *link);

/* `key`: the reset key that outlived it; NULL: none did. */
void restart_start(struct rig *rig, struct rig_side *side, const uint8_t *key);

/* Both are open, and have the key; `link` is what they have from then on. */
void restart_open(struct rig *rig, const char *config, const char *link);

#endif
