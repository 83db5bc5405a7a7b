/* SPDX-License-Identifier: MIT */
/*
 * migration -- follow a peer whose address changes, as a NAT or a network gives it.
 *
 * Paper:     RFC 9000, sections 8.2 and 9; Bridges et al., CTP, ToN 2007, has
 *            sessions that end with the address.
 * Differs:   whoever's address changed need not know it: a datagram with the right
 *            session id and a good seal, from another address, is the reason to ask
 *            that address.  The answer proves two things: that the peer is there,
 *            and that it is the one that opened the session.  A challenge is not
 *            padded.  Nothing but the answer is taken from an address that has not
 *            proved itself, so a session without keys is stolen by nobody who has
 *            not seen it open.
 * Wire:      migration_ask, migration_proof: 8 bytes.
 *
 *   another address --a segment--> asked --its proof comes back--> the peer's
 *
 * What is asked are 8 random bytes, and what proves it is a keyed hash of them, whose key both
 * sides have from the opening.  An address is asked in answer to a segment, once a round trip at
 * most, by no more than three times what came: a forged one gets no more than that, and no data.
 *
 * Where the IP address is another one, what was known of the path may be wrong: the window is
 * reduced as by a mark of congestion, and the longest datagram is looked for anew.  Where only the
 * port is, as behind a NAT, the path is what it was.
 */
#include <string.h>

#include <nopal/microprotocol.h>

enum { MIGRATION_ASK, MIGRATION_PROOF };      /* kinds */
enum { MIGRATION_SMOOTHED, MIGRATION_COUNT }; /* shared variables */
enum { MIGRATION_BYTES = 8 };		      /* of a question and of a proof */

static const int64_t MIGRATION_EVERY_NS = 100 * NOPAL_MILLISECOND;

/* Of a path that has not proved itself.  A number is given to another path only after
 * NOPAL_PATH_SILENCE_NS, and then the question is another one. */
struct migration_question {
	uint64_t bytes; /* 0: nobody was asked */
	int64_t made_ns, asked_ns;
};

struct migration {
	struct migration_question *path; /* NOPAL_PATHS_MAX; NULL: none yet */
};

static void migration_send(struct nopal_at at, unsigned kind, unsigned path, uint64_t value)
{
	struct nopal_writer writer;
	struct nopal_segment *segment = nopal_control_begin(at, kind, MIGRATION_BYTES, &writer);

	if (!segment)
		return;
	nopal_write(&writer, value, MIGRATION_BYTES);
	nopal_control_send_by(at.session, segment, MIGRATION_BYTES, path);
}

static struct migration_question *migration_question_of(struct nopal_at at, unsigned path)
{
	struct migration *self = nopal_state(at);

	if (path >= NOPAL_PATHS_MAX)
		return NULL;
	if (!self->path) {
		self->path = nopal_alloc(at.session, NOPAL_PATHS_MAX * sizeof(*self->path));
		if (self->path)
			memset(self->path, 0, NOPAL_PATHS_MAX * sizeof(*self->path));
	}
	return self->path ? &self->path[path] : NULL;
}

static bool migration_is_good(const struct nopal_session *session,
			      const struct migration_question *question)
{
	return question->bytes && session->now_ns - question->made_ns < NOPAL_PATH_SILENCE_NS;
}

static void migration_ask(struct nopal_at at, unsigned path)
{
	struct migration_question *question = migration_question_of(at, path);
	int64_t every_ns = nopal_shared_get(at, MIGRATION_SMOOTHED);

	if (every_ns == 0)
		every_ns = MIGRATION_EVERY_NS;
	if (!question || (question->bytes && at.session->now_ns - question->asked_ns < every_ns))
		return;
	if (!migration_is_good(at.session, question)) {
		nopal_random_bytes(at.session, &question->bytes, sizeof(question->bytes));
		question->made_ns = at.session->now_ns;
	}
	question->asked_ns = at.session->now_ns;
	migration_send(at, MIGRATION_ASK, path, question->bytes);
}

