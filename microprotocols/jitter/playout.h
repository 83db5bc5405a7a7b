/* SPDX-License-Identifier: MIT */
/*
 * playout.h -- messages that wait for their time, for the jitter microprotocols.
 *
 * A schedule says when a mark of the sender's clock is due here: `zero_mark` at `zero_ns`, and any
 * other mark as much later or earlier as it lies on the sender's clock.  What waits lies in a ring
 * by due time; it is bounded in messages and bytes.  Arrivals that have no place in the schedule,
 * one after the other, begin a new one: the sender paused, or its clock jumped.  What is older than
 * something that had a place is no sign of that.
 *
 * Where messages have numbers, nothing goes before what waits with a lower one, whatever schedules
 * say: an order may have released both.
 *
 * A message gets its time before an order sees it: one that is delivered late must not be behind
 * its successors, which wait for the order alone.  What is dropped the order sees first: it waits
 * for no such message.
 *
 *   arrivals   x  x      x x     x
 *              |--delay--|
 *   deliveries           x   x   x   x   x
 */
#ifndef NOPAL_PLAYOUT_H
#define NOPAL_PLAYOUT_H

#include <nopal/microprotocol.h>

/* Further ahead of its time nothing is believed to be. */
#define PLAYOUT_AHEAD_NS (5 * NOPAL_SECOND)

struct playout_limits {
	int64_t delay_ns; /* from the first arrival to its delivery */
	int64_t messages; /* that may wait */
	int64_t bytes;	  /* of them */
	int64_t strays;	  /* in a row, until a new schedule begins */
};

struct playout_entry {
	int64_t due_ns;
	uint64_t number; /* its place in the order, where there is one */
	uint64_t bytes;
	struct nopal_handle message;
};

struct playout {
	struct playout_entry *ring; /* by due time; made with the first */
	uint32_t head, count;
	uint64_t bytes;
	bool begun;	/* there is a schedule */
	int64_t strays; /* arrivals in a row that have no place in it */
	uint64_t zero_mark;
	int64_t zero_ns;
	uint64_t passed; /* the highest number whose time has come */
	uint64_t newest; /* the highest that had a place */
};

static inline struct playout_entry *playout_at(const struct playout *playout,
					       const struct playout_limits *limits, uint32_t place)
{
	return &playout->ring[(playout->head + place) % (uint32_t)limits->messages];
}

/* A schedule in which this mark is due after the delay, and not before what waits of the old
 * one. */
static inline void playout_begin(struct playout *playout, const struct playout_limits *limits,
				 uint64_t mark, int64_t now_ns)
{
	playout->begun = true;
	playout->strays = 0;
	playout->zero_mark = mark;
	playout->zero_ns = now_ns + limits->delay_ns;
	if (playout->count) {
		int64_t last_ns = playout_at(playout, limits, playout->count - 1)->due_ns;

		if (last_ns > playout->zero_ns)
			playout->zero_ns = last_ns;
	}
}

/* The schedule goes on from a mark that it holds: numbers stay small. */
static inline void playout_move(struct playout *playout, uint64_t mark, int64_t due_ns)
{
	playout->zero_mark = mark;
	playout->zero_ns = due_ns;
}

/* Does it come in time for `due_ns`, and not far too early? */
static inline bool playout_fits(struct playout *playout, const struct playout_limits *limits,
				uint64_t number, int64_t due_ns, int64_t now_ns)
{
	bool is_new = !number || (number > playout->newest && number > playout->passed);

	if (due_ns >= now_ns && due_ns - now_ns <= limits->delay_ns + PLAYOUT_AHEAD_NS) {
		playout->strays = 0;
		if (is_new)
			playout->newest = number;
		return true;
	}
	if (is_new)
		playout->strays++;
	return false;
}

/* By numbers: no earlier than what waits with a lower one, and no later than what waits with a
 * higher one.  So the ring is in the order of numbers, too.  False:
 * the number itself waits there. */
