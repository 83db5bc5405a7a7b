/* SPDX-License-Identifier: MIT */
/*
 * watch_deeds.c -- what a handler or a timer changed while it ran, and what came of what it
 * stopped.
 *
 * A handler that raises an event gives control away: what it changed until then is judged first,
 * and what others changed meanwhile is not its own.  Bytes are known by their hash; what was
 * dropped, and what the peer is said to have, is held against all that came anywhere.
 */

#include <string.h>

#include "inspect/watching.h"

enum { FIRST_SIGHTINGS = 1024, IDLE_MIN = 4 };

/* Hashes of bytes are of three kinds: arrived as a segment, went on as one, and as a message. */
enum sighted { SIGHTED_ARRIVED = 1, SIGHTED_PASSED, SIGHTED_MESSAGE };

/* --------------------------------------------------------------------- hashes */

/* The runs of a watch hash all bytes several dozen times: a word at a time, and nobody who wants
 * two hashes to be equal is kept from it. */
static uint64_t bytes_hash(uint64_t hash, const uint8_t *bytes, uint64_t length)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t word;

	hash = (hash ^ length) * odd;
	for (; length >= sizeof(word); length -= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		bytes += sizeof(word);
		hash = (hash ^ word) * odd;
		hash ^= hash >> 32;
	}
	for (word = 0; length; length--)
		word = word << 8 | bytes[length - 1];
	hash = (hash ^ word) * odd;
	return hash ^ hash >> 29;
}

static uint64_t segment_hash(const struct nopal_segment *segment)
{
	return bytes_hash(0, segment->body.bytes, segment->body.length);
}

static uint64_t message_hash(const struct nopal_message *message)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < message->fragments_room; i++)
		if (message->fragment[i].length)
			hash = bytes_hash(hash, message->fragment[i].bytes,
					  message->fragment[i].length);
	return hash;
}

/* All that a timer of the part may change by itself: its own state, shared variables, and when
 * timers were started. */
static uint64_t own_state(const struct nopal_watched_run *run)
{
	const struct nopal_composite *composite = run->composite;
	uint64_t hash = composite->awake->timer_order;

	hash = bytes_hash(hash, (const uint8_t *)composite->awake + run->part->state,
			  run->part->microprotocol->state_size);
	return bytes_hash(hash, (const uint8_t *)composite->session.shared,
			  composite->layer->shared_count * sizeof(int64_t));
}

/* ------------------------------------------------------------------ sightings */

/* The place of the hash, or the free one where it belongs. */
static struct nopal_sighting *sighting_at(const struct nopal_watch *watch, uint64_t hash)
{
	uint64_t at = hash;

	while (watch->sightings[at & (watch->room - 1)].hash &&
	       watch->sightings[at & (watch->room - 1)].hash != hash)
		at++;
	return &watch->sightings[at & (watch->room - 1)];
}

static bool sightings_grow(struct nopal_watch *watch)
{
	struct nopal_sighting *old = watch->sightings;
	uint32_t room = watch->room;

	if (2 * watch->sighted < room)
		return true;
	watch->room = room ? 2 * room : FIRST_SIGHTINGS;
	watch->sightings = calloc(watch->room, sizeof(*watch->sightings));
	if (!watch->sightings) {
		watch->sightings = old;
		watch->room = room;
		return false;
	}
	for (uint32_t i = 0; i < room; i++)
		if (old[i].hash)
			*sighting_at(watch, old[i].hash) = old[i];
	free(old);
	return true;
}

/* NULL: out of memory. */
static struct nopal_sighting *sighting_of(struct nopal_watch *watch, uint64_t body,
					  enum sighted kind)
{
	uint64_t hash = (body ^ kind) | UINT64_C(1) << 63;
	struct nopal_sighting *one;

	if (!sightings_grow(watch))
		return NULL;
	one = sighting_at(watch, hash);
	watch->sighted += !one->hash;
	one->once = kind != SIGHTED_MESSAGE;
	one->hash = hash;
	return one;
}

