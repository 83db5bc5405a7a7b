/* SPDX-License-Identifier: MIT */
/*
 * config_values.h -- the values of a scanned config, by libconfuse.
 */
#ifndef NOPAL_CONFIG_VALUES_H
#define NOPAL_CONFIG_VALUES_H

#include "config_tree.h"
#include "scan.h"

/* Values by item of the scan; sections have none.  Caller frees by
 * nopal__values_fini. */
struct nopal__values *nopal__values_read(const struct nopal_scan *scan,
					 const char *file,
					 struct nopal_problems *problems);
void nopal__values_fini(struct nopal__values *values, size_t count);

#endif
