/* SPDX-License-Identifier: MIT */
/*
 * wire.h -- private to the files of the wire: what each does for the others and for the rooms
 * above.
 */
#ifndef NOPAL_WIRE_H
#define NOPAL_WIRE_H

#include <string.h>

#include "base/bytes.h"
#include "session/endpoint_sessions.h"

/* ------------------------------------------------ paths of a session: path.c */

/* Paths of a session that has a second one; the first one is not among them. */
struct nopal_path {
	struct nopal_endpoint *endpoint; /* NULL: no path has this number */
	struct nopal_address peer;
	bool given; /* by the application */
	int64_t heard_ns;
};
struct nopal_paths {
	uint32_t open;			  /* a bit a path */
	struct nopal_address opened_with; /* the peer's address at first */
	struct nopal_path path[NOPAL_PATHS_MAX];
};

uint8_t nopal__path_arrived(struct nopal_composite *bottom);
/* The number of the path of the datagram that arrives now: one for a whole arrival, but for a move
 * in between. */
static inline uint8_t nopal__path_of_arrival(struct nopal_composite *bottom)
{
	const struct nopal_endpoint *endpoint = bottom->endpoint;

	if (endpoint->arrived_of == bottom)
		return endpoint->arrived_path;
	if (endpoint->arrived_at == endpoint && endpoint->arrived_from &&
	    memcmp(endpoint->arrived_from, &bottom->peer, sizeof(bottom->peer)) == 0)
		return 0; /* as most often: by the first */
	return nopal__path_arrived(bottom);
}
/* Where sessions follow their peer: a segment by another path than the first goes to the part that
 * follows. */
bool nopal__path_is_elsewhere(struct nopal_composite *bottom, struct nopal_segment *segment);
void nopal__paths_forget(struct nopal_composite *bottom, const struct nopal_endpoint *alias);
/* Longer datagrams are said not to pass; 0: their length is not known. */
void nopal__path_narrowed(struct nopal_composite *bottom, uint32_t datagram_bytes);

/* The endpoint by which a datagram leaves, and its destination. */
struct nopal_way {
	struct nopal_endpoint *endpoint; /* NULL: there is no such path */
	const struct nopal_address *to;
};
static inline struct nopal_way nopal__first_way(const struct nopal_composite *composite)
{
	return (struct nopal_way){ composite->endpoint, &composite->peer };
}

/* ------------------------------ kinds, headers, packing and parsing: wire.c */

/* Is the id in the header that of the sender? */
static inline bool nopal__is_opening(uint8_t kind)
{
	const uint32_t kinds = UINT32_C(1) << NOPAL_KIND_DATA_OPENING |
			       UINT32_C(1) << NOPAL_KIND_CONTROL_OPENING |
			       UINT32_C(1) << NOPAL_KIND_CONNECT |
			       UINT32_C(1) << NOPAL_KIND_RENDEZVOUS | UINT32_C(1) << NOPAL_KIND_ASK;

	return kinds >> kind & 1;
}
uint8_t nopal__first_byte(uint8_t kind);
bool nopal__first_byte_parse(uint8_t byte, uint8_t *ret_kind);
/* By all open paths, and by one. */
void nopal__pack_out(struct nopal_composite *composite, const struct nopal_segment *segment);
void nopal__pack_by(struct nopal_composite *composite, const struct nopal_segment *segment,
		    unsigned path);
/* The kind of a datagram of an interop format. */
uint8_t nopal__interop_kind(const struct nopal_plan *plan, const uint8_t *bytes, uint32_t length);
/* A datagram of a session: counted, parsed, raised. */
void nopal__session_receive(struct nopal_composite *composite, uint8_t kind,
			    struct nopal_buffer *buffer, uint8_t *bytes, uint32_t length);
/* Parses a datagram of an established kind; NULL: malformed, counted. */
struct nopal_segment *nopal__unpack(struct nopal_composite *composite, uint8_t kind,
				    struct nopal_buffer *buffer, uint8_t *bytes, uint32_t length,
				    uint32_t skip);

/* ------------------------- fields of a header, as the plan has them, and bytes */