static void sighting_came(struct nopal_watch *watch, uint64_t body, enum sighted kind)
{
	struct nopal_sighting *one = sighting_of(watch, body, kind);

	if (one)
		one->came++;
}

static void sighting_gone(struct nopal_watch *watch, const struct nopal_watched_run *run,
			  enum sighted kind)
{
	struct nopal_sighting *one = sighting_of(watch, run->body, kind);

	if (!one)
		return;
	if (one->gone++ == 0)
		one->part = run->part->index;
}

void nopal__watch_lost(const struct nopal_watch *watch, unsigned part, uint64_t *count)
{
	for (uint32_t i = 0; i < watch->room; i++) {
		const struct nopal_sighting *one = &watch->sightings[i];

		count[NOPAL_DEED_LOST] += one->gone && one->part == part &&
					  (one->once ? !one->came : one->gone >= one->came);
	}
	if (watch->expiries[part] >= IDLE_MIN && watch->expiries[part] == watch->idle[part])
		count[NOPAL_DEED_IDLE] += watch->idle[part];
}

/* ---------------------------------------------------------------------- looks */

static bool moves_bytes(enum nopal_event event)
{
	static const bool moves[NOPAL_EVENT_COUNT] = {
		[NOPAL_MSG_FROM_USER] = true,	 [NOPAL_MSG_FROM_NET] = true,
		[NOPAL_MSG_TO_USER] = true,	 [NOPAL_SEGMENT_FROM_USER] = true,
		[NOPAL_SEGMENT_TO_NET] = true,	 [NOPAL_SEND_SEGMENT] = true,
		[NOPAL_SEGMENT_RESEND] = true,	 [NOPAL_SEGMENT_FROM_NET] = true,
		[NOPAL_SEGMENT_VERIFIED] = true, [NOPAL_SEGMENT_RECEIVED] = true,
	};

	return moves[event];
}

static uint32_t shared_slots(const struct nopal_watched_run *run)
{
	uint32_t slots = run->composite->layer->shared_count;

	return slots < NOPAL_WATCH_SHARED ? slots : NOPAL_WATCH_SHARED;
}

void nopal__watch_look(struct nopal_watched_run *run)
{
	const struct nopal_awake *awake = run->composite->awake;
	size_t slots = run->composite->layer->plan->slot_count;

	run->ended = run->composite->life == NOPAL_LIFE_ENDED;
	memcpy(run->shared, run->composite->session.shared, shared_slots(run) * sizeof(int64_t));
	run->memory = run->composite->memory;
	run->queued = awake->queue.count;
	if (run->event == NOPAL_NO_EVENT)
		run->state = own_state(run);
	if (run->segment) {
		memcpy(run->waiting, run->segment->waiting, sizeof(run->segment->waiting));
		memcpy(run->attribute, run->segment->attribute, slots * sizeof(uint64_t));
		run->bytes = run->segment->body.bytes;
	} else if (run->message) {
		run->waiting[NOPAL_DELIVER] = run->message->waiting;
		memcpy(run->attribute, run->message->attribute, slots * sizeof(uint64_t));
		run->bytes = run->message->fragment[0].bytes;
	}
	if (!moves_bytes(run->event))
		return;
	run->body = run->segment ? segment_hash(run->segment) : message_hash(run->message);
}

static void deed(struct nopal_watch *watch, const struct nopal_watched_run *run,
		 enum nopal_deed which, uint64_t more)
{
	watch->count[run->part->index][which] += more;
}

static void judge_shared(struct nopal_watch *watch, const struct nopal_watched_run *run)
{
	const int64_t *now = run->composite->session.shared;
	uint32_t slots = shared_slots(run);

	if (memcmp(run->shared, now, slots * sizeof(*now)) == 0)
		return;
	for (uint32_t i = 0; i < slots; i++)
		if (now[i] != run->shared[i] && !(run->rights->shared >> i & 1))
			deed(watch, run, NOPAL_DEED_SHARED, 1);
}

