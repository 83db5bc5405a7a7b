/* SPDX-License-Identifier: MIT */
#include "session/endpoint_sessions.h"
#include "arena.h"

#include <stdlib.h>
#include <string.h>

/* Of one execution: enough for every timer of the runtime, and for keep_alive. */
#define ARENA_LONGEST_NS (400 * NOPAL_SECOND)

/* As whom the NAT shows the opener: no end has that port. */
enum { NAT_PORT = 1100, NAT_PORTS = 4 };
/* More than the ways of an opening, or a closing. */
enum { TICKET_ROUNDS = 8 };

/* ------------------------------------------------------------------- messages */

/* Each byte follows from the first one, so that whoever gets one message can tell whether it was
 * sent. */
static uint8_t pattern_at(uint8_t key, size_t at)
{
	return (uint8_t)(key + at * 7 + at / 256);
}

static void verify(const struct nopal_message *message)
{
	uint8_t bytes[ARENA_MESSAGE];
	size_t length = nopal_message_copy(message, 0, bytes, sizeof(bytes));

	if (length != nopal_message_length(message))
		abort(); /* longer than any that was sent */
	for (size_t i = 0; i < length; i++)
		if (bytes[i] != pattern_at(bytes[0], i))
			abort();
}

static struct nopal_property property_of(const struct arena *arena, unsigned which, uint64_t value)
{
	static const char *const names[] = {
		"",    "urgent",      "deadline",    "attempts", "label",     "after",	"after_2",
		"tag", "out_of_band", "destination", "receive",	 "timestamp", "marker",
	};
	const char *name = names[which % (sizeof(names) / sizeof(*names))];

	return (struct nopal_property){ nopal_property(arena->plan, name), value };
}

void arena_say(struct arena *arena, struct arena_slot *slot, size_t length, unsigned property,
	       uint64_t value)
{
	struct nopal_property with = property_of(arena, property, value);
	uint8_t bytes[ARENA_MESSAGE];
	uint8_t key = (uint8_t)arena->cookie;

	length %= sizeof(bytes) + 1;
	for (size_t i = 0; i < length; i++)
		bytes[i] = pattern_at(key, i);
	nopal_send_message(slot->session,
			   &(struct nopal_outgoing){ .bytes = bytes,
						     .length = length,
						     .cookie = ++arena->cookie,
						     .properties = &with,
						     .property_count = with.which != 0 });
}

void arena_give_back(struct arena_slot *slot)
{
	while (slot->kept)
		nopal_message_give_back(slot->session, slot->keeps[--slot->kept]);
}

/* ------------------------------------------------------------------- callbacks */

static struct arena_slot *free_slot(struct arena *arena)
{
	for (unsigned i = 0; i < ARENA_SESSIONS; i++)
		if (!arena->slots[i].session)
			return &arena->slots[i];
	return NULL;
}

static struct arena_slot *accept_into(struct arena *arena, struct nopal_session *session)
{
	struct arena_slot *slot = free_slot(arena);

	if (slot)
		*slot = (struct arena_slot){ .arena = arena, .session = session };
	return slot;
}

static void *on_accepted(struct nopal_session *session, void *user)
{
	return accept_into(user, session);
}

/* A stream that the acceptor opens: `user` is of the one that the opener opened. */
static void *on_stream(struct nopal_session *session, void *user)
{
	struct arena_slot *opener = user;

	return accept_into(opener->arena, session);
}

static void on_opened(struct nopal_session *session, void *user)
{
	struct arena_slot *slot = user;

	if (slot)
		slot->arena->opened++;
	else
		nopal_session_abort(session, "too many sessions");
}

static void on_received(struct nopal_session *session, struct nopal_message *message, void *user)
{
	struct arena_slot *slot = user;

	(void)session;
	if (!slot)
		return;
	slot->arena->delivered++;
	if (slot->arena->verifies)
		verify(message);
	if (!slot->arena->keeps || slot->kept == ARENA_KEPT)
		return;
	nopal_message_keep(message);
	slot->keeps[slot->kept++] = message;
}