/* It may be our own address that changed, and this is how we could hear of it: the answer goes
 * where the question came from, and is no longer. */
static enum nopal_verdict migration_on_ask(struct nopal_at at, struct nopal_segment *segment)
{
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint64_t bytes = nopal_read(&reader, MIGRATION_BYTES);

	if (nopal_read_complete(&reader) && segment->path < NOPAL_PATHS_MAX)
		migration_send(at, MIGRATION_PROOF, segment->path,
			       nopal_session_proof(at.session, bytes));
	return NOPAL_STOP;
}

static void migration_moved(struct nopal_at at)
{
	struct migration *self = nopal_state(at);

	nopal_free(at.session, self->path);
	self->path = NULL;
	nopal_shared_set(at, MIGRATION_COUNT, nopal_shared_get(at, MIGRATION_COUNT) + 1);
}

static void migration_take_proof(struct nopal_at at, const struct nopal_segment *segment)
{
	const struct migration *self = nopal_state(at);
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint64_t proof = nopal_read(&reader, MIGRATION_BYTES);
	const struct migration_question *question;
	bool elsewhere;

	if (!nopal_read_complete(&reader) || !self->path || segment->path == 0 ||
	    segment->path >= NOPAL_PATHS_MAX)
		return;
	question = &self->path[segment->path];
	if (!migration_is_good(at.session, question) ||
	    !nopal_session_proves(at.session, question->bytes, proof) ||
	    !nopal_path_move(at.session, segment->path, &elsewhere))
		return;
	migration_moved(at);
	if (elsewhere)
		nopal_raise_CONGESTION_MARKED(at.session, at.session);
}

static enum nopal_verdict migration_on_elsewhere(struct nopal_at at, struct nopal_segment *segment)
{
	if (segment->kind == nopal_kind(at, MIGRATION_PROOF))
		migration_take_proof(at, segment);
	else if (segment->kind == nopal_kind(at, MIGRATION_ASK))
		migration_on_ask(at, segment);
	else
		migration_ask(at, segment->path);
	return NOPAL_CONTINUE;
}

static const struct nopal_binding migration_bindings[] = {
	NOPAL_ON(SEGMENT_FROM_ELSEWHERE, migration_on_elsewhere, .kinds = NOPAL_EVERY_KIND),
	NOPAL_ON(SEGMENT_FROM_NET, migration_on_ask, .kinds = NOPAL_OWN_KIND + MIGRATION_ASK),
	{ 0 },
};

static const struct nopal_relation migration_excludes[] = {
	{ "address_demux",
	  "where the address tells whose a datagram is, another address is another session" },
	{ "parallel_paths", "it opens paths beside the first" },
	{ 0 },
};

static const struct nopal_shared migration_shared[] = {
	[MIGRATION_SMOOTHED] = { "smoothed_rtt_ns", NOPAL_READ_OPTIONAL, 0,
				 "how often an address may be asked" },
	[MIGRATION_COUNT] = { "migrations", NOPAL_WRITE, 0,
			      "how often the peer's address changed" },
	{ 0 },
};

static const struct nopal_kind migration_kinds[] = {
	[MIGRATION_ASK] = { "migration_ask", NOPAL_KIND_CONTROL, "asks an address for a proof" },
	[MIGRATION_PROOF] = { "migration_proof", NOPAL_KIND_CONTROL, "of the peer's being there" },
	{ 0 },
};

const struct nopal_microprotocol nopal_migration = {
	.abi = NOPAL_ABI,
	.name = "migration",
	.family = "base",
	.summary = "follow a peer whose address changes",
	.provides = NOPAL_ROLES({ "path_change", true }),
	.needs = NOPAL_RELATIONS(
		{ "network", "addresses are those of datagrams" },
		{ "connection", "the secret that proves the peer is told while a session opens" }),
	.excludes = migration_excludes,
	.shared = migration_shared,
	.kinds = migration_kinds,
	.raises = NOPAL_RAISES("CONGESTION_MARKED"),
	.state_size = sizeof(struct migration),
	.bindings = migration_bindings,
};
