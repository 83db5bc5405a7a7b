/* SPDX-License-Identifier: MIT */
/*
 * header_compression -- header compression: fields that follow from earlier headers do not travel.
 *
 * A context says of each field how it follows: it is constant; it moves with the anchor (the first
 * serial field: the packet number, or what stands for it); it is near that, and its low byte
 * travels; or it is spelled out.  A header has one of four forms, in the upper 2 bits of its first
 * byte; the lower 6 are the context.
 *
 *   0 plain    all fields
 *   1 defines  masks of the fields that move, that are spelled (both: near), and
 *              that stray, 1 byte each; the anchor; what the context foretells of
 *              each field here; then as behind the mask of form 3
 *   2 compact  low 2 bytes of the anchor; what is spelled
 *   3 strayed  the same, behind the anchor a mask of fields that are not as
 *              foretold; they are spelled out
 *
 * Each definition has its context's state at its own anchor, so any of them will do, and what was
 * lost, late, or came twice does no harm.  The sender relies on a context when an ack names the
 * packet number of a transmission that defined it; an ack of its segment alone is not enough, as
 * another transmission may have brought that, or redundancy.  Where acks name no transmissions, the
 * sender relies on a context when `repeat` definitions have left.  Each resend defines, and so does
 * one of four transmissions, then one of eight, up to one of `refresh`: a peer that lost its
 * contexts, or all that began them, learns them.  Where fields keep straying a new context begins,
 * in which those are near, or spelled; the one before serves until it is known.  An unknown context
 * is a malformed datagram.
 *
 * Paper:     none: in the manner of RFC 5795 (ROHC), with contexts of its own.
 * Differs:   no modes, no feedback of its own, no table of headers known before.
 */
#include <nopal/microprotocol.h>

#include "header_context.h"

enum { HEADER_COMPRESSION_DEFINED };			    /* attributes */
enum { HEADER_COMPRESSION_TOLD, HEADER_COMPRESSION_BLOCK }; /* shared */
enum {
	HEADER_COMPRESSION_STRAY_COST = 4, /* what a stray adds to the debt */
	HEADER_COMPRESSION_DEBT = 24,	   /* beyond it, a context is given up */
	HEADER_COMPRESSION_SHARE = 4,	   /* one of so many defines the next context */
};

struct header_compression_parameters {
	int64_t repeat;
	int64_t refresh;
};

struct header_compression {
	struct header_context ring[HEADER_RING];
	struct header_context known, next; /* we send by these */
	uint64_t last[HEADER_FIELDS];	   /* header that left */
	uint8_t last_id;
	uint8_t fickle; /* mask of the fields that strayed too often */
	uint32_t debt;
	uint64_t began; /* first packet number that may define `next` */
	uint32_t told;	/* definitions of `next` */
	uint32_t since; /* transmissions since the last definition */
	uint32_t often; /* one of so many defines `known` anew */
};

/* A context that begins with this header. */
static void header_compression_begin(struct header_compression *self,
				     const struct header_fields *all,
				     const struct nopal_segment *segment)
{
	struct header_context *next = &self->next;

	self->last_id = (self->last_id + 1) & HEADER_ID;
	*next = (struct header_context){
		.anchor = nopal__header_anchor(all, segment),
		.id = self->last_id,
		.spelled = self->fickle & all->mask,
		.live = true,
	};
	for (unsigned f = 0; f < all->foretold; f++) {
		next->base[f] = nopal__header_value(all, segment, f);
		if (header_in(all->mask, f) && all->field[f].serial &&
		    next->base[f] != self->last[f])
			next->moving |= (uint8_t)(1u << f);
	}
	self->began = segment->packet_number;
	self->debt = self->told = 0;
	/* Its place at the receiver is the new one's. */
	if (((self->last_id - self->known.id) & HEADER_ID) >= HEADER_RING)
		self->known.live = false;
}

/* Gives up contexts that are of no more use, and begins others. */
static void header_compression_review(struct header_compression *self,
				      const struct header_fields *all,
				      const struct nopal_segment *segment)
{
	const struct header_context *newest = self->next.live ? &self->next : &self->known;
	uint8_t strays;

	if (nopal__header_away(all, &self->known, segment) >= HEADER_REACH)
		self->known.live = false;
	if (!newest->live || nopal__header_away(all, newest, segment) >= HEADER_RENEW) {
		self->fickle = 0;
		header_compression_begin(self, all, segment);
		return;
	}
	if (segment->transmissions > 1)
		return; /* it is out of its place, which says nothing */
	strays = nopal__header_strays(all, newest, segment);
	if (strays)
		self->debt += HEADER_COMPRESSION_STRAY_COST;
	else if (self->debt)
		self->debt--;
	if (self->debt > HEADER_COMPRESSION_DEBT) {
		self->fickle |= strays;
		header_compression_begin(self, all, segment);
	}
}

