/* SPDX-License-Identifier: MIT */
/*
 * early_data -- early data (0-RTT): messages in the first datagram, behind a replay guard.
 *
 * Paper:     Bayraktar and Bakkal, MADP, section III.F (0-RTT connection setup); RFC 8446, sections 2.3,
 *            4.2.10 and 8; RFC 9001, section 9.2.
 * Differs:   from MADP, which takes the first datagram of any peer: the opener shows a ticket of an
 *            earlier session, and each request counts once.  From TLS 1.3: the ticket holds nothing
 *            of the session, so the listener keeps no key of tickets on disk; keys for aead come
 *            from its psk_file.  Messages travel in the request itself, in the place of its zeros:
 *            as many as fit in one datagram.
 * Wire:      32 bytes in request and answer each.  Request: when the ticket was given 8, its age 8,
 *            nonce 8, proof 8, all 0 without early data.  Answer: when this ticket is given 8, its
 *            key 16, early data were taken 1, zeros 7.  Early data: for each message its length 2
 *            and its bytes, sealed and with a tag of 16 by aead.
 *
 *   opener                                          listener
 *   session 1    <------------------ answer          a ticket: time T, key K
 *   session 2    request: T, age, nonce, proof, messages
 *                ---------------------------------->  K of T and of the sender's IP address: is the
 *                                                     proof good?  T + age within the window?  nonce
 *                                                     not seen?
 *                <------------------ answer: taken    delivered, half a round trip after the opening
 *   or           <------------------ cookie           handshake as usual, the messages behind it
 *
 * Clocks are compared without being the same: T is of the listener's clock, and the age a duration
 * that the opener measured.  A nonce is kept until no opener still waits for an answer to it.  When
 * the table of nonces is full, after a restart, from another IP address and outside of the window
 * early data are refused, and the messages follow the handshake: none is lost, and none comes twice.
 * An opener that was left without any answer for a whole window cannot know, and its session ends.
 *
 * A message may travel early when the application says so, by the property `early` or for all by
 * the parameter `all`: it had better do no harm when it is acted on twice.  A restart of the
 * listener may lose the answer to a request that was admitted; the opener then takes the new
 * listener's cookie for a refusal, and sends the messages again.  A message keeps its place in the
 * order of sending: none that was sent behind one that has to wait is early.  It passes no other
 * microprotocol, so one with any other property waits.
 *
 * Nothing travels early in streams and to many, whose messages are segments here; beside aead without
 * a psk_file; and in a rendezvous, where neither side listens: its messages wait for the session.
 */
#include <string.h>

#include "early_data.h"

enum { EARLY_DATA_MARK }; /* attributes */

static void early_data_forget(struct nopal_at at, struct early_data *self)
{
	nopal_free(at.session, self->block);
	self->block = NULL;
	self->length = 0;
}

/* ----------------------------------------------------------- opener: the request */

static bool early_data_recall(struct nopal_at at, struct nopal_ticket *ret_ticket,
			      int64_t *ret_age_ns)
{
	const struct early_data_parameters *set = nopal_parameters(at);

	return nopal_ticket_recall(at.session, ret_ticket, ret_age_ns) &&
	       *ret_age_ns <= set->lifetime_ns;
}

static bool early_data_ready(struct nopal_at at)
{
	struct nopal_ticket ticket;
	int64_t age_ns;

	return early_data_recall(at, &ticket, &age_ns);
}

