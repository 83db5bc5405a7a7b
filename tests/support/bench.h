/* SPDX-License-Identifier: MIT */
/*
 * bench.h -- one microprotocol alone on a bench: its descriptor, and a runtime that does what it is
 * told.  For tests that need every value in their own hands; include it in one file of the test.
 *
 *     bench_open(&nopal_windowed_cc);
 *     *bench_shared("congestion_window_bytes") = 3000;
 *     segment = bench_segment(1000);
 *     bench_raise(NOPAL_SEGMENT_TO_NET, segment);
 *     assert_int_equal(segment->transmissions, 1);
 *     bench_close();
 *
 * Other gates are the bits BENCH_OTHERS, which the test sets and releases.
 */
#ifndef NOPAL_TEST_BENCH_H
#define NOPAL_TEST_BENCH_H

#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "support/test.h"

enum {
	BENCH_BODY = 1000, /* one full segment */
	BENCH_SEGMENTS = 8192,
	BENCH_SLOTS = NOPAL_MAX_SHARED,
	BENCH_SAID = 4096,
	BENCH_ALLOCATIONS = 64,
	BENCH_OWN = 1 << 4,
	BENCH_OTHERS = 1 << 8,
};

static struct bench {
	const struct nopal_microprotocol *microprotocol;
	struct nopal_session *session;
	struct nopal_part part;
	int64_t shared[BENCH_SLOTS];
	int64_t parameters[BENCH_SLOTS];
	int64_t timer[BENCH_SLOTS];
	struct nopal_segment *segment[BENCH_SEGMENTS];
	uint32_t segments;
	uint64_t next_packet, oldest_packet;
	uint64_t draw;
	void *memory[BENCH_ALLOCATIONS]; /* the session's, released at its end */
	bool no_memory, not_open;
	uint32_t broke; /* calls of nopal_session_break */
	uint32_t misuses;
	uint64_t send_limit; /* as it was set last */
	/* control segments that it sent */
	struct bench_said {
		uint8_t kind;
		uint32_t length;
		uint8_t bytes[8];
	} said[BENCH_SAID];
	uint32_t said_count;
	/* transmissions, in order */
	struct nopal_segment *left[BENCH_SEGMENTS];
	uint32_t left_count;
	void (*on_left)(struct nopal_segment *segment);
} bench;

static inline uint64_t bench_draw(void)
{
	bench.draw = bench.draw * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return bench.draw >> 24;
}

/* ------------------------------------------------------------ the runtime */

uint64_t nopal_random(struct nopal_session *session)
{
	(void)session;
	return bench_draw();
}

uint32_t nopal_body_limit(const struct nopal_session *session)
{
	(void)session;
	return BENCH_BODY;
}

uint32_t nopal_body_max(const struct nopal_session *session)
{
	(void)session;
	return BENCH_BODY;
}

uint64_t nopal_next_packet_number(const struct nopal_session *session)
{
	(void)session;
	return bench.next_packet;
}

uint64_t nopal_oldest_transmission(const struct nopal_session *session)
{
	(void)session;
	return bench.oldest_packet;
}

bool nopal_session_is_open(const struct nopal_session *session)
{
	(void)session;
	return !bench.not_open;
}

void nopal_session_break(struct nopal_session *session, enum nopal_end end, const char *text)
{
	(void)session, (void)end, (void)text;
	bench.broke++;
}

void nopal_send_limit_set(struct nopal_session *session, uint64_t bytes)
{
	(void)session;
	bench.send_limit = bytes;
}

void *nopal_alloc(struct nopal_session *session, size_t bytes)
{
	(void)session;
	if (bench.no_memory)
		return NULL;
	for (size_t i = 0; i < BENCH_ALLOCATIONS; i++)
		if (!bench.memory[i])
			return bench.memory[i] = malloc(bytes);
	return NULL;
}

void nopal_free(struct nopal_session *session, void *memory)
{
	(void)session;
	for (size_t i = 0; i < BENCH_ALLOCATIONS; i++)
		if (bench.memory[i] == memory)
			bench.memory[i] = NULL;
	free(memory);
}

struct nopal_segment *nopal_segment_find(struct nopal_session *session, struct nopal_handle handle)
{
	struct nopal_segment *segment = bench.segment[handle.index];

	(void)session;
	return segment->handle.generation == handle.generation ? segment : NULL;
}

void nopal_segment_prefetch(struct nopal_session *session, struct nopal_handle handle)
{
	(void)session, (void)handle;
}

void nopal_timer_start(struct nopal_at at, unsigned which, int64_t deadline_ns)
{
	(void)at;
	bench.timer[which] = deadline_ns;
}

void nopal_timer_stop(struct nopal_at at, unsigned which)
{
	(void)at;
	bench.timer[which] = NOPAL_NEVER;
}

bool nopal_timer_running(struct nopal_at at, unsigned which)
{
	(void)at;
	return bench.timer[which] != NOPAL_NEVER;
}