static void judge_attributes(struct nopal_watch *watch, const struct nopal_watched_run *run)
{
	const uint64_t *now = run->segment ? run->segment->attribute : run->message->attribute;

	for (unsigned slot = 1; slot < run->composite->layer->plan->slot_count; slot++)
		if (now[slot] != run->attribute[slot] && run->rights->forbidden >> slot & 1)
			deed(watch, run, NOPAL_DEED_ATTRIBUTE, 1);
}

/* Bits went that nobody released. */
static void judge_holds(struct nopal_watch *watch, const struct nopal_watched_run *run)
{
	if (run->segment && run->segment->incoming)
		return;
	if (run->message && !run->message->settled && !run->message->delivered)
		deed(watch, run, NOPAL_DEED_HOLD,
		     (run->waiting[NOPAL_DELIVER] & ~run->message->waiting) != 0);
	for (unsigned b = 0; run->segment && b < NOPAL_DELIVER; b++)
		deed(watch, run, NOPAL_DEED_HOLD,
		     (run->waiting[b] & ~run->segment->waiting[b] & ~NOPAL_HOLD_BELOW) != 0);
}

/* Is it data, or control of another part?  What the runtime has besides is for those whom it is
 * sent to. */
static bool is_for_others(const struct nopal_watched_run *run)
{
	const struct nopal_part *owner;

	if (!run->segment || run->segment->kind == NOPAL_KIND_DATA)
		return true;
	owner = run->composite->layer->plan->kinds[run->segment->kind].part;
	return owner && owner->index != run->part->index;
}

static bool is_own_kind(const struct nopal_watched_run *run)
{
	const struct nopal_part *owner =
		run->segment ? run->composite->layer->plan->kinds[run->segment->kind].part : NULL;

	return owner && owner->index == run->part->index;
}

static void judge_bytes(struct nopal_watch *watch, const struct nopal_watched_run *run)
{
	if (run->segment && segment_hash(run->segment) != run->body) {
		deed(watch, run, NOPAL_DEED_BYTES, !is_own_kind(run));
	} else if (run->message && message_hash(run->message) != run->body) {
		deed(watch, run,
		     run->message->fragment[0].bytes == run->bytes ? NOPAL_DEED_BYTES
								   : NOPAL_DEED_REPLACED,
		     1);
	}
}

/* Memory that the run took lies in the list before the memory that was there; where the latter has
 * been given back, the amount cannot be told. */
static void judge_memory(struct nopal_watch *watch, const struct nopal_watched_run *run)
{
	const struct nopal_memory *one = run->composite->memory;
	uint64_t bytes = 0;

	for (; one && one != run->memory; one = one->next)
		bytes += one->bytes;
	if (one == run->memory)
		deed(watch, run, NOPAL_DEED_MEMORY, bytes);
}

/* While it leaves, or is about to, nobody can have it. */
static bool is_leaving(const struct nopal_watch *watch, const struct nopal_segment *segment)
{
	for (uint32_t i = 0; i < watch->depth; i++)
		if (watch->run[i].segment == segment &&
		    (watch->run[i].event == NOPAL_SEND_SEGMENT ||
		     watch->run[i].event == NOPAL_SEGMENT_TO_NET))
			return true;
	return false;
}

/* Said that the peer has what came nowhere. */
static void judge_received(struct nopal_watch *watch, const struct nopal_watched_run *by,
			   const struct nopal_segment *segment)
{
	const struct nopal_sighting *one;

	if (!by || segment->kind != NOPAL_KIND_DATA || !segment->body.length)
		return;
	if (is_leaving(watch, segment)) {
		deed(watch, by, NOPAL_DEED_FORGED, 1);
		return;
	}
	if (!watch->both_ends)
		return;
	one = sighting_of(watch, segment_hash(segment), SIGHTED_ARRIVED);
	deed(watch, by, NOPAL_DEED_FORGED, one && !one->came);
}

