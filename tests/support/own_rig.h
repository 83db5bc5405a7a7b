/* SPDX-License-Identifier: MIT */
/* own_rig.h -- the pair of sessions of a test program that has one at a time. */
#ifndef NOPAL_TEST_OWN_RIG_H
#define NOPAL_TEST_OWN_RIG_H

#include "support/rig.h"

extern struct rig rig;

/* The teardown of a test: closes it. */
int own_rig_close(void **state);

#endif