/* The next context is the one to rely on from now on. */
static void header_compression_promote(struct header_compression *self)
{
	self->known = self->next;
	self->next.live = false;
	self->often = HEADER_COMPRESSION_SHARE;
}

/* `next` is defined again after 4, 4, and 3 transmissions.  Where acks name each second
 * transmission, or each fifth, they name a definition in time, as 11 has no divisor in common with
 * such numbers. */
static void header_compression_pack(struct nopal_at at, const struct nopal_segment *segment,
				    struct nopal_writer *writer)
{
	const struct header_compression_parameters *set = nopal_parameters(at);
	struct header_compression *self = nopal_state(at);
	struct header_fields all = nopal__header_fields(at.session);
	const struct header_context *newest;
	uint32_t often;

	header_compression_review(self, &all, segment);
	newest = self->next.live ? &self->next : &self->known;
	often = self->next.live ? HEADER_COMPRESSION_SHARE - (self->told % 3 == 2) : self->often;
	if (self->known.live && segment->transmissions <= 1 && ++self->since < often) {
		nopal__header_compact(&all, &self->known, segment, writer);
	} else if (nopal__header_define(&all, newest, segment, writer)) {
		self->since = 0;
		if (self->next.live) {
			struct nopal_segment *own = nopal_segment_find(at.session, segment->handle);

			if (own)
				nopal_set(at, own, HEADER_COMPRESSION_DEFINED,
					  segment->packet_number + 1);
			if (++self->told >= set->repeat &&
			    !nopal_shared_get(at, HEADER_COMPRESSION_TOLD))
				header_compression_promote(self);
		} else if (self->often < (uint32_t)set->refresh) {
			self->often *= 2;
		}
	} else {
		nopal__header_plain(&all, segment, writer);
	}
	for (unsigned f = 0; f < all.foretold; f++)
		self->last[f] = nopal__header_value(&all, segment, f);
}

/* A context is known when a transmission that defined it is acknowledged.  A segment that
 * redundancy made did not bring the definition that its transmission had. */
static enum nopal_verdict header_compression_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	struct header_compression *self = nopal_state(at);
	bool surely = !ack->inferred || !nopal_shared_get(at, HEADER_COMPRESSION_BLOCK);
	const struct nopal_transmission *transmission = NULL;
	const struct nopal_segment *segment = NULL;

	if (self->next.live && surely && ack->largest >= self->began)
		transmission = nopal_transmission_find(at.session, ack->largest);
	if (transmission)
		segment = nopal_segment_find(at.session, transmission->segment);
	if (segment && nopal_get(at, segment, HEADER_COMPRESSION_DEFINED) == ack->largest + 1)
		header_compression_promote(self);
	return NOPAL_CONTINUE;
}

static bool header_compression_unpack(struct nopal_at at, struct nopal_segment *segment,
				      struct nopal_reader *reader)
{
	struct header_compression *self = nopal_state(at);

	return nopal__header_read(at.session, self->ring, segment, reader);
}

const struct nopal_microprotocol nopal_header_compression = {
	NOPAL_DESCRIBE(header_compression, format,
		       "header compression: fields that follow from earlier headers do not travel"),
	.provides = NOPAL_ROLES({ "data_format", true }),
	.needs = NOPAL_RELATIONS({ "network", "it writes headers of datagrams" }),
	.parameters_size = sizeof(struct header_compression_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(header_compression, repeat, "repeat", COUNT, "8", "1", "255",
			     "definitions that make a context known where no ack tells"),
		NOPAL_NUMBER(header_compression, refresh, "refresh", COUNT, "64", "1", "65535",
			     "a datagram of so many defines")),
	.attributes = NOPAL_ATTRIBUTES(
		[HEADER_COMPRESSION_DEFINED] = { "defining_transmission", NOPAL_WRITE,
						 "number of the last transmission that began one, and 1" }),
	.shared = NOPAL_SHARED(
		[HEADER_COMPRESSION_TOLD] = { "arrivals_told", NOPAL_READ_OPTIONAL, 0,
					      "1: acks name what arrived" },
		[HEADER_COMPRESSION_BLOCK] = { "block_segments", NOPAL_READ_OPTIONAL, 0,
					       "not 0: redundancy may make segments" }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(ACK_FROM_NET, header_compression_on_ack)),
	.state_size = sizeof(struct header_compression),
	.format = &(const struct nopal_format){ .bytes = HEADER_HEAD + HEADER_BEHIND,
						.pack = header_compression_pack,
						.unpack = header_compression_unpack },
};