static void judge_queue(struct nopal_watch *watch, const struct nopal_watched_run *run)
{
	const struct nopal_deferred_list *list = &run->composite->awake->queue;

	for (uint32_t i = run->queued; i < list->count; i++) {
		const struct nopal_deferred *one = &list->entries[(list->head + i) % list->room];

		nopal__watch_raise(watch, run, one->event);
		if (one->event == NOPAL_SEGMENT_RECEIVED)
			judge_received(watch, run, one->subject);
	}
}

/* In good order, as only the role connection may; to break it is for all. */
static bool is_closed(const struct nopal_watched_run *run)
{
	struct nopal_composite *composite = run->composite;
	enum nopal_end end = nopal__stack_bottom(composite)->end;

	return composite->life == NOPAL_LIFE_ENDED && run->part != composite->layer->connection &&
	       (end == NOPAL_ENDED_WELL || end == NOPAL_UNDELIVERED);
}

void nopal__watch_judge(struct nopal_watch *watch, const struct nopal_watched_run *run)
{
	deed(watch, run, NOPAL_DEED_CLOSED, !run->ended && is_closed(run));
	judge_shared(watch, run);
	judge_memory(watch, run);
	judge_queue(watch, run);
	if (!run->segment && !run->message)
		return;
	judge_attributes(watch, run);
	judge_holds(watch, run);
	if (moves_bytes(run->event))
		judge_bytes(watch, run);
}

/* ---------------------------------------------------------- begin, raise, end */

static bool carries_user_data(const struct nopal_watched_run *run)
{
	return run->segment && run->segment->incoming && run->segment->kind == NOPAL_KIND_DATA &&
	       run->segment->body.length;
}

void nopal__watch_begin(struct nopal_watch *watch, const struct nopal_watched_run *run)
{
	if (run->event == NOPAL_SEGMENT_RECEIVED && watch->received_raised) {
		judge_received(watch, nopal__watch_raiser(watch, run->composite->depth - 1u),
			       run->segment);
		watch->received_raised = false;
	}
	if (run->event == NOPAL_MSG_FROM_NET && watch->rose) {
		sighting_came(watch, run->body, SIGHTED_MESSAGE);
		watch->rose = false;
	}
	if (!carries_user_data(run))
		return;
	sighting_came(watch, run->body, SIGHTED_ARRIVED);
	if (run->event == NOPAL_SEGMENT_VERIFIED)
		sighting_came(watch, run->body, SIGHTED_PASSED);
}

/* Of the events that roles raise, and the runtime does not: what has to be declared for it.
 * Between layers the runtime raises some of them, too. */
static enum nopal_event declared_as(const struct nopal_watch *watch, enum nopal_event event)
{
	static const enum nopal_event as[NOPAL_EVENT_COUNT] = {
		[NOPAL_SEGMENT_RECEIVED] = NOPAL_SEGMENT_RECEIVED,
		[NOPAL_SEGMENT_TIMEOUT] = NOPAL_SEGMENT_TIMEOUT,
		[NOPAL_SEGMENT_LOST] = NOPAL_SEGMENT_LOST,
		[NOPAL_ACK_FROM_NET] = NOPAL_ACK_FROM_NET,
		[NOPAL_ACK_PROCESSED] = NOPAL_ACK_PROCESSED,
		[NOPAL_MSG_FROM_NET] = NOPAL_MSG_FROM_NET,
		[NOPAL_SEGMENT_TO_NET] = NOPAL_SEGMENT_TO_NET,
		[NOPAL_FORWARD_RECEIVED] = NOPAL_FORWARD_RECEIVED,
		[NOPAL_CONGESTION_MARKED] = NOPAL_CONGESTION_MARKED,
		[NOPAL_SEGMENT_ABANDONED] = NOPAL_SEGMENT_ABANDONED,
	};
	static const enum nopal_event alone_as[NOPAL_EVENT_COUNT] = {
		[NOPAL_SEGMENT_FROM_USER] = NOPAL_SEGMENT_FROM_USER,
		[NOPAL_SEGMENT_FROM_NET] = NOPAL_SEGMENT_FROM_NET,
		[NOPAL_SEGMENT_VERIFIED] = NOPAL_SEGMENT_FROM_NET,
	};