static inline __attribute__((always_inline)) uint8_t *nopal__fields_put(
	const struct nopal_header *header, const struct nopal_segment *segment, uint8_t *at)
{
	FOR_EACH_FIELD (field, header)
		at = nopal__put(at, segment->attribute[field->slot], field->bytes);
	return at;
}

static inline __attribute__((always_inline)) void nopal__fields_get(
	const struct nopal_composite *composite, const struct nopal_header *header,
	struct nopal_segment *segment, const uint8_t *at)
{
	FOR_EACH_FIELD (field, header) {
		uint64_t value = nopal__get(at, field->bytes);

		if (field->serial)
			value = nopal__serial_expand(composite->awake->serial[field->reference],
						     value, field->bytes);
		segment->attribute[field->slot] = value;
		at += field->bytes;
	}
}

/* ------------------------------------------- sessions of datagrams: demux.c */

/* The session with this id, if that address is its peer's, or may become one of its paths.  NULL:
 * none. */
struct nopal_composite *nopal__session_of(const struct nopal_endpoint *endpoint,
					  const struct nopal_address *from, uint32_t id);
struct nopal_composite *nopal__session_at(const struct nopal_endpoint *endpoint,
					  const struct nopal_address *from);
/* The session whose peer has this address and this id; NULL: none is known. */
struct nopal_composite *nopal__session_with(const struct nopal_endpoint *endpoint,
					    const struct nopal_address *from, uint32_t peer_id);
/* The peer's address and id are known, or others than they were. */
void nopal__demux_know_peer(struct nopal_composite *bottom);
/* A session with this id of ours, and this one of its peer's. */
enum nopal_known {
	NOPAL_UNHEARD_OF,
	NOPAL_KNOWN,
	NOPAL_KNOWN_OTHERWISE, /* its peer has another id */
	NOPAL_KNOWN_NOT,       /* at another shard, or it does not know its peer yet */
};
enum nopal_known nopal__demux_knows(const struct nopal_endpoint *endpoint, uint32_t id,
				    uint32_t peer_id);
int nopal__demux_enter(struct nopal_composite *bottom);
/* From now on the address is the session's own; a peer that opens anew gets another. */
int nopal__demux_accept(struct nopal_composite *bottom);
void nopal__demux_forget(struct nopal_composite *bottom);
/* Can sessions of this plan be told from the sessions of the endpoint? */
bool nopal__demux_suits(struct nopal_endpoint *endpoint, const struct nopal_plan *plan);

/* ----------------------------------------- trains on their way out: train.c */

void nopal__endpoint_flush(struct nopal_endpoint *endpoint);
/* Sends the train away where this datagram begins another; false: the kernel is busy. */
bool nopal__train_ready(struct nopal_composite *composite, uint32_t bytes);
/* Sends a train to another address away; false: the kernel is busy. */
bool nopal__train_turn(struct nopal_way way);
/* Room for a datagram in the session's train on its way; NULL: none. */
uint8_t *nopal__train_room(struct nopal_composite *composite, struct nopal_way way, uint32_t bytes);
void nopal__train_add(struct nopal_composite *composite, struct nopal_endpoint *endpoint,
		      uint32_t bytes);
/* The same, to be sealed before it leaves. */
void nopal__train_add_open(struct nopal_composite *composite, struct nopal_endpoint *endpoint,
			   uint32_t bytes);
/* The datagram that was added is longer than its path is thought to take: none joins it.
 * `fragments`: it may leave in several packets. */
void nopal__train_end_long(struct nopal_endpoint *endpoint, bool fragments);
/* Seals the session's datagram of the train that is not sealed yet. */
void nopal__train_finish(struct nopal_composite *composite);
void nopal__endpoint_answer(struct nopal_endpoint *endpoint, const struct nopal_address *to,
			    const uint8_t *bytes, uint32_t length);

/* -------------------- requests for no session yet, and replies: handshake.c */

/* Of nopal_request.context. */
struct request_context {
	struct nopal_endpoint *endpoint;
	const struct nopal_address *from;
};

/* The listener of an endpoint for this composition; NULL: none. */
struct nopal_listener_entry *nopal__listener_of(const struct nopal_endpoint *endpoint,
						uint64_t fingerprint);
