/* SPDX-License-Identifier: MIT */
/*
 * flood.h -- what the programs of the bulk benchmark share: two roles, one payload, one report.
 *
 *     PROGRAM recv ADDRESS:PORT SECONDS WHAT      prints {"ready":1}, and a report
 *     PROGRAM send ADDRESS:PORT SECONDS WHAT      floods for SECONDS, and a report
 *
 * The payload is a walk over 64 MiB, so that every byte is fetched afresh.  The word at place i of
 * the walk is i times an odd constant: a receiver can tell from any word where it belongs, and
 * checks what came without a copy of it.  Only bytes in their places count as delivered.
 *
 * FLOOD_CONNECTIONS=N in the environment: so many streams side by side, each a walk of its own,
 * where the program knows how.  The report adds them up, and says how even they were and by how
 * much the process grew for them.
 */
#ifndef FLOOD_H
#define FLOOD_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	FLOOD_PAYLOAD = 1400,	       /* bytes in a packet, where a peer lets us choose */
	FLOOD_TRAIN = 44,	       /* packets that one system call can carry */
	FLOOD_WRITE = 128 << 10,       /* bytes handed to a byte stream at once */
	FLOOD_SOCKET_BUFFER = 8 << 20, /* asked for, on both sides */
	FLOOD_MTU = 1500,
	FLOOD_MAX_CONNECTIONS = 10000,
	/* whole trains of payload, just below 64 MiB */
	FLOOD_WALK = FLOOD_PAYLOAD * FLOOD_TRAIN * 1089,
	FLOOD_NOT_HERE = 77, /* exit: this row cannot be measured here */
};

/* One run of one program. */
struct flood {
	bool sends;
	const char *what; /* the row: a mode or a config */
	struct sockaddr_in address;
	double seconds;

	const char *class_name;		 /* "none", "crc", "aead": what is promised */
	char version[128];		 /* of the peer, and what it was granted */
	int receive_buffer, send_buffer; /* bytes in effect */

	uint64_t place;	    /* of the next byte of a stream in the walk */
	uint64_t delivered; /* bytes in their places */
	uint64_t wrong;	    /* bytes out of place, or not as they were sent */
	uint64_t units;	    /* checked; some of them in full */
	double first, last; /* arrivals */
	double begun, cpu_before;
	bool alone; /* one thread: what it waits for a core is others' doing */
	double waited_before;

	int connections;      /* side by side */
	struct flood *lanes;  /* of each; NULL: there is one, and this is it */
	long resident_before; /* KiB */
};

/* Reads the command line, or ends the program with 2. */
void flood_begin(struct flood *flood, int argc, char **argv);
/* Says that packets may come: the script starts the sender then. */
void flood_ready(const struct flood *flood);
/* Of a connection its place, and what it delivered. */
struct flood *flood_lane(struct flood *flood, int index);
/* The sender's time is over.  The first call starts it. */
bool flood_over(struct flood *flood);
void flood_report(const struct flood *flood);
/* Ends the program: `what` failed, for the reason in errno. */
void flood_fail(const char *what) __attribute__((noreturn));

/* The walk, in memory of its own or of the caller's (FLOOD_WALK bytes). */
uint8_t *flood_walk(void);
void flood_fill(uint8_t *walk);

/* Something has come: once for each call that received, before what follows. */
void flood_arrived(struct flood *flood);
/* The next bytes of a stream: in order, nothing missing, nothing twice. */
void flood_stream(struct flood *flood, const void *bytes, size_t length);
/* Bytes that may come from any place of the walk: the first word says which, and a stream goes on
 * behind them. */
void flood_datagram(struct flood *flood, const void *bytes, size_t length);
/* A stream's next piece of at most `most` bytes; it never wraps. */
const uint8_t *flood_next(struct flood *flood, const uint8_t *walk, size_t max, size_t *ret_length);
/* The same, of which only so much was taken as is said then. */
const uint8_t *flood_peek(const struct flood *flood, const uint8_t *walk, size_t max,
			  size_t *ret_length);
void flood_gone(struct flood *flood, size_t length);

/* For messages, which never wrap: one of `length` was sent from its place; one that begins to
 * arrive is at the walk's begin where it would not fit. */
void flood_sent(struct flood *flood, size_t length);
void flood_begins(struct flood *flood, size_t length);

/* Large buffers on a socket, and what was granted. */
void flood_buffers(struct flood *flood, int fd);

#ifdef __cplusplus
}
#endif

#endif