struct nopal_segment *nopal_control_new(struct nopal_at at, unsigned kind, uint32_t length,
					uint8_t **ret_bytes)
{
	struct nopal_segment *segment;

	(void)at;
	if (bench.no_memory)
		return NULL;
	segment = calloc(1, sizeof(*segment) + length);
	segment->kind = (uint8_t)kind;
	*ret_bytes = (uint8_t *)(segment + 1);
	segment->body.bytes = *ret_bytes;
	return segment;
}

void nopal_control_send(struct nopal_session *session, struct nopal_segment *segment,
			uint32_t length)
{
	struct bench_said *said = &bench.said[bench.said_count++ % BENCH_SAID];

	(void)session;
	said->kind = segment->kind;
	said->length = length;
	memcpy(said->bytes, segment->body.bytes,
	       length < sizeof(said->bytes) ? length : sizeof(said->bytes));
	free(segment);
}

static inline struct nopal_at bench_at(void)
{
	return (struct nopal_at){ bench.session, &bench.part };
}

/* -------------------------------------------------------------- the events */

static inline void bench_bind(const struct nopal_binding *binding, unsigned event, void *subject)
{
	struct nopal_session *session = bench.session;

	if (event == NOPAL_TURN_END)
		binding->run.TURN_END(bench_at(), session);
	else if (event == NOPAL_CONGESTION_MARKED)
		binding->run.CONGESTION_MARKED(bench_at(), session);
	else if (event == NOPAL_OPEN_SESSION)
		binding->run.OPEN_SESSION(bench_at(), session);
	else if (event == NOPAL_MSG_FROM_USER)
		binding->run.MSG_FROM_USER(bench_at(), subject);
	else if (event == NOPAL_SESSION_OPENED)
		binding->run.SESSION_OPENED(bench_at(), session);
	else if (event == NOPAL_ACK_PROCESSED || event == NOPAL_ACK_FROM_NET)
		binding->run.ACK_PROCESSED(bench_at(), subject);
	else if (event == NOPAL_MSG_FROM_NET || event == NOPAL_MSG_CONSUMED)
		binding->run.MSG_FROM_NET(bench_at(), subject);
	else
		binding->run.SEGMENT_TO_NET(bench_at(), subject);
}

/* Raises an event; for own kinds, `kinds` is NOPAL_OWN_KIND + i. */
static inline void bench_raise_kind(unsigned event, unsigned kinds, void *subject)
{
	const struct nopal_binding *binding = bench.microprotocol->bindings;

	for (; binding->event != NOPAL_NO_EVENT; binding++)
		if (binding->event == event &&
		    (kinds < NOPAL_OWN_KIND) == (binding->kinds < NOPAL_OWN_KIND) &&
		    (kinds < NOPAL_OWN_KIND || binding->kinds == kinds))
			bench_bind(binding, event, subject);
}

static inline void bench_raise(unsigned event, void *subject)
{
	bench_raise_kind(event, NOPAL_DATA, subject);
}

static inline void bench_turn_end(void)
{
	bench_raise(NOPAL_TURN_END, NULL);
}

/* The send barrier: when complete the segment leaves. */
static inline void bench_check_barrier(struct nopal_segment *segment)
{
	if (segment->waiting[NOPAL_SEND] || !segment->wanted || segment->done)
		return;
	segment->wanted = false;
	segment->transmissions++;
	segment->transmitted_ns = bench.session->now_ns;
	segment->packet_number = bench.next_packet++;
	bench.left[bench.left_count++ % BENCH_SEGMENTS] = segment;
	if (!bench.microprotocol->holds[0].sticky)
		segment->waiting[NOPAL_SEND] |= BENCH_OWN;
	bench_raise(NOPAL_SEND_SEGMENT, segment);
	if (bench.on_left)
		bench.on_left(segment);
}

void nopal_release(struct nopal_at at, struct nopal_segment *segment, enum nopal_barrier barrier)
{
	if (!nopal_holds(at, segment, barrier))
		bench.misuses++;
	segment->waiting[barrier] &= ~nopal_hold_bit(at, barrier);
	if (barrier == NOPAL_SEND)
		bench_check_barrier(segment);
}

static inline void bench_release_others(struct nopal_segment *segment)
{
	segment->waiting[NOPAL_SEND] &= ~(uint32_t)BENCH_OTHERS;
	bench_check_barrier(segment);
}

static inline struct nopal_segment *bench_segment(uint32_t length)
{
	uint32_t index = bench.segments++;
	struct nopal_segment *segment =
		calloc(1, sizeof(*segment) + BENCH_SLOTS * sizeof(uint64_t));

	assert_true(index < BENCH_SEGMENTS);
	segment->handle = (struct nopal_handle){ index, 1 };
	segment->body.length = length;
	segment->wanted = true;
	segment->waiting[NOPAL_SEND] = BENCH_OWN;
	bench.segment[index] = segment;
	return segment;
}

/* Lost and asked to leave again. */
static inline void bench_lose(struct nopal_segment *segment)
{
	bench_raise(NOPAL_SEGMENT_LOST, segment);
	segment->wanted = true;
	bench_raise(NOPAL_SEGMENT_RESEND, segment);
}

