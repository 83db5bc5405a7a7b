/* SPDX-License-Identifier: MIT */
/*
 * fakes.h -- microprotocols that are descriptors alone, for tests of checking and composing: what a
 * real one declares, without what it does.
 */
#ifndef NOPAL_TESTS_FAKES_H
#define NOPAL_TESTS_FAKES_H

#include <nopal/microprotocol.h>

static inline enum nopal_verdict fake_on_segment(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at;
	(void)segment;
	return NOPAL_CONTINUE;
}

static inline enum nopal_verdict fake_on_message(struct nopal_at at, struct nopal_message *message)
{
	(void)at;
	(void)message;
	return NOPAL_CONTINUE;
}

#define FAKE_ROLES(...)	     ((const struct nopal_role[]){ __VA_ARGS__, { 0 } })
#define FAKE_RELATIONS(...)  ((const struct nopal_relation[]){ __VA_ARGS__, { 0 } })
#define FAKE_BINDINGS(...)   ((const struct nopal_binding[]){ __VA_ARGS__, { 0 } })
#define FAKE_HOLDS(...)	     ((const struct nopal_hold[]){ __VA_ARGS__, { 0 } })
#define FAKE_SHARED(...)     ((const struct nopal_shared[]){ __VA_ARGS__, { 0 } })
#define FAKE_ATTRIBUTES(...) ((const struct nopal_attribute[]){ __VA_ARGS__, { 0 } })
#define FAKE_RAISES(...)     ((const char *const[]){ __VA_ARGS__, NULL })

/* Roles that no real microprotocol has would be missed by what tests say. */
#define FAKE(word, ...)                                                                            \
	static const struct nopal_microprotocol word = { .abi = NOPAL_ABI,                         \
							 .name = #word,                            \
							 .family = "fake",                         \
							 .summary = "a descriptor for tests",      \
							 __VA_ARGS__ }

#endif
