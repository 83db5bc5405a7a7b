/* SPDX-License-Identifier: MIT */
/*
 * transfer.h -- notes between `nopal send` and `nopal recv`, and between `nopal fetch` and `nopal
 * serve`.
 *
 * One message is one note; numbers are big endian.  Every note begins with its type (1 byte) and
 * the file's number in the session (4 bytes), and then:
 *
 *   OFFER   version 1, id 8, size 8, mtime 8 (ns since 1970), name (2 + bytes)
 *   ANSWER  verdict 1, offset 8, hash 8 of the first `offset` bytes, text
 *   START   offset 8: that of the ANSWER, or 0
 *   DATA    offset 8, bytes to the end of the message
 *   END     size 8, hash 8 of the whole file
 *   RESULT  verdict 1, text
 *   ABORT   text
 *   PING    nothing: asks the transport whether the peer lives
 *   SHARE   nothing: no more DATA for this receiver; others have the rest
 *   HELD    ranges of the file that are on disk here, begin 8 and end 8 each
 *   ASK     version 1, name (2 + bytes): is the file there?
 *   WANT    offset 8, size 8: these bytes, in one DATA
 *   LIST    first 8, count 8: these hashes of its blocks, in one HASHES
 *   HASHES  first 8, hashes 8 each to the end of the message
 *
 *   sender  OFFER ---------> is the file here, or begun?
 *                  <-------- ANSWER
 *           (reads that much and compares)
 *           START, DATA... END ->
 *                  <-------- RESULT   after hash, fsync, rename
 *
 *           or, where a file is spread over several receivers:
 *           START, DATA... SHARE ->
 *                  <-------- HELD     after a sync; the part is kept
 *
 *   client  ASK -----------> is there such a file?  (reads it once for its hash)
 *           <-------- OFFER, END: its size, its hash; or ANSWER: no, and why
 *           LIST... -------->    (to one of the servers that announce the same)
 *           <-------- HASHES...
 *           WANT... -------->
 *           <-------- DATA...
 *           RESULT ---------> the file is whole
 *
 * DATA notes carry offsets: a composition must be reliable, and need not be ordered.  Hashes are
 * those of file_hash.h; between client and server, the hash of a file is the root of file_blocks.h,
 * and each WANT is one of its blocks.  The name is a name, never a path.  The id is the hash of
 * name, size and time: a half-done file with the same id is the same file.
 *
 * A peer that asks in another version of ASK is refused, with the version that is spoken here.
 */
#ifndef NOPAL_TRANSFER_H
#define NOPAL_TRANSFER_H

#include <nopal/nopal.h>
#include "file/ranges.h"

enum {
	TRANSFER_VERSION = 1,
	TRANSFER_ASK_VERSION = 2,    /* 1 had no LIST */
	TRANSFER_TEXT_LONGEST = 255, /* names (NAME_MAX) and reasons */
	TRANSFER_TEXT_ROOM = TRANSFER_TEXT_LONGEST + 1,
	TRANSFER_DATA_HEADER = 13,
	TRANSFER_NOTE_LONGEST = 5 + 1 + 8 + 8 + 8 + 2 + TRANSFER_TEXT_LONGEST,
	TRANSFER_CHUNK_BYTES = 256 << 10, /* of a DATA note, where the plan takes it */
	TRANSFER_OUTBOX_NOTES = 8,
	TRANSFER_RANGES_MAX = RANGES_MAX + 1, /* one more for the beginning */
	TRANSFER_HASHES_MAX = 4096,	      /* of a HASHES note */
	TRANSFER_STEP_BYTES = 4 << 20,	      /* hashed at a time, so that the loop lives */
};
/* An offer that is answered with TRANSFER_LATER is repeated. */
#define TRANSFER_OFFER_AGAIN_NS (500 * NOPAL_MILLISECOND)
#define TRANSFER_OFFER_FOR_NS	(60 * NOPAL_SECOND)

#define TRANSFER_PREFIX	      "."
#define TRANSFER_PART_SUFFIX  ".nopal-part"
#define TRANSFER_STATE_SUFFIX ".nopal-state"
#define TRANSFER_NEW_SUFFIX   ".nopal-state-new"

enum transfer_type {
	TRANSFER_OFFER = 1,
	TRANSFER_ANSWER,
	TRANSFER_START,
	TRANSFER_DATA,
	TRANSFER_END,
	TRANSFER_RESULT,
	TRANSFER_ABORT,
	TRANSFER_PING,
	TRANSFER_SHARE,
	TRANSFER_HELD,
	TRANSFER_ASK,
	TRANSFER_WANT,
	TRANSFER_LIST,
	TRANSFER_HASHES,
};

