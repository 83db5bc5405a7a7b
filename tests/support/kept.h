/* SPDX-License-Identifier: MIT */
/*
 * kept.h -- a pair of sessions in which no segment of the opener is done before the test says so:
 * the fake `m_keeper` holds them.
 *
 *     kept_open("transport_driver {}\nfixed_size {}\nm_keeper {}\n");
 *     rig_send(&rig, "x");
 *     settle(2, NOPAL_ARRIVED);
 *
 * Include it after cmocka.h; `session` is the opener's.
 */
#ifndef NOPAL_TESTS_KEPT_H
#define NOPAL_TESTS_KEPT_H

#include "support/fakes.h"
#include "support/rig.h"
#include "support/test.h"

FAKE(m_keeper, .holds = FAKE_HOLDS({ "the test", NOPAL_FINISH, NOPAL_DATA, false }),
     .bindings = FAKE_BINDINGS(NOPAL_ON(SEGMENT_LOST, fake_on_segment)));

static struct rig rig;
static struct nopal_session *session;

static inline void kept_open(const char *config)
{
	rig_add(&m_keeper);
	rig_open(&rig, config, NULL);
	session = rig.opener.session;
}

static inline int kept_teardown(void **state)
{
	(void)state;
	rig_close(&rig);
	return 0;
}

/* As the role acknowledgement does it, in a turn. */
static inline void settle(uint32_t number, enum nopal_fate fate)
{
	struct nopal_segment *segment = rig_segment(session, number);
	struct nopal_core *core = nopal__core(session);
	bool outermost = nopal__turn_begin(core->world);

	assert_non_null(segment);
	nopal__touch(core);
	segment->fate = (uint8_t)fate;
	nopal_release(session, rig_part(session, "m_keeper"), segment, NOPAL_FINISH);
	nopal__turn_end(core->world, outermost);
}

#endif
