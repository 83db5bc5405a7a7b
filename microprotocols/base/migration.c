/* SPDX-License-Identifier: MIT */
/*
 * migration -- follow a peer whose address changes, as a NAT or a network gives it.
 *
 * Paper:     RFC 9000, sections 8.2 and 9; Bridges et al., CTP, ToN 2007, has
 *            sessions that end with the address.
 * Differs:   a host need not know that its address changed: a datagram with the right
 *            session id and a good seal, from another address, is the reason to ask
 *            that address.  The answer proves two things: that the peer is there,
 *            and that it is the one that opened the session.  A challenge is not
 *            padded.  Nothing but the answer is taken from an address that has not
 *            proved itself, so a session without keys can be stolen only by a host
 *            that has seen it open.
 * Wire:      migration_ask, migration_proof: 8 bytes.
 *
 *   another address --a segment--> asked --its proof comes back--> the peer's
 *
 * A question is 8 random bytes, and its proof a keyed hash of them, whose key both sides have from
 * the opening.  An address is asked in answer to a segment, once a round trip at most, with no more
 * than three times the bytes that came: a forged one gets no more than that, and no data.
 *
 * With a new IP address the path may be another one: the window is reduced as by a mark of
 * congestion, and the longest datagram is looked for anew.  With a new port alone, as behind a NAT,
 * the path stays the same.
 */
#include <string.h>

#include "path_question.h"

enum { MIGRATION_ASK, MIGRATION_PROOF };      /* kinds */
enum { MIGRATION_SMOOTHED, MIGRATION_COUNT }; /* shared variables */

struct migration {
	struct path_question *path; /* NOPAL_PATHS_MAX of them; NULL: none was asked */
};

static void migration_send(struct nopal_at at, unsigned kind, unsigned path, uint64_t value)
{
	struct nopal_writer writer;
	struct nopal_segment *segment = nopal_control_begin(at, kind, PATH_QUESTION_BYTES, &writer);

	if (!segment)
		return;
	nopal_write(&writer, value, PATH_QUESTION_BYTES);
	nopal_control_send_by(at.session, segment, PATH_QUESTION_BYTES, path);
}

static void migration_ask(struct nopal_at at, unsigned path)
{
	const size_t bytes = NOPAL_PATHS_MAX * sizeof(struct path_question);
	struct migration *self = nopal_state(at);

	if (path >= NOPAL_PATHS_MAX)
		return;
	if (!self->path) {
		self->path = nopal_alloc(at.session, bytes);
		if (!self->path)
			return;
		memset(self->path, 0, bytes);
	}
	if (path_question_ask(at.session, &self->path[path],
			      nopal_shared_get(at, MIGRATION_SMOOTHED)))
		migration_send(at, MIGRATION_ASK, path, self->path[path].bytes);
}

/* Our own address may have changed, and a question is how we hear of it: the answer goes where the
 * question came from, and is no longer. */
static enum nopal_verdict migration_on_ask(struct nopal_at at, struct nopal_segment *segment)
{
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint64_t bytes = nopal_read(&reader, PATH_QUESTION_BYTES);

	if (nopal_read_complete(&reader) && segment->path < NOPAL_PATHS_MAX)
		migration_send(at, MIGRATION_PROOF, segment->path,
			       nopal_session_proof(at.session, bytes));
	return NOPAL_STOP;
}

static void migration_take_proof(struct nopal_at at, const struct nopal_segment *segment)
{
	struct migration *self = nopal_state(at);
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint64_t proof = nopal_read(&reader, PATH_QUESTION_BYTES);
	const struct path_question *question;
	bool elsewhere;

	if (!nopal_read_complete(&reader) || !self->path || segment->path == 0 ||
	    segment->path >= NOPAL_PATHS_MAX)
		return;
	question = &self->path[segment->path];
	if (!path_question_is_good(at.session, question) ||
	    !nopal_session_proves(at.session, question->bytes, proof) ||
	    !nopal_path_move(at.session, segment->path, &elsewhere))
		return;
	nopal_free(at.session, self->path);
	self->path = NULL;
	nopal_shared_get(at, MIGRATION_COUNT)++;
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

const struct nopal_microprotocol nopal_migration = {
	NOPAL_DESCRIBE(migration, base, "follow a peer whose address changes"),
	.provides = NOPAL_ROLES({ "path_change", true }),
	.needs = NOPAL_RELATIONS(
		{ "network", "addresses are those of datagrams" },
		{ "connection", "the secret that proves the peer is told while a session opens" }),
	.excludes = NOPAL_RELATIONS(
		{ "address_demux",
		  "where addresses tell sessions apart, another address is another session" },
		{ "parallel_paths", "it opens paths beside the first" }),
	.shared = NOPAL_SHARED([MIGRATION_SMOOTHED] = { "smoothed_rtt_ns", NOPAL_READ_OPTIONAL, 0,
							"how often an address may be asked" },
			       [MIGRATION_COUNT] = { "migrations", NOPAL_WRITE, 0,
						     "how often the peer's address changed" }),
	.kinds = NOPAL_KINDS([MIGRATION_ASK] = { "migration_ask", NOPAL_KIND_CONTROL,
						 "asks an address for a proof" },
			     [MIGRATION_PROOF] = { "migration_proof", NOPAL_KIND_CONTROL,
						   "of the peer's being there" }),
	.raises = NOPAL_RAISES("CONGESTION_MARKED"),
	.state_size = sizeof(struct migration),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(SEGMENT_FROM_ELSEWHERE, migration_on_elsewhere, .kinds = NOPAL_EVERY_KIND),
		NOPAL_ON_OWN(MIGRATION_ASK, migration_on_ask)),
};