static int64_t on_reserve(struct nopal_session *session, int64_t bps, void *user)
{
	(void)session;
	(void)user;
	return bps;
}

static void on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
		     void *user)
{
	struct arena_slot *slot = user;

	(void)end;
	if (nopal_session_counters(session)->misuses || !text)
		abort();
	if (!slot)
		return;
	arena_give_back(slot);
	slot->session = NULL;
}

#define CALLBACKS                                                                                  \
	.opened = on_opened, .received = on_received, .reserve = on_reserve, .ended = on_ended
static const struct nopal_callbacks acceptor_callbacks = { .accepted = on_accepted, CALLBACKS };
static const struct nopal_callbacks opener_callbacks = { .accepted = on_stream, CALLBACKS };

/* ------------------------------------------------------------------- the network */

static void keep(struct arena_datagram *into, const struct arena_datagram *datagram)
{
	size_t head = offsetof(struct arena_datagram, bytes);

	memcpy(into, datagram, head + datagram->length);
}

void arena_delay(struct arena *arena, const struct arena_datagram *datagram)
{
	unsigned last = arena->first + arena->count;

	keep(&arena->flying[last % ARENA_FLYING], datagram);
	if (arena->count < ARENA_FLYING)
		arena->count++;
	else
		arena->first = (arena->first + 1) % ARENA_FLYING;
}

static struct nopal_address address_of(int host, uint16_t port)
{
	struct nopal_address address;

	nopal_sim_address(host, port, &address);
	return address;
}

static struct nopal_address outside_nat(const struct arena *arena, const struct nopal_address *from)
{
	struct nopal_address own = address_of(0, ARENA_OPENER_PORT);

	return arena->nat.port && nopal_address_equal(from, &own) ? arena->nat : *from;
}

static struct nopal_address inside_nat(const struct arena *arena, const struct nopal_address *to)
{
	return arena->nat.port && nopal_address_equal(to, &arena->nat)
		       ? address_of(0, ARENA_OPENER_PORT)
		       : *to;
}

/* The last host; nobody is there but the NAT. */
static int nat_host(const struct arena *arena)
{
	return (int)arena->family->acceptors + 1;
}

void arena_rebind(struct arena *arena, uint16_t port, bool host)
{
	arena->nat =
		address_of(host ? nat_host(arena) : 0, (uint16_t)(NAT_PORT + port % NAT_PORTS));
}

static void on_transmission(void *user, int64_t now_ns, const struct nopal_address *from,
			    const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	struct arena *arena = user;
	struct arena_datagram *datagram = &arena->seen[arena->seen_count % ARENA_SEEN];

	(void)now_ns;
	if (length > sizeof(datagram->bytes))
		return; /* a fragment, which is lost */
	datagram->from = outside_nat(arena, from);
	datagram->to = *to;
	datagram->to_opener = to->port < ARENA_PORT;
	datagram->length = length;
	memcpy(datagram->bytes, bytes, length);
	arena->seen_count++;
	if (nopal_address_equal(from, &arena->asked))
		arena->answered += length;
	arena_delay(arena, datagram);
}

struct arena_datagram *arena_next(struct arena *arena)
{
	struct arena_datagram *datagram = &arena->flying[arena->first];

	if (!arena->count)
		return NULL;
	arena->first = (arena->first + 1) % ARENA_FLYING;
	arena->count--;
	return datagram;
}

struct arena_datagram *arena_seen(struct arena *arena, unsigned back)
{
	unsigned max = arena->seen_count < ARENA_SEEN ? arena->seen_count : ARENA_SEEN;

	if (!max)
		return NULL;
	return &arena->seen[(arena->seen_count - 1 - back % max) % ARENA_SEEN];
}

/* The next endpoint at that address, from one on; endpoints may close with sessions, so that none
 * is remembered. */
static struct nopal_endpoint *endpoint_at(struct nopal_endpoint *from,
					  const struct nopal_address *to)
{
	while (from && !nopal_address_equal(&from->port.local, to))
		from = from->next;
	return from;
}

