/* SPDX-License-Identifier: MIT */
#include "engine/turn.h"
#include "support/fakes.h"
#include "support/kept.h"
#include "support/test.h"

const struct nopal_microprotocol m_keeper = {
	.abi = NOPAL_ABI,
	.name = "m_keeper",
	.family = "fake",
	.summary = "a descriptor for tests",
	.holds = FAKE_HOLDS({ "the test", NOPAL_DONE, NOPAL_DATA, false }),
	.bindings = FAKE_BINDINGS(NOPAL_ON(SEGMENT_LOST, fake_on_segment)),
};

struct nopal_session *session;

void kept_open(const char *config)
{
	rig_add(&m_keeper);
	rig_open(&rig, config, NULL);
	session = rig.opener.session;
}

void settle(uint32_t number, enum nopal_outcome outcome)
{
	struct nopal_segment *segment = rig_segment(session, number);
	struct nopal_composite *composite = nopal__composite(session);
	bool outermost = nopal__turn_begin(composite->world);

	assert_non_null(segment);
	nopal__touch(composite);
	segment->outcome = (uint8_t)outcome;
	nopal_release((struct nopal_at){ session, rig_part(session, "m_keeper") }, segment,
		      NOPAL_DONE);
	nopal__turn_end(composite->world, outermost);
}