static inline void bench_done(struct nopal_segment *segment)
{
	segment->done = true;
	segment->wanted = false;
	bench_raise(NOPAL_SEGMENT_DONE, segment);
}

/* An event of which a policy reads the number alone. */
static inline void bench_status(unsigned event, uint64_t packet_number)
{
	struct nopal_segment *segment =
		calloc(1, sizeof(*segment) + BENCH_SLOTS * sizeof(uint64_t));

	segment->packet_number = packet_number;
	segment->transmissions = 1;
	segment->body.length = BENCH_BODY;
	bench_raise(event, segment);
	free(segment);
}

static inline void bench_ack(uint64_t largest, uint64_t acked_bytes)
{
	struct nopal_ack ack = {
		.largest = largest,
		.largest_is_new = true,
		.largest_sent_ns = 0,
		.selective = true,
		.newly_acked_segments = (uint32_t)(acked_bytes / BENCH_BODY),
		.newly_acked_bytes = acked_bytes,
	};

	bench_raise(NOPAL_ACK_PROCESSED, &ack);
}

/* ---------------------------------------------------------- the microprotocol */

static inline int64_t *bench_shared(const char *name)
{
	const struct nopal_shared *shared = bench.microprotocol->shared;

	for (size_t i = 0; shared[i].name; i++)
		if (strcmp(shared[i].name, name) == 0)
			return &bench.shared[i];
	fail_msg("no shared variable %s", name);
	return NULL;
}

static inline int64_t *bench_parameter(const char *name)
{
	const struct nopal_parameter *entry = bench.microprotocol->parameters;

	for (; entry->name; entry++)
		if (strcmp(entry->name, name) == 0)
			return (int64_t *)((char *)bench.parameters + entry->offset);
	fail_msg("no parameter %s", name);
	return NULL;
}

/* The slot of its i-th attribute is i + 1. */
static inline uint64_t *bench_attribute(struct nopal_segment *segment, unsigned which)
{
	return &segment->attribute[which + 1];
}

/* Set parameters between these two. */
static inline void bench_place(const struct nopal_microprotocol *microprotocol)
{
	size_t head = (sizeof(struct nopal_session) + 15) & ~(size_t)15;

	memset(&bench, 0, sizeof(bench));
	bench.microprotocol = microprotocol;
	bench.draw = 1;
	bench.session = calloc(1, head + microprotocol->state_size);
	bench.session->shared = bench.shared;
	bench.session->awake = (void *)bench.session;
	bench.part.microprotocol = microprotocol;
	bench.part.parameters = bench.parameters;
	bench.part.state = (uint32_t)head;
	bench.part.hold[NOPAL_SEND] = BENCH_OWN;
	for (uint8_t i = 0; i < NOPAL_MAX_SHARED; i++)
		bench.part.shared[i] = i;
	for (uint8_t i = 0; i < NOPAL_MAX_ATTRIBUTES; i++)
		bench.part.attribute[i] = (uint8_t)(i + 1);
	for (uint8_t i = 0; i < NOPAL_MAX_KINDS; i++)
		bench.part.kind[i] = i;
	for (size_t i = 0; i < BENCH_SLOTS; i++)
		bench.timer[i] = NOPAL_NEVER;
	for (size_t i = 0; microprotocol->shared[i].name; i++)
		bench.shared[i] = microprotocol->shared[i].initial;
}

static inline void bench_begin(void)
{
	if (bench.microprotocol->open)
		assert_int_equal(bench.microprotocol->open(bench_at()), 0);
}

static inline void *bench_state(void)
{
	return nopal_state(bench_at());
}

/* Time passes; timers fire that are due. */
static inline void bench_pass(int64_t duration_ns)
{
	int64_t until = bench.session->now_ns + duration_ns;
	const struct nopal_timer *timers = bench.microprotocol->timers;

	for (bool fired = true; fired;) {
		unsigned first = 0;

		fired = false;
		for (unsigned i = 0; timers && timers[i].name; i++)
			if (bench.timer[i] < bench.timer[first])
				first = i;
		if (!timers || bench.timer[first] > until)
			break;
		if (bench.timer[first] > bench.session->now_ns)
			bench.session->now_ns = bench.timer[first];
		bench.timer[first] = NOPAL_NEVER;
		timers[first].expired(bench_at());
		bench_turn_end();
		fired = true;
	}
	bench.session->now_ns = until;
}

static inline void bench_close(void)
{
	assert_int_equal(bench.misuses, 0);
	for (uint32_t i = 0; i < bench.segments; i++)
		free(bench.segment[i]);
	for (size_t i = 0; i < BENCH_ALLOCATIONS; i++)
		free(bench.memory[i]);
	free(bench.session);
}

/* As a fixture. */
static inline int bench_tear_down(void **state)
{
	(void)state;
	bench_close();
	return 0;
}

/* A segment that asks to leave for the first time. */
static inline struct nopal_segment *bench_want(uint32_t length)
{
	struct nopal_segment *segment = bench_segment(length);

	bench_raise(NOPAL_SEGMENT_TO_NET, segment);
	return segment;
}

#endif