	if ((unsigned)event >= NOPAL_EVENT_COUNT)
		return NOPAL_NO_EVENT;
	return as[event] || watch->plan->layer_count > 1 ? as[event] : alone_as[event];
}

static bool declares(const struct nopal_part *part, enum nopal_event event)
{
	const char *const *raises = part->microprotocol->raises;

	for (; raises && *raises; raises++)
		if (strcmp(*raises, nopal_event_name(event)) == 0)
			return true;
	return false;
}

void nopal__watch_raise(struct nopal_watch *watch, const struct nopal_watched_run *by,
			enum nopal_event event)
{
	enum nopal_event as = declared_as(watch, event);

	watch->received_raised |= event == NOPAL_SEGMENT_RECEIVED;
	watch->rose |= event == NOPAL_MSG_FROM_NET;
	if (!by)
		return;
	deed(watch, by, NOPAL_DEED_RAISED, 1);
	deed(watch, by, NOPAL_DEED_RESENT, event == NOPAL_SEGMENT_RESEND);
	if (as != NOPAL_NO_EVENT && !declares(by->part, as))
		deed(watch, by, NOPAL_DEED_RAISE, 1);
}

/* A segment stopped at SEGMENT_VERIFIED may come again; a segment that passed that event does not
 * come again for having been stopped after it. */
static void stopped_segment(struct nopal_watch *watch, const struct nopal_watched_run *run)
{
	struct nopal_sighting *one = sighting_of(watch, run->body, SIGHTED_PASSED);

	if (one && run->event == NOPAL_SEGMENT_VERIFIED)
		one->came--;
	sighting_gone(watch, run, SIGHTED_PASSED);
}

static void ended_message(struct nopal_watch *watch, const struct nopal_watched_run *run,
			  bool stopped)
{
	const struct nopal_message *message = run->message;

	if (run->event == NOPAL_MSG_FROM_USER)
		deed(watch, run, NOPAL_DEED_LOST, stopped && !message->refused && !message->cut);
	else if (message->incoming && message->settled && !run->settled &&
		 (!message->delivered || message->unread))
		sighting_gone(watch, run, SIGHTED_MESSAGE);
	else if (stopped)
		deed(watch, run, NOPAL_DEED_STOPPED, 1);
}

/* Has it a timer that is to expire without any time between? */
static bool wants_at_once(const struct nopal_watched_run *run)
{
	const struct nopal_composite *composite = run->composite;
	const struct nopal_timer *declared = run->part->microprotocol->timers;

	for (uint32_t i = 0; declared && declared[i].name; i++)
		if (composite->awake->timers[run->part->first_timer + i].deadline_ns <=
		    composite->session.now_ns)
			return true;
	return false;
}

static void ended_timer(struct nopal_watch *watch, const struct nopal_watched_run *run)
{
	bool acted = watch->acts != run->acts;

	watch->expiries[run->part->index]++;
	deed(watch, run, NOPAL_DEED_WOKEN, 1);
	deed(watch, run, NOPAL_DEED_SPUN, !acted && wants_at_once(run));
	watch->idle[run->part->index] += !acted && own_state(run) == run->state;
}

void nopal__watch_ended(struct nopal_watch *watch, const struct nopal_watched_run *run,
			bool stopped)
{
	if (run->event == NOPAL_NO_EVENT) {
		ended_timer(watch, run);
	} else if (run->message) {
		ended_message(watch, run, stopped);
	} else if (stopped && carries_user_data(run) &&
		   (run->event == NOPAL_SEGMENT_FROM_NET || run->event == NOPAL_SEGMENT_VERIFIED)) {
		stopped_segment(watch, run);
	} else if (stopped && is_for_others(run)) {
		deed(watch, run, NOPAL_DEED_STOPPED, 1);
	}
}