/* At the ports that hear a multicast address. */
static void arrive_at_all(struct arena *arena, const struct arena_datagram *datagram)
{
	struct nopal_endpoint *endpoint = endpoint_at(arena->world->endpoints, &datagram->to);

	if (!endpoint)
		return;
	for (; endpoint; endpoint = endpoint_at(endpoint->next, &datagram->to))
		nopal_sim_inject(arena->world, endpoint, &datagram->from, datagram->bytes,
				 datagram->length);
	nopal_sim_step(arena->world);
}

/* An unknown sender is told less than it told the endpoint. */
static void arrive(struct arena *arena, struct nopal_endpoint *endpoint,
		   const struct arena_datagram *datagram)
{
	const struct nopal_endpoint_counters *counters = nopal_endpoint_counters(endpoint);
	bool known = counters->sessions || endpoint->alias_of;
	uint64_t accepted = counters->accepted;
	size_t length = datagram->length; /* its place may be taken meanwhile */

	arena->asked = endpoint->port.local;
	arena->answered = 0;
	nopal_sim_inject(arena->world, endpoint, &datagram->from, datagram->bytes, length);
	nopal_sim_step(arena->world);
	if (!known && accepted == counters->accepted && arena->answered &&
	    arena->answered >= length)
		abort();
}

void arena_deliver(struct arena *arena, const struct arena_datagram *datagram)
{
	struct nopal_address to = inside_nat(arena, &datagram->to);
	struct nopal_endpoint *endpoint = endpoint_at(arena->world->endpoints, &to);

	if (nopal_address_is_multicast(&datagram->to))
		arrive_at_all(arena, datagram);
	else if (endpoint)
		arrive(arena, endpoint, datagram);
}

static void nothing(void *user)
{
	(void)user;
}

void arena_pass(struct arena *arena, int64_t duration_ns)
{
	int64_t until_ns = nopal_world_now(arena->world) + duration_ns;

	if (until_ns > ARENA_LONGEST_NS)
		return;
	nopal_sim_at(arena->world, until_ns, nothing, NULL);
	nopal_sim_run(arena->world, until_ns);
}

void arena_settle(struct arena *arena, unsigned rounds)
{
	while (rounds--) {
		unsigned count = arena->count;

		while (count-- && arena->count)
			arena_deliver(arena, arena_next(arena));
		arena_pass(arena, 10 * NOPAL_MILLISECOND);
	}
}

/* ------------------------------------------------------------ opening, closing */

/* The opener's session, or else the acceptor's: then each meets the other. */
static struct nopal_session *rendezvous(struct arena *arena, struct arena_slot *slot)
{
	struct nopal_address own = address_of(0, ARENA_OPENER_PORT),
			     opener = outside_nat(arena, &own),
			     acceptor = address_of(1, ARENA_PORT);
	struct nopal_session *session =
		nopal_session_open(&(struct nopal_open){ .endpoint = arena->opener[0],
							 .plan = arena->plan,
							 .peer = &acceptor,
							 .callbacks = &opener_callbacks,
							 .user = slot,
							 .rendezvous = true });

	if (session)
		return session;
	return nopal_session_open(&(struct nopal_open){ .endpoint = arena->acceptor[0],
							.plan = arena->plan,
							.peer = &opener,
							.callbacks = &opener_callbacks,
							.user = slot,
							.rendezvous = true });
}

void arena_start(struct arena *arena, enum arena_way way)
{
	struct nopal_address peer = address_of(1, ARENA_PORT);
	struct arena_slot *slot = free_slot(arena), *with = NULL;

	for (unsigned i = 0; i < ARENA_SESSIONS; i++)
		if (arena->slots[i].session && arena->slots[i].opener)
			with = &arena->slots[i];
	if (!slot)
		return;
	*slot = (struct arena_slot){ .arena = arena, .opener = true };
	if (way == ARENA_STREAM && with)
		slot->session = nopal_session_open(&(struct nopal_open){
			.beside = with->session, .callbacks = &opener_callbacks, .user = slot });
	else if (way == ARENA_RENDEZVOUS)
		slot->session = rendezvous(arena, slot);
	else
		slot->session =
			nopal_open(arena->opener[0], arena->plan, &peer, &opener_callbacks, slot);
}