enum transfer_verdict {
	TRANSFER_YES = 1, /* go on from `offset`; the file is here, whole */
	TRANSFER_NO,	  /* with a reason */
	TRANSFER_LATER,	  /* another transfer of this name runs: offer it again */
};

struct transfer_note {
	enum transfer_type type;
	enum transfer_verdict verdict;
	uint8_t version; /* of an ASK that came */
	uint32_t file;
	uint64_t id, size, offset, hash;
	int64_t mtime_ns;
	/* Name or reason; ends with 0.  A reason that came has no control characters; a name is
	 * judged by transfer_name_refused. */
	char text[TRANSFER_TEXT_ROOM];
};

/* Returns the length; of DATA, that of its header.  `bytes` has room for TRANSFER_NOTE_LONGEST.  A
 * longer text is cut. */
size_t transfer_encode(const struct transfer_note *note, uint8_t *bytes);
/* False: not canonical.  Bytes behind the header of DATA, HELD and HASHES are not looked at, nor
 * those behind the version in an ASK of another version. */
bool transfer_decode(const uint8_t *bytes, size_t length, struct transfer_note *ret_note);

/* Why a name may not be used here; NULL: it may. */
const char *transfer_name_refused(const char *name);
/* The same of names with slashes between, below a folder that is served. */
const char *transfer_path_refused(const char *path);
/* One name from the beginning of a path, at *path, which goes on behind its slash. */
const char *transfer_path_next(const char **path, char ret_name[TRANSFER_TEXT_ROOM]);
/* Writes "NAME: CAUSE" to `why` (TRANSFER_TEXT_ROOM), and returns false. */
bool transfer_wrong(char *why, const char *name, const char *cause);
uint64_t transfer_id(const char *name, uint64_t size, int64_t mtime_ns);
/* Bytes of file in the longest DATA note that fills its datagrams. */
uint32_t transfer_chunk_bytes(const struct nopal_plan *plan);
/* Do the two sides of a session of this plan tell each other when it begins and ends?  Else the
 * session is open at once, and the side that is done aborts it, which is told once. */
bool transfer_plan_tells(const struct nopal_plan *plan);
/* Is there no receiver at the other end of such a session, which got an offer so long ago?  A
 * receiver acknowledges the offer long before it has looked for the file. */
bool transfer_is_alone(const struct nopal_session *session, const struct nopal_plan *plan,
		       int64_t offered_for_ns);
#define TRANSFER_ALONE "no answer to the offer"
/* The reason in a RESULT. */
#define TRANSFER_HASH_DIFFERS "the hash of the whole file differs"
/* The reason of an abort after a message that is no note. */
#define TRANSFER_STRANGER "the peer speaks no file protocol"
/* Is a session of this plan fit for files; or `many`, for one file from several servers?  False: a
 * problem was printed. */
bool transfer_plan_fits(const struct nopal_plan *plan, bool many);
/* Notes on their way to the session: they wait where its send buffer is full. */
struct transfer_outbox {
	struct nopal_session *session; /* NULL: it is gone, notes are dropped */
	struct nopal_property to;      /* to this destination of a group alone */
	size_t count;
	struct transfer_note waiting[TRANSFER_OUTBOX_NOTES];
};
/* Sends a note, or lets it wait.  Where too many wait, the session is aborted. */
void transfer_say(struct transfer_outbox *outbox, const struct transfer_note *note);
/* The same of a note with this text, cut to TRANSFER_TEXT_LONGEST bytes. */
void transfer_say_text(struct transfer_outbox *outbox, struct transfer_note note, const char *text);
/* From `writable`; false: some still wait. */
bool transfer_flush(struct transfer_outbox *outbox);
/* The note of an arriving message; false: none, or not canonical. */
bool transfer_received(const struct nopal_message *message, struct transfer_note *ret_note);
/* False: it could not be sent. */
bool transfer_send_held(struct nopal_session *session, uint32_t file, const struct range *ranges,
			size_t count);
/* The ranges of a HELD message, of a file with this size.  False: not canonical. */
bool transfer_held(const struct nopal_message *message, uint64_t size,
		   struct range ret_ranges[TRANSFER_RANGES_MAX], size_t *ret_count);
/* Sends the hashes that a LIST asks for; `hashes` begins with the first of them.  0, or negative as
 * nopal_send. */
int transfer_send_hashes(struct nopal_session *session, const struct transfer_note *list,
			 const uint64_t *hashes);
/* Hashes of a HASHES message, from its hash number `first` on; returns their number. */
size_t transfer_hashes(const struct nopal_message *message, size_t first, uint64_t *ret_hashes,
		       size_t room);

#endif
