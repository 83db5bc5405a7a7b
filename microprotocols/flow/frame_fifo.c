/* SPDX-License-Identifier: MIT */
/*
 * frame_fifo -- frame FIFO of a live source: stale frames are dropped, and the encoder is told.
 *
 *   encoder --> [ frame 9 | frame 8 | frame 7 ] --> window, rate --> network
 *      ^             more than `frames` of them:          |
 *      |             frame 7 is dropped                   |
 *      +------- callback rate: what leaves, or more ------+
 *
 * A frame is the messages with the same property `frame`, or one message without it.  Frames wait
 * here until something of them has left.  Where more wait than the threshold, one is dropped as a
 * whole: of those with the highest property `layer` (an enhancement before the base that it
 * refines), the oldest.  A frame that has begun to leave stays.
 *
 * The encoder is told a rate by the callback `rate` once an interval: nothing waits, a quarter more
 * than what left; more than half of the threshold waits, an eighth less than that.
 *
 * Paper:     Wang, UDTCP, 2003, section 4 and figure 2 (the application's FIFO of frames, its
 *            threshold, and a variable-rate encoder).
 * Differs:   is a part of the composition; layers of a frame.
 */
#include <string.h>

#include <nopal/microprotocol.h>

struct frame_fifo_parameters {
	int64_t frames, interval_ns;
};

struct frame_fifo_entry {
	struct nopal_handle message;
	uint64_t frame; /* 0: a frame of its own */
	uint64_t layer;
};

struct frame_fifo {
	struct frame_fifo_entry *waiting; /* oldest first */
	uint32_t count, room;
	int64_t left_bytes; /* in this interval */
	int64_t told_bps;
	uint64_t leaving; /* the frame of which something left last; 0: none */
};

enum { FRAME_FIFO_FRAME, FRAME_FIFO_LAYER };
enum { FRAME_FIFO_REVIEW };
enum {
	FRAME_FIFO_MORE = 4, /* by this part */
	FRAME_FIFO_LESS = 8,
};

static void frame_fifo_remove(struct frame_fifo *self, uint32_t at)
{
	self->count--;
	memmove(&self->waiting[at], &self->waiting[at + 1],
		(self->count - at) * sizeof(*self->waiting));
}

/* Messages of one frame come one after the other. */
static uint32_t frame_fifo_frames(const struct frame_fifo *self)
{
	uint32_t frames = 0;

	for (uint32_t i = 0; i < self->count; i++)
		frames += !i || !self->waiting[i].frame ||
			  self->waiting[i].frame != self->waiting[i - 1].frame;
	return frames;
}

/* Drops one frame, or one layer of it; false: there is none but the one that leaves. */
static bool frame_fifo_drop(struct nopal_at at)
{
	struct frame_fifo *self = nopal_state(at);
	struct frame_fifo_entry victim = { 0 };
	uint32_t i = 0;

	for (uint32_t each = 0; each < self->count; each++) {
		const struct frame_fifo_entry *one = &self->waiting[each];

		if (one->frame && one->frame == self->leaving)
			continue;
		if (!victim.message.generation || one->layer > victim.layer)
			victim = *one;
	}
	while (i < self->count) {
		struct frame_fifo_entry each = self->waiting[i];
		struct nopal_message *message;
		bool same = victim.frame ? each.frame == victim.frame && each.layer == victim.layer
					 : nopal_handle_equal(each.message, victim.message);

		if (!same) {
			i++;
			continue;
		}
		frame_fifo_remove(self, i);
		message = nopal_message_find(at.session, each.message);
		if (message)
			nopal_message_withdraw(at.session, message);
	}
	return victim.message.generation;
}

static enum nopal_verdict frame_fifo_on_from_user(struct nopal_at at, struct nopal_message *message)
{
	const struct frame_fifo_parameters *set = nopal_parameters(at);
	struct frame_fifo *self = nopal_state(at);
	struct frame_fifo_entry entry = {
		.message = message->handle,
		.frame = nopal_get(at, message, FRAME_FIFO_FRAME),
		.layer = nopal_get(at, message, FRAME_FIFO_LAYER),
	};

	if (!nopal_array_room(at.session, &self->waiting, &self->room, self->count + 1,
			      sizeof(entry))) {
		nopal_session_break(at.session, NOPAL_RESOURCE, "no room to queue a frame");
		return NOPAL_STOP;
	}
	self->waiting[self->count++] = entry;
	if (!nopal_timer_running(at, FRAME_FIFO_REVIEW))
		nopal_timer_start(at, FRAME_FIFO_REVIEW, at.session->now_ns + set->interval_ns);
	return NOPAL_CONTINUE;
}