/* The messages that wait, sealed, as a block; false: none may travel. */
static bool early_data_fill(struct nopal_at at, struct early_data *self, uint32_t room)
{
	const struct early_data_parameters *set = nopal_parameters(at);
	unsigned slot = set->all ? 0 : at.part->attribute[EARLY_DATA_MARK];
	uint8_t head[EARLY_DATA_HEAD_BYTES];
	struct nopal_writer writer = nopal_writer_over(head, sizeof(head));
	int length = -1;

	early_data_write_head(&writer, &self->head);
	self->block = room > NOPAL_EARLY_TAG_BYTES ? nopal_alloc(at.session, room) : NULL;
	if (!self->block)
		return false;
	writer = nopal_writer_over(self->block, room - NOPAL_EARLY_TAG_BYTES);
	if (nopal_early_write(at.session, slot, &writer))
		length = nopal_early_close(at.session, nopal_reader_over(head, sizeof(head)),
					   self->block, nopal_written(&writer));
	if (length < 0) {
		nopal_early_settle(at.session, false);
		early_data_forget(at, self);
		return false;
	}
	self->length = (uint32_t)length;
	return true;
}

static struct nopal_reader early_data_pack(struct nopal_at at, uint32_t room)
{
	struct early_data *self = nopal_state(at);
	struct nopal_ticket ticket;
	int64_t age_ns;

	if (!self->packed && early_data_recall(at, &ticket, &age_ns)) {
		self->head = (struct early_data_head){ ticket.given_ns, age_ns,
						       nopal_random(at.session) };
		if (early_data_fill(at, self, room < EARLY_DATA_MAX ? room : EARLY_DATA_MAX))
			self->proof = early_data_proof(
				&ticket, &self->head, nopal_session_local_id(at.session),
				nopal_reader_over(self->block, self->length));
		else
			self->head = (struct early_data_head){ 0 };
		self->packed_ns = at.session->now_ns;
	}
	self->packed = true;
	return self->block ? nopal_reader_over(self->block, self->length)
			   : (struct nopal_reader){ 0 };
}

/* The guard remembers our nonce for as long as that: had a copy of the request been admitted, this
 * one would not have been answered by a cookie. */
static bool early_data_refused(struct nopal_at at)
{
	const struct early_data_parameters *set = nopal_parameters(at);
	const struct early_data *self = nopal_state(at);

	if (!self->block || at.session->now_ns - self->packed_ns <= set->window_ns)
		return true;
	nopal_session_break(at.session, NOPAL_UNREACHABLE,
			    "no answer to the request to open in time to know whether the messages "
			    "in it were delivered");
	return false;
}

/* --------------------------------------------------------- listener: the request */

static enum nopal_admission_verdict early_data_admit(struct nopal_at at,
						     const struct nopal_request *request,
						     const uint8_t *extension,
						     struct nopal_reader early)
{
	const struct early_data_parameters *set = nopal_parameters(at);
	struct early_data_head head;
	struct nopal_ticket ticket;
	enum nopal_guarded guarded;
	uint64_t proof;
	bool good;

	if (!early_data_read_head(extension, &head, &proof) || !head.given_ns)
		return NOPAL_ADMIT_DROP;
	good = nopal_request_ticket(request, head.given_ns, &ticket) &&
	       head.age_ns <= set->lifetime_ns &&
	       proof == early_data_proof(&ticket, &head, request->peer_id, early);
	guarded = nopal_request_guard(request, good, head.nonce, head.given_ns + head.age_ns,
				      set->window_ns);
	if (guarded == NOPAL_GUARD_NEW)
		return NOPAL_ADMIT_ACCEPT;
	return guarded == NOPAL_GUARD_SEEN ? NOPAL_ADMIT_DROP : NOPAL_ADMIT_REPLY;
}

/* A cookie was shown in place of early data: they were refused, or never came here, and are not
 * admitted any more.  False: they were admitted, for another session. */
static bool early_data_use_up(struct nopal_at at, const struct early_data_head *head)
{
	const struct early_data_parameters *set = nopal_parameters(at);

	return !head->given_ns ||
	       nopal_session_guard(at.session, head->nonce, head->given_ns + head->age_ns,
				   set->window_ns) != NOPAL_GUARD_SEEN;
}

