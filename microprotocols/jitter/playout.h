/* SPDX-License-Identifier: MIT */
/*
 * playout.h -- messages that wait for their time, and the handlers of the jitter microprotocols.
 *
 * A schedule says when a mark of the sender's clock is due here: `zero_mark` at `zero_ns`, and any
 * other mark as much later or earlier as it lies on the sender's clock.  Waiting messages are in a
 * ring by due time, bounded in messages and bytes.  Arrivals that have no place in the schedule,
 * one after the other, begin a new one: the sender paused, or its clock jumped.  A message older
 * than one that had a place is no sign of that.
 *
 * Where messages have numbers, none goes before a waiting one with a lower number, whatever
 * schedules say: an order may have released both.
 *
 * A message gets its time before an order sees it: one that is delivered late must not be behind
 * its successors, which wait for the order alone.  A message that is dropped passes the order
 * first, so that the order does not wait for it.
 *
 *   arrivals   x  x      x x     x
 *              |--delay--|
 *   deliveries           x   x   x   x   x
 */
#ifndef NOPAL_PLAYOUT_H
#define NOPAL_PLAYOUT_H

#include <nopal/microprotocol.h>

/* A message is not believed to be further ahead of its time. */
#define PLAYOUT_AHEAD_NS (5 * NOPAL_SECOND)

/* The tables of a jitter microprotocol begin with these rows. */
enum { PLAYOUT_MARK, PLAYOUT_USELESS, PLAYOUT_ATTRIBUTES }; /* attributes */
enum { PLAYOUT_DROPPED, PLAYOUT_SHARED };		    /* shared variables */
enum { PLAYOUT_DUE };					    /* timers */

/* The parameters of a jitter microprotocol begin with these. */
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

/* A schedule in which this mark is due after the delay, and not before the messages that wait of
 * the old one. */
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

/* Does the message come in time for `due_ns`, and not far too early? */
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

/* By numbers: no earlier than a message that waits with a lower one, and no later than one with a
 * higher one.  So the ring is in the order of numbers, too.  False: the number itself waits
 * there. */
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

/* In its place by time.  False: no room, or no memory. */
static inline bool playout_add(struct nopal_session *session, struct playout *playout,
			       const struct playout_limits *limits,
			       const struct playout_entry *entry)
{
	uint32_t place = playout->count;

	if (!playout->ring)
		playout->ring =
			nopal_alloc(session, (size_t)limits->messages * sizeof(*playout->ring));
	if (!playout->ring || playout->count >= limits->messages ||
	    playout->bytes + entry->bytes > (uint64_t)limits->bytes)
		return false;
	for (; place; place--) {
		const struct playout_entry *other = playout_at(playout, limits, place - 1);

		if (other->due_ns < entry->due_ns ||
		    (other->due_ns == entry->due_ns && other->number <= entry->number))
			break;
		*playout_at(playout, limits, place) = *other;
	}
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
static inline void playout_watch(struct nopal_at at)
{
	const struct playout_limits *limits = nopal_parameters(at);
	const struct playout *playout = nopal_state(at);

	if (playout->count)
		nopal_timer_start(at, PLAYOUT_DUE, playout_at(playout, limits, 0)->due_ns);
}

static inline void playout_drop(struct nopal_at at, struct nopal_message *message)
{
	nopal_shared_get(at, PLAYOUT_DROPPED)++;
	nopal_set(at, message, PLAYOUT_USELESS, 1);
}

/* Keeps a message that has its time. */
static inline void playout_keep(struct nopal_at at, struct nopal_message *message, uint64_t number,
				int64_t due_ns)
{
	const struct playout_limits *limits = nopal_parameters(at);
	struct playout *playout = nopal_state(at);
	struct playout_entry entry = {
		.due_ns = due_ns,
		.number = number,
		.bytes = message->length,
		.message = message->handle,
	};

	if (!playout_fit_in(playout, limits, &entry))
		nopal_set(at, message, PLAYOUT_USELESS, 1);
	else if (!playout_add(at.session, playout, limits, &entry))
		playout_drop(at, message);
	playout_watch(at);
}

/* ----------------------------------------------------------------- handlers */

static inline void playout_when_due(struct nopal_at at)
{
	playout_deliver(at, nopal_state(at), nopal_parameters(at), at.session->now_ns);
	playout_watch(at);
}

/* After the order has seen the message. */
static inline enum nopal_verdict playout_on_useless(struct nopal_at at,
						    struct nopal_message *message)
{
	if (!nopal_get(at, message, PLAYOUT_USELESS))
		return NOPAL_CONTINUE;
	nopal_message_discard(at.session, message);
	return NOPAL_STOP;
}

static inline enum nopal_verdict playout_on_peer_closed(struct nopal_at at,
							struct nopal_session *subject)
{
	(void)subject;
	playout_deliver(at, nopal_state(at), nopal_parameters(at), INT64_MAX);
	return NOPAL_CONTINUE;
}

static inline void playout_idle(struct nopal_at at)
{
	struct playout *playout = nopal_state(at);

	if (playout->count)
		return;
	nopal_free(at.session, playout->ring);
	playout->ring = NULL;
}

/* Rows of those tables; the struct of parameters has a member `limits`. */
#define PLAYOUT_PARAMETERS(name)                                                                   \
	NOPAL_NUMBER(name, limits.delay_ns, "delay", TIME, "60ms", "0ms", "5s",                    \
		     "from the first arrival to its delivery"),                                    \
		NOPAL_NUMBER(name, limits.messages, "waiting", COUNT, "1024", "1", "65536",        \
			     "messages that may wait"),                                            \
		NOPAL_NUMBER(name, limits.bytes, "buffer", SIZE, "1MiB", "1KiB", "1GiB",           \
			     "bytes of messages that may wait"),                                   \
		NOPAL_NUMBER(name, limits.strays, "restart", COUNT, "8", "1", "65536",             \
			     "arrivals off the schedule in a row that begin a new one")
#define PLAYOUT_USELESS_ROW                                                                        \
	[PLAYOUT_USELESS] = { "jitter_useless", NOPAL_WRITE, "1: it has no time" }
#define PLAYOUT_DROPPED_ROW                                                                        \
	[PLAYOUT_DROPPED] = { "jitter_dropped", NOPAL_WRITE, 0,                                    \
			      "messages too late, or without room" }

#endif