/* The extension of the part that has early data, so many bytes behind the begin of all extensions
 * of the layer: extensions.c.  NULL: no part has. */
const struct nopal_part *nopal__early_part(const struct nopal_layer *layer, uint32_t *ret_behind);
/* Bytes of the handshake extensions of a layer: extensions.c. */
uint32_t nopal__extensions_bytes(const struct nopal_layer *layer);
uint64_t nopal__opening_key(const struct nopal_endpoint *endpoint, const struct nopal_address *from,
			    uint32_t peer_id);
/* A session for a peer of another protocol; NULL: no listener takes it. */
struct nopal_composite *nopal__interop_accept(struct nopal_endpoint *endpoint,
					      const struct nopal_address *from,
					      const uint8_t *bytes, uint32_t length);
void nopal__opening_receive(struct nopal_endpoint *endpoint, const struct nopal_address *from,
			    struct nopal_buffer *buffer, uint8_t *bytes, uint32_t length);
void nopal__reply_receive(struct nopal_composite *composite, struct nopal_buffer *buffer,
			  uint8_t *bytes, uint32_t length);
void nopal__opening_pack(struct nopal_composite *composite, const struct nopal_segment *segment);

/* ---------------------------------- why two compositions differ: refusal.c */

/* Callers free the texts; NULL: out of memory. */

/* Text that a peer sent, up to a zero byte, as a clean string: an opening request begins with that
 * of its composition. */
char *nopal__peer_text(struct nopal_reader *body);
/* The difference to the nearest composition of the endpoint's listeners; NULL, too, where there are
 * none. */
char *nopal__nearest_diff(const struct nopal_endpoint *endpoint, const char *theirs,
			  const char **ret_name);
/* The same in words, for the peer that was refused. */
char *nopal__listeners_differ(const struct nopal_endpoint *endpoint, const char *theirs);
/* In words for the peer that runs `here`, where both sides open and know each other's. */
char *nopal__plans_differ(const char *here, const char *there);

/* ------------------------------ peers that open to each other: rendezvous.c */

/* The session that opens to this address and waits for its opening; NULL: none.  The session may
 * end while the caller has it, but is not freed before the turn ends. */
struct nopal_composite *nopal__rendezvous_with(const struct nopal_endpoint *endpoint,
					       const struct nopal_address *address);
/* Its peer opens with another composition, which the peer found out (`by_peer`) or this side.
 * Takes the text, which may be NULL.  The session ends when both sides know. */
void nopal__rendezvous_differs(struct nopal_composite *bottom, char *text, bool by_peer);
/* The session is a listener's from now on, of the opener with this id. */
void nopal__rendezvous_turn(struct nopal_composite *bottom, uint32_t peer_id);
/* The session waits no more. */
void nopal__rendezvous_over(struct nopal_composite *bottom);
/* The same, where it ends.  True: it has ended already, for a better reason. */
bool nopal__rendezvous_ends(struct nopal_composite *bottom, enum nopal_end end);

/* Opens towards a peer that opens, too: the top of the layers that streams share.  NULL: see
 * nopal_session_open(). */
struct nopal_composite *nopal__rendezvous_open(const struct nopal_open *open);

/* --------------------------------- does a silent peer still exist?  doubt.c */

void nopal__doubt_look(struct nopal_composite *bottom);
/* An ask arrived: its answer, but for the type; full: it gets none. */
void nopal__ask_receive(struct nopal_request *request, struct nopal_writer *reply);
/* An endpoint answered an ask; the reader is behind the type of the reply. */
void nopal__doubt_answered(struct nopal_composite *bottom, struct nopal_reader *reader);
/* The reason of an end in words, with the error of our own socket where that is to blame.  The
 * caller frees it; NULL: out of memory. */
char *nopal__doubt_text(const struct nopal_composite *bottom, enum nopal_end end, const char *text);

/* ------------------------------------ the end, told to the peer: farewell.c */

/* The reason of the end goes to the peer, which is heard of no more. */
void nopal__farewell_tell(struct nopal_composite *bottom);
/* To a peer that still sends to a session which ended lately; false: there is none of this id, or
 * its last datagram is not shorter than this. */
