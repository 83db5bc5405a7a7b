/* SPDX-License-Identifier: MIT */
/* sandbox.h -- the walls of a host. */
#ifndef NOPAL_LAB_SANDBOX_H
#define NOPAL_LAB_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

struct sandbox {
	const char *object;
	bool sanitized;
	int keep[2]; /* descriptors beside 0 to 2; -1: none */
};
int sandbox_enter(const struct sandbox *sandbox, char *why, size_t room);

#endif
