/* SPDX-License-Identifier: MIT */
/*
 * wire.h -- private to the files of the wire: what each does for the others and for the rooms
 * above.  Fields of headers, paths and the cache of paths have headers of their own.
 */
#ifndef NOPAL_WIRE_H
#define NOPAL_WIRE_H

#include "session/endpoint_sessions.h"
#include "wire/paths.h"

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

#endif
