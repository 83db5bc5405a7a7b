/* SPDX-License-Identifier: MIT */
/*
 * json.h -- a report as one JSON object.
 */
#ifndef NOPAL_REPRODUCE_JSON_H
#define NOPAL_REPRODUCE_JSON_H

#include "reproduce/report.h"

/* False: out of memory. */
bool reproduce_json(const struct reproduce_report *report, const struct reproduce_options *options,
		    FILE *out);

#endif