static bool early_data_arrived(struct nopal_at at, struct nopal_reader early)
{
	struct early_data *self = nopal_state(at);
	uint32_t length = (uint32_t)nopal_read_left(&early);
	uint8_t head[EARLY_DATA_HEAD_BYTES];
	struct nopal_writer writer = nopal_writer_over(head, sizeof(head));
	int opened;

	if (!length)
		return early_data_use_up(at, &self->head);
	early_data_write_head(&writer, &self->head);
	self->block = nopal_alloc(at.session, length);
	if (!self->block)
		return true; /* not taken */
	memcpy(self->block, early.at, length);
	opened = nopal_early_open(at.session, nopal_reader_over(head, sizeof(head)), self->block,
				  length);
	self->taken = opened >= 0;
	self->length = self->taken ? (uint32_t)opened : 0;
	return true;
}

static void early_data_deliver(struct nopal_at at)
{
	struct early_data *self = nopal_state(at);

	if (self->taken && self->block)
		nopal_early_give(at.session, nopal_reader_over(self->block, self->length));
	early_data_forget(at, self);
}

/* --------------------------------------------------------------------- extension */

static void early_data_write_ticket(struct nopal_at at, struct nopal_writer *writer)
{
	const struct early_data_parameters *set = nopal_parameters(at);
	struct early_data *self = nopal_state(at);

	if (!self->ticket.given_ns &&
	    !nopal_ticket_give(at.session, (uint32_t)set->nonces, &self->ticket))
		self->ticket = (struct nopal_ticket){ 0 };
	nopal_write(writer, (uint64_t)self->ticket.given_ns, EARLY_DATA_TIME_BYTES);
	nopal_write(writer, self->ticket.key[0], sizeof(self->ticket.key[0]));
	nopal_write(writer, self->ticket.key[1], sizeof(self->ticket.key[1]));
	nopal_write(writer, self->taken, 1);
	nopal_write(writer, 0, EARLY_DATA_ZEROS);
}

static void early_data_write(struct nopal_at at, uint8_t *bytes)
{
	const struct early_data *self = nopal_state(at);
	struct nopal_writer writer = nopal_writer_over(bytes, EARLY_DATA_BYTES);

	if (!nopal_session_is_opener(at.session)) {
		early_data_write_ticket(at, &writer);
		return;
	}
	early_data_write_head(&writer, &self->head);
	nopal_write(&writer, self->proof, sizeof(self->proof));
}

/* At the opener. */
static bool early_data_read_ticket(struct early_data *self, const uint8_t *bytes)
{
	struct nopal_reader reader = nopal_reader_over(bytes, EARLY_DATA_BYTES);
	struct nopal_ticket ticket;
	uint64_t taken, zeros;

	ticket.given_ns = (int64_t)nopal_read(&reader, EARLY_DATA_TIME_BYTES);
	ticket.key[0] = nopal_read(&reader, sizeof(ticket.key[0]));
	ticket.key[1] = nopal_read(&reader, sizeof(ticket.key[1]));
	taken = nopal_read(&reader, 1);
	zeros = nopal_read(&reader, EARLY_DATA_ZEROS);
	if (ticket.given_ns < 0 || taken > 1 || zeros || (taken && !self->head.given_ns))
		return false;
	if (self->agreed)
		return true;
	self->ticket = ticket;
	self->taken = taken;
	return true;
}

static bool early_data_read(struct nopal_at at, const uint8_t *bytes)
{
	struct early_data *self = nopal_state(at);
	struct early_data_head head;
	uint64_t proof;

	if (nopal_session_is_opener(at.session))
		return early_data_read_ticket(self, bytes);
	if (!early_data_read_head(bytes, &head, &proof))
		return false;
	self->head = head;
	return true;
}

static bool early_data_agreed(struct nopal_at at, const struct nopal_opening *opening)
{
	struct early_data *self = nopal_state(at);

	(void)opening;
	self->agreed = true;
	if (!nopal_session_is_opener(at.session))
		return true;
	if (self->ticket.given_ns)
		nopal_ticket_keep(at.session, &self->ticket);
	nopal_early_settle(at.session, self->taken);
	early_data_forget(at, self);
	return true;
}

