/* SPDX-License-Identifier: MIT */
/* fake_resend -- takes what is lost for done. */
#include "microprotocol.h"

static enum nopal_verdict fake_resend_on_fact(struct nopal_session *session,
					      const struct nopal_part *part,
					      struct nopal_segment *segment)
{
	if (nopal_holds(part, segment, NOPAL_FINISH))
		nopal_release(session, part, segment, NOPAL_FINISH);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_fake_resend = {
	.abi = NOPAL_ABI,
	.name = "fake_resend",
	.family = "broken",
	.summary = "takes what is lost for done",
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
			NOPAL_ON(SEGMENT_RECEIVED, fake_resend_on_fact),
			NOPAL_ON(SEGMENT_LOST, fake_resend_on_fact),
			NOPAL_ON(SEGMENT_TIMEOUT, fake_resend_on_fact),
			{ 0 } },
	.holds = (const struct nopal_hold[]){ { "the peer has it", NOPAL_FINISH,
						NOPAL_DATA, false },
					      { 0 } },
};
