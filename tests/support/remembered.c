/* SPDX-License-Identifier: MIT */
#include "support/remembered.h"
#include "support/test.h"

const char CUBIC[] = RELIABLE "cubic_congestion {}\npath_memory {}\n";
const char LINK[] = "rate 20mbit delay 50ms limit 1000";

void remembered_begin(const char *config, const char *link)
{
	rig_open(&rig, config, &(struct rig_options){ .link = link, .stay_closed = true });
}

void start(void)
{
	rig.opener.opened = rig.acceptor.opened = 0;
	rig_start(&rig);
	assert_int_equal(rig.acceptor.opened, 1);
}

void stop(void)
{
	rig_finish(&rig);
	assert_null(rig.opener.session);
	assert_null(rig.acceptor.session);
}

int64_t transfer(size_t length)
{
	int64_t began_ns = nopal_world_now(rig.world), left = ROUNDS_MAX;
	uint32_t before = rig.acceptor.delivered;

	rig_send_bytes(&rig, length);
	while (rig.acceptor.delivered == before && left-- > 0)
		rig_run(&rig, 10 * NOPAL_MILLISECOND);
	assert_int_equal(rig.acceptor.delivered, before + 1);
	return (nopal_world_now(rig.world) - began_ns) / (100 * NOPAL_MILLISECOND) + 1;
}

int64_t session_of(size_t length)
{
	int64_t rounds;

	start();
	rounds = transfer(length);
	stop();
	return rounds;
}

int64_t shared(const char *name)
{
	return rig_shared(rig.opener.session, name);
}

int64_t segments(int64_t count)
{
	return count * nopal_body_max(rig.opener.session);
}