static inline bool playout_fit_in(const struct playout *playout,
				  const struct playout_limits *limits, struct playout_entry *entry)
{
	const struct playout_entry *other;
	uint32_t place = playout->count;

	if (!entry->number)
		return true;
	while (place && playout_at(playout, limits, place - 1)->number > entry->number)
		place--;
	if (place) {
		other = playout_at(playout, limits, place - 1);
		if (other->number == entry->number)
			return false;
		if (other->due_ns > entry->due_ns)
			entry->due_ns = other->due_ns;
	}
	if (place < playout->count) {
		other = playout_at(playout, limits, place);
		if (other->due_ns < entry->due_ns)
			entry->due_ns = other->due_ns;
	}
	return true;
}

static inline bool playout_has_room(const struct playout *playout,
				    const struct playout_limits *limits, uint64_t bytes)
{
	return playout->count < limits->messages &&
	       playout->bytes + bytes <= (uint64_t)limits->bytes;
}

static inline bool playout_is_before(const struct playout_entry *entry,
				     const struct playout_entry *other)
{
	if (entry->due_ns != other->due_ns)
		return entry->due_ns < other->due_ns;
	return entry->number < other->number;
}

/* In its place by time.  False: no room, or no memory. */
static inline bool playout_add(struct nopal_session *session, struct playout *playout,
			       const struct playout_limits *limits,
			       const struct playout_entry *entry)
{
	uint32_t place = playout->count;

	if (!playout->ring)
		playout->ring =
			nopal_alloc(session, (size_t)limits->messages * sizeof(*playout->ring));
	if (!playout->ring || !playout_has_room(playout, limits, entry->bytes))
		return false;
	for (; place && playout_is_before(entry, playout_at(playout, limits, place - 1)); place--)
		*playout_at(playout, limits, place) = *playout_at(playout, limits, place - 1);
	*playout_at(playout, limits, place) = *entry;
	playout->count++;
	playout->bytes += entry->bytes;
	return true;
}

/* Delivers what is due at `until_ns`.  An entry is out before its message goes: a delivery may come
 * back to this session. */
static inline void playout_deliver(struct nopal_at at, struct playout *playout,
				   const struct playout_limits *limits, int64_t until_ns)
{
	while (playout->count && playout_at(playout, limits, 0)->due_ns <= until_ns) {
		struct playout_entry entry = *playout_at(playout, limits, 0);
		struct nopal_message *message = nopal_message_find(at.session, entry.message);

		playout->head = (playout->head + 1) % (uint32_t)limits->messages;
		playout->count--;
		playout->bytes -= entry.bytes;
		if (entry.number > playout->passed)
			playout->passed = entry.number;
		if (message)
			nopal_message_release(at, message);
	}
}

/* The timer stands at the first due time or before it. */
static inline void playout_watch(struct nopal_at at, unsigned timer, const struct playout *playout,
				 const struct playout_limits *limits)
{
	if (playout->count)
		nopal_timer_start(at, timer, playout_at(playout, limits, 0)->due_ns);
}

static inline void playout_idle(struct nopal_session *session, struct playout *playout)
{
	if (playout->count)
		return;
	nopal_free(session, playout->ring);
	playout->ring = NULL;
}

/* The parameters that both have, in a struct with a member `limits`. */
#define PLAYOUT_PARAMETERS(name)                                                                   \
	NOPAL_NUMBER(name, limits.delay_ns, "delay", TIME, "60ms", "0ms", "5s",                    \
		     "from the first arrival to its delivery"),                                    \
		NOPAL_NUMBER(name, limits.messages, "waiting", COUNT, "1024", "1", "65536",        \
			     "messages that may wait"),                                            \
		NOPAL_NUMBER(name, limits.bytes, "buffer", SIZE, "1MiB", "1KiB", "1GiB",           \
			     "bytes of messages that may wait"),                                   \
		NOPAL_NUMBER(name, limits.strays, "restart", COUNT, "8", "1", "65536",             \
			     "arrivals off the schedule in a row that begin a new one")

#endif
