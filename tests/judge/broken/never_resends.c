/* SPDX-License-Identifier: MIT */
/* never_resends -- waits for what is lost, and does not send it again. */
#include "microprotocol.h"

static enum nopal_verdict
never_resends_on_received(struct nopal_session *session,
			  const struct nopal_part *part,
			  struct nopal_segment *segment)
{
	nopal_release(session, part, segment, NOPAL_FINISH);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_never_resends = {
	.abi = NOPAL_ABI,
	.name = "never_resends",
	.family = "broken",
	.summary = "waits for what is lost, and does not send it again",
	.provides =
		(const struct nopal_role[]){ { "reliability", false }, { 0 } },
	.promises =
		NOPAL_PROMISES({ NOPAL_DELIVERY, NOPAL_RECOVERY, NOPAL_GIVES,
				 NOPAL_ALL, .because = "it says so" }),
	.shared =
		(const struct nopal_shared[]){
			{ "reliability_unmet", NOPAL_WRITE, 1,
			  "1: an unseen segment is still needed" },
			{ 0 } },
	.bindings =
		(const struct nopal_binding[]){
			NOPAL_ON(SEGMENT_RECEIVED, never_resends_on_received),
			{ 0 } },
	.holds = (const struct nopal_hold[]){ { "the peer has it", NOPAL_FINISH,
						NOPAL_DATA, false },
					      { 0 } },
};
