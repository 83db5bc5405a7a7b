/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "support/restart.h"
#include "support/test.h"

const uint8_t restart_key[NOPAL_RESET_KEY_BYTES] = "sixteen bytes...";

void restart_kill(struct rig *rig, struct rig_side *side, const char *link)
{
	rig_change_both(rig, "loss 100%");
	nopal_endpoint_close(side->endpoint);
	side->endpoint = NULL;
	rig_change_both(rig, link);
}

void restart_start(struct rig *rig, struct rig_side *side, const uint8_t *key)
{
	bool opener = side == &rig->opener;

	side->endpoint = nopal_sim_endpoint(rig->world, !opener,
					    opener ? RIG_OPENER_PORT : RIG_ACCEPTOR_PORT);
	assert_non_null(side->endpoint);
	assert_int_equal(nopal_endpoint_allow(side->endpoint, rig->plan, 0, NULL, NULL), 0);
	if (key)
		assert_int_equal(nopal_endpoint_set_reset_key(side->endpoint, key), 0);
}

void restart_open(struct rig *rig, const char *config, const char *link)
{
	rig_open(rig, config, &(struct rig_options){ .link = link, .stay_closed = true });
	nopal_endpoint_set_reset_key(rig->opener.endpoint, restart_key);
	nopal_endpoint_set_reset_key(rig->acceptor.endpoint, restart_key);
	rig_start(rig);
	rig_run(rig, NOPAL_SECOND);
	assert_int_equal(rig->opener.opened + rig->acceptor.opened, 2);
}