/* What leaves or ends is mostly the oldest. */
static void frame_fifo_forget(struct nopal_at at, const struct nopal_message *message)
{
	struct frame_fifo *self = nopal_state(at);

	for (uint32_t i = 0; i < self->count; i++)
		if (nopal_handle_equal(self->waiting[i].message, message->handle)) {
			frame_fifo_remove(self, i);
			return;
		}
}

static enum nopal_verdict frame_fifo_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	struct frame_fifo *self = nopal_state(at);

	if (segment->transmissions > 1)
		return NOPAL_CONTINUE;
	self->left_bytes += segment->body.length;
	for (const struct nopal_message *each = segment->message; each; each = each->also) {
		self->leaving = nopal_get(at, each, FRAME_FIFO_FRAME);
		frame_fifo_forget(at, each);
	}
	return NOPAL_CONTINUE;
}

static enum nopal_verdict frame_fifo_on_done(struct nopal_at at, struct nopal_message *message)
{
	frame_fifo_forget(at, message);
	return NOPAL_CONTINUE;
}

/* All that the turn could let go has left. */
static enum nopal_verdict frame_fifo_on_turn_end(struct nopal_at at, struct nopal_session *subject)
{
	const struct frame_fifo_parameters *set = nopal_parameters(at);

	(void)subject;
	while (frame_fifo_frames(nopal_state(at)) > set->frames && frame_fifo_drop(at))
		;
	return NOPAL_CONTINUE;
}

static void frame_fifo_when_review(struct nopal_at at)
{
	const struct frame_fifo_parameters *set = nopal_parameters(at);
	struct frame_fifo *self = nopal_state(at);
	int64_t left_bps = self->left_bytes * 8 * NOPAL_SECOND / set->interval_ns;
	int64_t rate_bps = self->told_bps;

	if (!self->left_bytes && !self->count)
		return;
	if (!self->count)
		rate_bps = left_bps + left_bps / FRAME_FIFO_MORE;
	else if (2 * frame_fifo_frames(self) > set->frames)
		rate_bps = left_bps - left_bps / FRAME_FIFO_LESS;
	self->left_bytes = 0;
	nopal_timer_start(at, FRAME_FIFO_REVIEW, at.session->now_ns + set->interval_ns);
	if (rate_bps == self->told_bps)
		return;
	self->told_bps = rate_bps;
	nopal_session_tell_rate(at.session, rate_bps);
}

static void frame_fifo_idle(struct nopal_at at)
{
	struct frame_fifo *self = nopal_state(at);

	if (self->count)
		return;
	nopal_free(at.session, self->waiting);
	self->waiting = NULL;
	self->room = 0;
}

const struct nopal_microprotocol nopal_frame_fifo = {
	NOPAL_DESCRIBE(
		frame_fifo, flow,
		"frame FIFO of a live source: stale frames are dropped, and the encoder is told"),
	.provides = NOPAL_ROLES({ "frame_fifo", true }),
	.excludes = NOPAL_RELATIONS(
		{ "reliability",
		  "what must arrive is not dropped; partial_reliability has deadlines" },
		{ "coalesce", "messages in one segment cannot be dropped apart" }),
	.promises = NOPAL_PROMISES({ NOPAL_DELIVERY, NOPAL_GIVING_UP, NOPAL_LOWERS, NOPAL_IN_TIME,
				     "frames that wait behind too many others are dropped",
				     .of = "frames" }),
	.parameters_size = sizeof(struct frame_fifo_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(frame_fifo, frames, "frames", COUNT, "8", "1", "100000",
			     "that may wait; where more do, one is dropped"),
		NOPAL_NUMBER(frame_fifo, interval_ns, "interval", TIME, "500ms", "10ms", "1h",
			     "from one rate that the encoder is told to the next")),
	.attributes = NOPAL_ATTRIBUTES(
		[FRAME_FIFO_FRAME] = { "frame", NOPAL_PROPERTY,
				       "messages of one frame have the same number; 0: none has" },
		[FRAME_FIFO_LAYER] = { "layer", NOPAL_PROPERTY,
				       "0: the base; the highest is dropped first" }),
	.timers = NOPAL_TIMERS([FRAME_FIFO_REVIEW] = { "review", frame_fifo_when_review }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(MSG_FROM_USER, frame_fifo_on_from_user, .before = "message_segments"),
		NOPAL_ON(SEND_SEGMENT, frame_fifo_on_send), NOPAL_ON(MSG_DONE, frame_fifo_on_done),
		NOPAL_ON(TURN_END, frame_fifo_on_turn_end,
			 .after = "window_mechanism|rate_mechanism")),
	.state_size = sizeof(struct frame_fifo),
	.idle = frame_fifo_idle,
};
