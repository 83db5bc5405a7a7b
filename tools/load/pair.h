/* SPDX-License-Identifier: MIT */
/*
 * pair.h -- two processes that talk, each on a core of its own: this one and its partner,
 * which is forked, told what to do, and ended.
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

struct bench_partner {
	pid_t process;
	uint16_t port; /* where it listens */
};

/* The function that the partner runs: `tell` takes its port, once; it is killed in the end. */
typedef void bench_partner_runs(void *user, const struct bench_place *place, int tell);
/* Forks the partner onto the other core, and waits for its port.  False: the machine refused. */
bool bench_partner_start(struct bench_partner *partner, const struct bench_place *place,
			 bench_partner_runs *runs, void *user);
void bench_partner_end(struct bench_partner *partner);
/* From within the partner: it is ready, and listens there. */
void bench_partner_tell(int tell, uint16_t port);

/* The same for plain sockets, TCP or UDP by `type`: bound to any port of the place, with its
 * buffers; of TCP the first connection.  Negative: errno value. */
int bench_partner_socket(const struct bench_place *place, int type, int tell);

/* Puts this process on the first core and, for as long as it makes sockets, into its namespace.
 * False: the machine refused. */
bool bench_enter(const char *netns);
void bench_pin(int core);

/* A socket of the place's family, bound to any port of the address, or connected to this one.
 * Negative: errno value. */
int bench_socket_bound(const char *address, int type, uint16_t *ret_port);
int bench_socket_connected(const char *address, int type, uint16_t port);
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
/* A link in tc-netem's words.  False: it was said what is wrong. */
bool bench_link(const char *words, struct nopal_link *ret_forward, struct nopal_link *ret_reverse);
/* A program or script of tests/bench: in $NOPAL_BENCH_DIR, or in this program's build tree.  False:
 * `mode` of access() is not granted, and `path` says where it would be. */
bool bench_program(const char *name, int mode, char *path, size_t room);
/* "ADDRESS:PORT" as nopal_address_parse reads it. */
bool bench_address(const char *address, uint16_t port, struct nopal_address *ret_address);

#endif
