/* SPDX-License-Identifier: MIT */
/*
 * pair.h -- where two processes that talk are, and the plans, links and plain sockets between them.
 */
#ifndef NOPAL_BENCH_PAIR_H
#define NOPAL_BENCH_PAIR_H

#include <netinet/in.h>
#include <sys/types.h>

#include <nopal/nopal.h>
#include "frame/loop.h"

/* Where a measurement's two processes are. */
struct bench_place {
	/* network namespaces, by name or path; NULL: this one */
	const char *here, *there;
	const char *address; /* of the partner, without a port */
};
/* "lo", or the words HERE_NETNS THERE_NETNS THERE_ADDRESS.  False: it was said what is wrong. */
bool bench_place_of(int argc, char **argv, struct bench_place *ret_place);

/* Puts this process into a namespace, for as long as it makes sockets; NULL: it stays.  False: the
 * machine refused, which was said. */
bool bench_enter(const char *netns);
/* Puts this process on a core, where the machine lets it. */
void bench_pin(int core);

/* A socket of the address's family, TCP or UDP by `type`: bound to any port of the address, which
 * is returned, or connected to this one.  Negative: errno value. */
int bench_socket(const char *address, int type, bool binds, uint16_t *port);
/* Buffers of megabytes, where the machine grants them. */
void bench_socket_buffers(int fd);
/* A receive waits for so long, and TCP sends at once. */
void bench_socket_patience(int fd, int64_t patience_ns);
/* Receives the first datagram, and connects to its sender.  Negative: errno value. */
int bench_socket_meet(int fd, void *bytes, size_t length);
/* Receives all of it.  False: the other side is gone, or silent for too long. */
bool bench_socket_receive(int fd, void *bytes, size_t length);
/* The plan of a row: "bulk" is interpreted, "bulk-fused" is its unit's, "bulk+coalesce" puts short
 * messages together.  NULL: it was said what is wrong. */
struct nopal_plan *bench_plan(const char *row);
/* The plan of a config with keys (NULL-ended, or NULL), and of the text of one; interpreted.  NULL: it
 * was said what is wrong. */
struct nopal_plan *bench_load(const char *config, const char *const *sets);
struct nopal_plan *bench_parse(const char *text, const char *name);
/* A link in tc-netem's words.  False: it was said what is wrong. */
bool bench_link(const char *words, struct nopal_link *ret_forward, struct nopal_link *ret_reverse);
/* A program or script of tests/bench: in $NOPAL_BENCH_DIR, or in this program's build tree.  False:
 * `mode` of access() is not granted, and `path` says where it would be. */
bool bench_program(const char *name, int mode, char *path, size_t room);
/* "ADDRESS:PORT" as nopal_address_parse reads it. */
bool bench_address(const char *address, uint16_t port, struct nopal_address *ret_address);

#endif
