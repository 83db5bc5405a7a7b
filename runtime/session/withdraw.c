/* SPDX-License-Identifier: MIT */
/*
 * withdraw.c -- a message that nobody has transmitted yet is taken back: its segments are
 * abandoned in the lowest layer that has them, and their outcomes come up from there.
 *
 * A segment has its number when it is cut, so a withdrawn message looks to the peer as one that
 * got lost.  Where a layer retransmits, the peer would wait for it: there only messages of partial
 * reliability are taken back, whose peer is told to go on without them.
 */
#include <errno.h>
#include <string.h>

#include "engine/message.h"
#include "engine/segment.h"
#include "engine/turn.h"
#include "session/stack.h"

/* The segments of a message, in its own layer and in those below it that have them. */
struct carriers {
	struct nopal_composite *composite; /* of the first one that may leave yet; NULL: none may */
	struct nopal_handle segment;
	bool left; /* something of the message is on the network, or rides with others */
};

/* An idle layer carries nothing. */
static struct nopal_composite *awake_below(const struct nopal_composite *composite)
{
	return composite->below && composite->below->awake ? composite->below : NULL;
}

static void carriers_of_message(struct nopal_composite *composite,
				const struct nopal_message *message, struct carriers *ret_found);

static void carriers_of_segment(struct nopal_composite *composite,
				const struct nopal_segment *segment, struct carriers *ret_found)
{
	struct nopal_composite *below = awake_below(composite);
	const struct nopal_message *message;
	const struct nopal_segment *lower;
	bool given = false;

	if (!segment->last && !ret_found->composite) {
		ret_found->composite = composite;
		ret_found->segment = segment->handle;
	}
	if (!segment->transmissions)
		return;
	message = below ? nopal__pool_oldest(&below->awake->messages) : NULL;
	for (; message; message = nopal__pool_newer(message))
		if (nopal_handle_equal(message->above, segment->handle) &&
		    nopal__stack_waits(below, message->attribute) == composite) {
			given = true;
			carriers_of_message(below, message, ret_found);
		}
	lower = below ? nopal__pool_oldest(&below->awake->segments) : NULL;
	for (; lower; lower = nopal__pool_newer(lower))
		if (!lower->taken && nopal_handle_equal(lower->above, segment->handle) &&
		    nopal__stack_waits(below, lower->attribute) == composite) {
			given = true;
			carriers_of_segment(below, lower, ret_found);
		}
	/* What redundancy was computed over may be rebuilt from it. */
	ret_found->left |= !given || nopal__provider(composite->layer, "redundancy") != NULL;
}

static void carriers_of_message(struct nopal_composite *composite,
				const struct nopal_message *message, struct carriers *ret_found)
{
	struct nopal_composite *below = awake_below(composite);
	const struct nopal_segment *segment = nopal__pool_oldest(&composite->awake->segments);

	if (!message->cut || message->also || message->segments_arrived ||
	    message->segments_missing || message->segments_unknown)
		ret_found->left = true;
	for (; segment; segment = nopal__pool_newer(segment))
		if (segment->message == message && !segment->done)
			carriers_of_segment(composite, segment, ret_found);
	segment = below ? nopal__pool_oldest(&below->awake->segments) : NULL;
	for (; segment; segment = nopal__pool_newer(segment))
		if (segment->taken && nopal_handle_equal(segment->above, message->handle) &&
		    nopal__stack_waits(below, segment->attribute) == composite)
			carriers_of_segment(below, segment, ret_found);
}

/* True: the message was among those that wait for the session to open, and did not leave in the
 * request for that. */
static bool leaves_the_wait(struct nopal_composite *composite, const struct nopal_message *message)
{
	struct nopal_awake *awake = composite->awake;

	for (uint32_t i = 0; i < awake->waiting_open_count; i++) {
		struct nopal_handle *at = &awake->waiting_open[i];

		if (!nopal_handle_equal(*at, message->handle) || message->early)
			continue;
		awake->waiting_open_count--;
		memmove(at, at + 1, (awake->waiting_open_count - i) * sizeof(*at));
		return true;
	}
	return false;
}

int nopal_message_withdraw(struct nopal_session *session, struct nopal_message *message)
{
	struct nopal_composite *composite = nopal__composite(session);
	struct carriers found = { 0 };

	/* Of many destinations each has a copy of its own. */
	for (const struct nopal_composite *each = composite; each; each = each->below)
		if (each->down->many || (nopal__is_reliable(each) &&
					 !nopal__provider(each->layer, "partial_reliability")))
			return -ENOTSUP;
	if (message->settled)
		return -EALREADY;
	message->pins++;
	if (leaves_the_wait(composite, message)) {
		message->settled = true;
		nopal__message_tell_outcome(composite, message, NOPAL_OUTCOME_EXPIRED);
		nopal__message_unpin(composite, message);
		return 0;
	}
	carriers_of_message(composite, message, &found);
	if (found.left || !found.composite) {
		message->pins--;
		return -EALREADY;
	}
	while (found.composite) {
		struct nopal_segment *segment =
			nopal__pool_find(&found.composite->awake->segments, found.segment);

		nopal__touch(found.composite);
		segment->last = true;
		nopal_segment_abandon(&found.composite->session, segment);
		found = (struct carriers){ 0 };
		carriers_of_message(composite, message, &found);
	}
	nopal__message_unpin(composite, message);
	return 0;
}

int nopal_withdraw(struct nopal_session *session, uint64_t cookie)
{
	struct nopal_composite *composite = nopal__composite(session);
	struct nopal_message *message;
	int refusal = -ENOENT;
	bool outermost;

	if (!nopal__be_awake(composite) || composite->life == NOPAL_LIFE_ENDED)
		return -EPIPE;
	outermost = nopal__turn_begin(composite->world);
	nopal__touch(composite);
	message = nopal__pool_oldest(&composite->awake->messages);
	while (message) {
		struct nopal_message *newer = nopal__pool_newer(message);

		if (!message->incoming && !message->settled && message->cookie == cookie) {
			refusal = nopal_message_withdraw(session, message);
			if (refusal != -EALREADY)
				break;
		}
		message = newer;
	}
	nopal__turn_end(composite->world, outermost);
	return refusal;
}
