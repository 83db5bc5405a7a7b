/* SPDX-License-Identifier: MIT */
/*
 * patience.c -- how long the sessions of a plan may stand still and go on all the same.
 *
 * Parameters of the plan say it (enum nopal_waits): its longest wait is the longest of its parts',
 * and that may be in vain as many times in a row as the part with most attempts allows.  Where no
 * part gives up after attempts, it is once.
 */
#include <string.h>

#include <nopal/microprotocol.h>
#include "judge/judge.h"

enum {
	DOUBLINGS = 6,	    /* of a wait, where no parameter says how many */
	DOUBLINGS_MAX = 32, /* the limit of all that is believed */
};
#define WAIT_MAX_NS (1000 * 24 * 3600 * NOPAL_SECOND)

/* Largest of the plan's values of a kind; 0: it has none. */
static int64_t largest(const struct nopal_plan *plan, enum nopal_waits kind)
{
	int64_t largest = 0, value;

	for (size_t i = 0; i < nopal_plan_part_count(plan); i++) {
		const struct nopal_part *part = nopal_plan_part(plan, i);
		const struct nopal_parameter *parameter = part->microprotocol->parameters;

		for (; parameter && parameter->name; parameter++) {
			if (parameter->waits != kind)
				continue;
			memcpy(&value, (const char *)part->parameters + parameter->offset,
			       sizeof(value));
			largest = value > largest ? value : largest;
		}
	}
	return largest;
}

static int64_t times(int64_t wait_ns, int64_t factor)
{
	int64_t product;

	if (__builtin_mul_overflow(wait_ns, factor, &product) || product > WAIT_MAX_NS)
		return WAIT_MAX_NS;
	return product;
}

struct judge_patience judge_patience(const struct nopal_plan *plan)
{
	int64_t longest_ns = largest(plan, NOPAL_WAITS_LONGEST), doubled_ns;
	int64_t doublings = largest(plan, NOPAL_WAITS_DOUBLINGS);
	int64_t attempts = largest(plan, NOPAL_WAITS_ATTEMPTS);

	if (doublings == 0)
		doublings = DOUBLINGS;
	if (doublings > DOUBLINGS_MAX)
		doublings = DOUBLINGS_MAX;
	doubled_ns = times(largest(plan, NOPAL_WAITS_DOUBLED), INT64_C(1) << doublings);
	if (doubled_ns > longest_ns)
		longest_ns = doubled_ns;
	return (struct judge_patience){
		.wait_ns = longest_ns,
		.all_ns = times(longest_ns, attempts > 1 ? attempts : 1),
	};
}
