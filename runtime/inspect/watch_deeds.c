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

enum { IDLE_MIN = 4 };

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

/* NULL: out of memory. */
static struct nopal_sighting *sighting_of(struct nopal_watch *watch, uint64_t body,
					  enum sighted kind)
{
	struct nopal_sighting *one = nopal_map_get(&watch->sightings, body ^ kind);

	if (one)
		return one;
	one = calloc(1, sizeof(*one));
	if (!one || nopal_map_put(NULL, &watch->sightings, body ^ kind, one) < 0) {
		free(one);
		return NULL;
	}
	one->once = kind != SIGHTED_MESSAGE;
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
	for (uint32_t i = 0; i < watch->sightings.room; i++) {
		const struct nopal_sighting *one = watch->sightings.slots[i].value;

		count[NOPAL_DEED_LOST] += one && one->gone && one->part == part &&
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

/* Said that the peer has what came nowhere. */
static void judge_received(struct nopal_watch *watch, const struct nopal_watched_run *by,
			   const struct nopal_segment *segment)
{
	const struct nopal_sighting *one;

	if (!by || segment->kind != NOPAL_KIND_DATA || !segment->body.length)
		return;
	/* While it leaves, or is about to, nobody can have it. */
	for (uint32_t i = 0; i < watch->depth; i++)
		if (watch->run[i].segment == segment &&
		    (watch->run[i].event == NOPAL_SEND_SEGMENT ||
		     watch->run[i].event == NOPAL_SEGMENT_TO_NET)) {
			deed(watch, by, NOPAL_DEED_FORGED, 1);
			return;
		}
	if (!watch->both_ends)
		return;
	one = sighting_of(watch, segment_hash(segment), SIGHTED_ARRIVED);
	deed(watch, by, NOPAL_DEED_FORGED, one && !one->came);
}

/* Whose kind of segment the subject is; NULL: the runtime's, or it is none. */
static const struct nopal_part *kind_owner(const struct nopal_watched_run *run)
{
	return run->segment ? run->composite->layer->plan->kinds[run->segment->kind].part : NULL;
}

/* Attributes, hold bits that went and nobody released, and bytes. */
static void judge_subject(struct nopal_watch *watch, const struct nopal_watched_run *run)
{
	const struct nopal_segment *segment = run->segment;
	const struct nopal_message *message = run->message;
	const uint64_t *now = segment ? segment->attribute : message->attribute;
	const struct nopal_part *owner = kind_owner(run);

	for (unsigned slot = 1; slot < run->composite->layer->plan->slot_count; slot++)
		if (now[slot] != run->attribute[slot] && run->rights->forbidden >> slot & 1)
			deed(watch, run, NOPAL_DEED_ATTRIBUTE, 1);
	if (message && !message->settled && !message->delivered)
		deed(watch, run, NOPAL_DEED_HOLD,
		     (run->waiting[NOPAL_DELIVER] & ~message->waiting) != 0);
	for (unsigned b = 0; segment && !segment->incoming && b < NOPAL_DELIVER; b++)
		deed(watch, run, NOPAL_DEED_HOLD,
		     (run->waiting[b] & ~segment->waiting[b] & ~NOPAL_HOLD_BELOW) != 0);
	if (!moves_bytes(run->event))
		return;
	if (segment && segment_hash(segment) != run->body)
		deed(watch, run, NOPAL_DEED_BYTES, !owner || owner->index != run->part->index);
	else if (message && message_hash(message) != run->body)
		deed(watch, run,
		     message->fragment[0].bytes == run->bytes ? NOPAL_DEED_BYTES
							      : NOPAL_DEED_REPLACED,
		     1);
}

void nopal__watch_judge(struct nopal_watch *watch, const struct nopal_watched_run *run)
{
	struct nopal_composite *composite = run->composite;
	const int64_t *now = composite->session.shared;
	const struct nopal_memory *one = composite->memory;
	const struct nopal_deferred_list *list = &composite->awake->queue;
	enum nopal_end end = nopal__stack_bottom(composite)->end;
	uint64_t bytes = 0;

	/* Closed in good order, as only the role connection may; to break it is for all. */
	deed(watch, run, NOPAL_DEED_CLOSED,
	     !run->ended && composite->life == NOPAL_LIFE_ENDED &&
		     run->part != composite->layer->connection &&
		     (end == NOPAL_ENDED_WELL || end == NOPAL_UNDELIVERED));
	for (uint32_t i = 0; i < shared_slots(run); i++)
		if (now[i] != run->shared[i] && !(run->rights->shared >> i & 1))
			deed(watch, run, NOPAL_DEED_SHARED, 1);
	/* Memory that the run took lies in the list before the memory that was there; where the
	 * latter has been given back, the amount cannot be told. */
	for (; one && one != run->memory; one = one->next)
		bytes += one->bytes;
	if (one == run->memory)
		deed(watch, run, NOPAL_DEED_MEMORY, bytes);
	for (uint32_t i = run->queued; i < list->count; i++) {
		const struct nopal_deferred *queued = &list->entries[(list->head + i) % list->room];

		nopal__watch_raise(watch, run, queued->event);
		if (queued->event == NOPAL_SEGMENT_RECEIVED)
			judge_received(watch, run, queued->subject);
	}
	if (run->segment || run->message)
		judge_subject(watch, run);
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

void nopal__watch_raise(struct nopal_watch *watch, const struct nopal_watched_run *by,
			enum nopal_event event)
{
	const char *const *raises = by ? by->part->microprotocol->raises : NULL;
	enum nopal_event as = declared_as(watch, event);

	watch->received_raised |= event == NOPAL_SEGMENT_RECEIVED;
	watch->rose |= event == NOPAL_MSG_FROM_NET;
	if (!by)
		return;
	deed(watch, by, NOPAL_DEED_RAISED, 1);
	deed(watch, by, NOPAL_DEED_RESENT, event == NOPAL_SEGMENT_RESEND);
	while (as != NOPAL_NO_EVENT && raises && *raises &&
	       strcmp(*raises, nopal_event_name(as)) != 0)
		raises++;
	deed(watch, by, NOPAL_DEED_RAISE, as != NOPAL_NO_EVENT && !(raises && *raises));
}

void nopal__watch_ended(struct nopal_watch *watch, const struct nopal_watched_run *run,
			bool stopped)
{
	const struct nopal_composite *composite = run->composite;
	const struct nopal_timer_state *timers = &composite->awake->timers[run->part->first_timer];
	const struct nopal_timer *declared = run->part->microprotocol->timers;
	const struct nopal_message *message = run->message;
	const struct nopal_part *owner = kind_owner(run);
	bool acted = watch->acts != run->acts, at_once = false;
	struct nopal_sighting *one;

	if (run->event == NOPAL_NO_EVENT) {
		/* Is a timer of it to expire without any time between? */
		for (uint32_t i = 0; declared && declared[i].name; i++)
			at_once |= timers[i].deadline_ns <= composite->session.now_ns;
		watch->expiries[run->part->index]++;
		deed(watch, run, NOPAL_DEED_WOKEN, 1);
		deed(watch, run, NOPAL_DEED_SPUN, !acted && at_once);
		watch->idle[run->part->index] += !acted && own_state(run) == run->state;
	} else if (message && run->event == NOPAL_MSG_FROM_USER) {
		deed(watch, run, NOPAL_DEED_LOST, stopped && !message->refused && !message->cut);
	} else if (message && message->incoming && message->settled && !run->settled &&
		   (!message->delivered || message->unread)) {
		sighting_gone(watch, run, SIGHTED_MESSAGE);
	} else if (stopped && carries_user_data(run) &&
		   (run->event == NOPAL_SEGMENT_FROM_NET || run->event == NOPAL_SEGMENT_VERIFIED)) {
		/* Stopped at SEGMENT_VERIFIED it may come again; having passed that event, it does
		 * not come again for having been stopped after it. */
		one = sighting_of(watch, run->body, SIGHTED_PASSED);
		if (one && run->event == NOPAL_SEGMENT_VERIFIED)
			one->came--;
		sighting_gone(watch, run, SIGHTED_PASSED);
	} else if (!run->segment || run->segment->kind == NOPAL_KIND_DATA ||
		   (owner && owner->index != run->part->index)) {
		/* Data, or control of another part; what the runtime has besides is for those whom
		 * it is sent to. */
		deed(watch, run, NOPAL_DEED_STOPPED, stopped);
	}
}
