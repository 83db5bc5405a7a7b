/* SPDX-License-Identifier: MIT */
/*
 * workshop.h -- a folder of its own in which a test makes fused units, by `nopal fuse` itself; gone
 * at the end.  It is $XDG_CACHE_HOME meanwhile.
 *
 *     workshop_open();
 *     workshop_write("mine.conf", "transport_driver {} fixed_size {}");
 *     workshop_fuse("mine.conf", NULL);
 *     plan = workshop_plan("mine.conf");
 */
#ifndef NOPAL_TEST_WORKSHOP_H
#define NOPAL_TEST_WORKSHOP_H

#include <nopal/nopal.h>

struct told;

void workshop_open(void);
void workshop_close(void);
/* A file of this name in the folder; the path is good for a few calls. */
const char *workshop_path(const char *name);
void workshop_write(const char *name, const char *text);
/* `nopal fuse` of a config in the folder; what it said.  `options` as those of told.h.  The test
 * fails where the unit is not made. */
const struct told *workshop_fuse(const char *name, const char *const *options);
/* NULL where it is refused: no word is said. */
struct nopal_plan *workshop_plan(const char *name, const char *const *sets);
/* Takes its unit, or the test fails. */
void workshop_is_fused(const struct nopal_plan *plan);

#endif
