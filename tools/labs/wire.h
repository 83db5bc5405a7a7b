/* SPDX-License-Identifier: MIT */
/*
 * wire.h -- datagrams of a trial, read as docs/wire.md describes them.
 */
#ifndef NOPAL_LABS_WIRE_H
#define NOPAL_LABS_WIRE_H

#include "lab/lab.h"

enum {
	WIRE_DATA,
	WIRE_DATA_OPENING,
	WIRE_OWN = 5,	   /* first kind of the composition's microprotocols, by their names */
	WIRE_RUNTIME = 27, /* kinds from here on are the runtime's */
	WIRE_HEAD = 5,	   /* version and kind, the receiver's session id */
};

/* A timer of Nopal fires at a multiple of this, at its deadline or later. */
enum { WIRE_TICK_NS = 1024 };

static inline unsigned wire_kind(const struct lab_datagram *datagram)
{
	return datagram->length ? datagram->bytes[0] & 0x1f : WIRE_DATA;
}

/* A big endian number of 1 to 8 bytes. */
static inline uint64_t wire_number(const uint8_t *at, unsigned bytes)
{
	uint64_t number = 0;

	while (bytes--)
		number = number << 8 | *at++;
	return number;
}

/* A control segment of the kind with a body of so many bytes, and a trailer of `trailer` behind
 * it: its body; else NULL. */
static inline const uint8_t *wire_control(const struct lab_datagram *datagram, unsigned kind,
					  uint32_t body, uint32_t trailer)
{
	if (wire_kind(datagram) != kind || datagram->length != WIRE_HEAD + body + trailer)
		return NULL;
	return datagram->bytes + WIRE_HEAD;
}

static inline double wire_seconds(int64_t time_ns)
{
	return (double)time_ns / (double)NOPAL_SECOND;
}

/* Did a timer with this deadline make it happen? */
static inline bool wire_on_time(int64_t time_ns, int64_t deadline_ns)
{
	return time_ns >= deadline_ns && time_ns < deadline_ns + WIRE_TICK_NS;
}

/* Indices of the datagrams from a host that came out, by the time at which they did; the caller
 * frees them. */
size_t *wire_arrivals(const struct lab_trial *trial, int from, size_t *ret_count);

#endif