/* -------------------------------------------------------------------- descriptor */

#define EARLY_DATA_BECAUSE                                                                         \
	"an early message is delivered when a ticket shows that its sender's address was proven "  \
	"in an earlier session; a replay guard keeps copies out"
#define EARLY_DATA_NOT_SECRET                                                                      \
	EARLY_DATA_BECAUSE "; its key is of psk_file alone, so it is not forward secret"
#define EARLY_DATA_LOWERS(why, ...)                                                                \
	{                                                                                          \
		NOPAL_OPENING, NOPAL_OPENING_STAGE, NOPAL_LOWERS, NOPAL_AGREED | NOPAL_KNOWN_PEER, \
			why, __VA_ARGS__                                                           \
	}

/* Beside secrets nothing travels early without a key that both had before. */
#define EARLY_DATA_KEYED                                                                           \
	.with = "confidentiality", .where = NOPAL_OPENING, .where_has = NOPAL_KNOWN_PEER

/* The same for what may travel early by its property, or by the parameter. */
static const struct nopal_promise early_data_promises[] = {
	EARLY_DATA_LOWERS(EARLY_DATA_BECAUSE, .without = "confidentiality", .of = "early"),
	EARLY_DATA_LOWERS(EARLY_DATA_NOT_SECRET, EARLY_DATA_KEYED, .of = "early"),
	EARLY_DATA_LOWERS(EARLY_DATA_BECAUSE, .without = "confidentiality", .when = "all"),
	EARLY_DATA_LOWERS(EARLY_DATA_NOT_SECRET, EARLY_DATA_KEYED, .when = "all"),
	{ 0 },
};

const struct nopal_microprotocol nopal_early_data = {
	NOPAL_DESCRIBE(early_data, base,
		       "early data (0-RTT): messages in the first datagram, behind a replay guard"),
	.provides = NOPAL_ROLES({ "early_data", true }),
	.needs = NOPAL_RELATIONS(
		{ "virtual_circuit", "its request carries the messages" },
		{ "application",
		  "messages of a layer above, of streams or to many, do not travel early" }),
	.excludes = NOPAL_RELATIONS(
		{ "jitter", "an early message has no place in the schedule of a play-out" },
		{ "tag_matching", "an early message waits for no receive" }),
	.promises = early_data_promises,
	.parameters_size = sizeof(struct early_data_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(early_data, window_ns, "window", TIME, "10s", "100ms", "10min",
			     "how far the time of a request may be from the listener's",
			     .wire = true),
		NOPAL_NUMBER(early_data, lifetime_ns, "lifetime", TIME, "24h", "1s", "168h",
			     "how old the ticket of an earlier session may be"),
		NOPAL_NUMBER(
			early_data, nonces, "nonces", COUNT, "4096", "1", "1048576",
			"requests that the replay guard remembers; then early data are refused"),
		NOPAL_ON_OFF(early_data, all, "all", "off",
			     "every message may travel early, whatever its property says")),
	.attributes = NOPAL_ATTRIBUTES(
		[EARLY_DATA_MARK] = { "early", NOPAL_PROPERTY,
				      "not 0: may travel before the session is open; beside aead, where that has a psk_file" }),
	.raises = NOPAL_RAISES("SESSION_BROKEN"),
	.state_size = sizeof(struct early_data),
	.extension =
		&(const struct nopal_extension){
			.bytes = EARLY_DATA_BYTES,
			.write = early_data_write,
			.read = early_data_read,
			.agreed = early_data_agreed,
			.early = &(const struct nopal_early){ .ready = early_data_ready,
							      .pack = early_data_pack,
							      .refused = early_data_refused,
							      .admit = early_data_admit,
							      .arrived = early_data_arrived,
							      .deliver = early_data_deliver },
		},
};