void arena_get_ticket(struct arena *arena)
{
	arena_start(arena, ARENA_CONNECT);
	arena_settle(arena, TICKET_ROUNDS);
	for (unsigned i = 0; i < ARENA_SESSIONS; i++)
		if (arena->slots[i].session)
			nopal_session_close(arena->slots[i].session);
	arena_settle(arena, TICKET_ROUNDS);
	arena_pass(arena, NOPAL_SECOND);
}

struct arena_slot *arena_slot(struct arena *arena, unsigned n)
{
	unsigned living = 0;

	for (unsigned i = 0; i < ARENA_SESSIONS; i++)
		living += arena->slots[i].session != NULL;
	if (!living)
		return NULL;
	n %= living;
	for (unsigned i = 0;; i++)
		if (arena->slots[i].session && n-- == 0)
			return &arena->slots[i];
}

static struct nopal_endpoint *listen_at(struct arena *arena, int host, uint8_t key)
{
	struct nopal_endpoint *endpoint = nopal_sim_endpoint(arena->world, host, ARENA_PORT);
	uint8_t reset_key[NOPAL_RESET_KEY_BYTES] = { key };

	if (nopal_endpoint_set_reset_key(endpoint, reset_key) ||
	    nopal_endpoint_allow(endpoint, arena->plan, NOPAL_ALLOW_CONNECTIONLESS,
				 &acceptor_callbacks, arena))
		abort();
	return endpoint;
}

void arena_restart(struct arena *arena, bool same_key)
{
	if (arena->family->many_paths)
		return; /* its second address would go with it */
	nopal_endpoint_close(arena->acceptor[0]);
	arena->acceptor[0] = listen_at(arena, 1, !same_key);
}

static void connect_hosts(struct arena *arena)
{
	/* down for ever: what enters is seen, and comes no further */
	static const struct nopal_link down = { .limit = 1,
						.mtu = 1500,
						.down_until_ns = NOPAL_NEVER };

	nopal_sim_host(arena->world);
	for (int i = 1; i <= nat_host(arena); i++)
		nopal_sim_connect(arena->world, 0, nopal_sim_host(arena->world), &down, &down);
	nopal_sim_tap(arena->world, on_transmission, arena);
}

/* Each end has a second address, which its sessions may use. */
static void share_seconds(struct arena *arena)
{
	arena->opener[1] = nopal_sim_endpoint(arena->world, 0, ARENA_OPENER_PORT + 1);
	arena->acceptor[1] = nopal_sim_endpoint(arena->world, 1, ARENA_PORT + 1);
	if (nopal_endpoint_share(arena->opener[1], arena->opener[0]) ||
	    nopal_endpoint_share(arena->acceptor[1], arena->acceptor[0]))
		abort();
}

bool arena_open(struct arena *arena, const struct family *family)
{
	size_t kept = offsetof(struct arena, flying);

	memset(arena, 0, kept);
	arena->first = arena->count = arena->seen_count = 0;
	arena->cookie = 0;
	arena->answered = 0;
	arena->opened = arena->delivered = 0;
	arena->family = family;
	arena->plan = family_plan(family);
	if (!arena->plan)
		return false;
	arena->world = nopal_sim_new(1);
	connect_hosts(arena);
	arena->opener[0] = nopal_sim_endpoint(arena->world, 0, ARENA_OPENER_PORT);
	arena->acceptor[0] = listen_at(arena, 1, 0);
	if (family->acceptors > 1)
		arena->other = listen_at(arena, 2, 0);
	if (family->many_paths)
		share_seconds(arena);
	return true;
}

void arena_close(struct arena *arena)
{
	nopal_world_free(arena->world);
	for (unsigned i = 0; i < ARENA_SESSIONS; i++)
		if (arena->slots[i].session)
			abort(); /* it was not told that it ended */
}