bool nopal__farewell_repeat(struct nopal_endpoint *endpoint, const struct nopal_address *from,
			    uint32_t id, uint32_t longer_than);

/* The peer says why its session ended; takes the segment. */
void nopal__farewell_receive(struct nopal_composite *bottom, struct nopal_segment *segment);

/* ------------------------------------ answers for unknown sessions: reset.c */

enum {
	NOPAL_RESET_TOKEN_BYTES = 16,
	NOPAL_RESET_PROOF_BYTES = 16,
};

/* Do the sessions of the plan know resets? */
static inline bool nopal__plan_resets(const struct nopal_plan *plan)
{
	return plan->admission && plan->demux == NOPAL_DEMUX_ID;
}

/* Draws the key from the endpoint's secret. */
void nopal__reset_key_draw(struct nopal_endpoint *endpoint);
/* NOPAL_RESET_PROOF_BYTES of an opening: our own, and the peer's. */
void nopal__proof_write(struct nopal_composite *bottom, struct nopal_writer *writer);
bool nopal__proof_read(struct nopal_composite *bottom, struct nopal_reader *reader);

#define NOPAL_TEXT_RESTARTED "the peer knows nothing of this session any more (it was restarted?)"
/* The peer knows nothing of the session. */
void nopal__peer_restarted(struct nopal_composite *bottom);

/* A datagram of an established kind came for no session. */
void nopal__stray_receive(struct nopal_endpoint *endpoint, const struct nopal_address *from,
			  uint8_t kind, const uint8_t *bytes, uint32_t length);
void nopal__reset_receive(struct nopal_endpoint *endpoint, const struct nopal_address *from,
			  const uint8_t *bytes, uint32_t length);

/* ------------------------------------- tickets of listeners, kept: tickets.c */

/* A world has one, made with its first ticket. */
void nopal__tickets_keep(struct nopal_world *world, const struct nopal_address *peer,
			 uint64_t fingerprint, const struct nopal_ticket *ticket);
bool nopal__tickets_recall(const struct nopal_world *world, const struct nopal_address *peer,
			   uint64_t fingerprint, struct nopal_ticket *ret_ticket,
			   int64_t *ret_age_ns);
/* Adds those of another world with the same clock, the newer one of two; `*into` is made by calloc
 * where there is none yet. */
void nopal__tickets_merge(struct nopal_tickets **into, const struct nopal_tickets *from);

/* --------------------------------- measurements of paths, kept: path_cache.c */

/* A world has one, made when the first session asks it.  It is the world's and not an endpoint's,
 * because many applications open an endpoint for each session: measurements of the last one would
 * go with it.  A record belongs to a pair of IP addresses, ours and the peer's, without ports: one
 * simulated world has many hosts, and one host may have many ways to another. */
enum { NOPAL_PATH_RECORDS = 1024 }; /* of a world; held ones count */

struct nopal_path_pair {
	uint8_t local[16], peer[16]; /* as in a nopal_address */
};

/* NULL: no memory.  `secret` keys the hash. */
struct nopal_path_cache *nopal__path_cache_new(uint32_t room, const uint64_t secret[2]);
void nopal__path_cache_free(struct nopal_path_cache *cache);

/* The pair's record, held once more, or a new one; the record that was not held for the longest
 * time makes room for it.  0: all are held. */
uint32_t nopal__path_cache_hold(struct nopal_path_cache *cache, const struct nopal_path_pair *pair);
/* A record that says nothing goes with its last holder. */
void nopal__path_cache_release(struct nopal_path_cache *cache, uint32_t record);

void nopal__path_cache_write(struct nopal_path_cache *cache, uint32_t record,
			     enum nopal_path_fact fact, int64_t value, int64_t now_ns);
/* False: no session has measured it. */
bool nopal__path_cache_read(const struct nopal_path_cache *cache, uint32_t record,
			    enum nopal_path_fact fact, int64_t *ret_value,
			    int64_t *ret_measured_ns);

/* The session at the bottom of a stack holds its record no longer. */
void nopal__path_record_release(struct nopal_composite *bottom);

#endif
