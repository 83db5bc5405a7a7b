/* SPDX-License-Identifier: MIT */
/*
 * outcome.h -- how messages and sessions end.  Part of nopal.h and microprotocol.h, which include
 * it.
 */
#ifndef NOPAL_OUTCOME_H
#define NOPAL_OUTCOME_H

/* The outcome of a segment or message. */
enum nopal_outcome {
	NOPAL_OUTCOME_UNKNOWN,	 /* left, and nobody can say */
	NOPAL_OUTCOME_DELIVERED, /* the peer has it */
	NOPAL_OUTCOME_LOST,	 /* lost, and not sent again */
	/* The last two are no loss of the session's, and applications are told the plain ones
	 * instead: */
	NOPAL_OUTCOME_EXPIRED, /* missing: its own deadline or attempts ended it */
	NOPAL_OUTCOME_WAIVED,  /* unknown: whom it was for was removed, or it may have expired */
};

/* Why a session ended.  NOPAL_ENDED_WELL is the only good end.  Where the composition sends again
 * what is lost, it says more than that both sides have closed: each message that was accepted
 * arrived, among many destinations at as many as must have it, unless its own deadline or attempts
 * ended it, or all for whom it was were removed.  Else a session that closes ends as
 * NOPAL_UNDELIVERED. */
enum nopal_end {
	NOPAL_ENDED_WELL,
	NOPAL_REFUSED,	     /* the peer has no such composition: text is the diff */
	NOPAL_UNREACHABLE,   /* no answer within the attempts or the timeout */
	NOPAL_PEER_LOST,     /* an open session's peer fell silent */
	NOPAL_GAVE_UP,	     /* a segment used up its attempts */
	NOPAL_ABORTED,	     /* nopal_session_abort(), here or at the peer */
	NOPAL_RESOURCE,	     /* over the session's budget */
	NOPAL_RUNTIME_LIMIT, /* handlers nested or stormed beyond the limit */
	NOPAL_UNDELIVERED,   /* it closed, and messages did not arrive */
	NOPAL_NOT_AUTHENTIC, /* unreachable, though answers came: of another key */
	NOPAL_ENDS_LAST = NOPAL_NOT_AUTHENTIC,
};

#endif
