/* SPDX-License-Identifier: MIT */
/*
 * live_shard.c -- one address for several worlds: a group of sockets with SO_REUSEPORT, and a
 * filter that names the shard of each datagram.
 *
 *   opening, ask or reset   --> the kernel's hash of both addresses
 *   of a session            --> by the session id in bytes 1 to 4
 *   too short for an id     --> shard 0, which counts malformed ones
 *
 * So a session stays on its shard though its peer's address changes, and all datagrams of one peer
 * that opens stay together, which GRO may have merged. The filter is classic BPF: it needs no
 * privilege and no compiler.
 *
 * The kernel numbers the sockets of a group in the order of their binding, and moves the last one
 * into the place of one that closes.  So they are all bound here, in order, and stay until the
 * group closes: an endpoint only gets another descriptor of its own one.  The first is bound
 * without SO_REUSEPORT, or a program of the same user that has the port would not be noticed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/filter.h>

#include "io/live/live.h"
#include "wire/wire.h"

enum {
	SHARD_ID_AT = 1,	   /* byte of a datagram; docs/wire.md */
	SHARD_BY_HASH = INT32_MAX, /* no such socket: the kernel hashes */
};

struct live_shard {
	struct nopal_shard shard; /* first: a shard is its beginning */
	int fd;
	bool taken;
};

struct nopal_shards {
	struct nopal_address local;
	unsigned count;
	struct live_shard shard[NOPAL_SHARDS_MAX];
};

static int shard_filter(int fd, uint32_t count)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nopal__first_byte(NOPAL_KIND_CONNECT), 8, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nopal__first_byte(NOPAL_KIND_DATA_OPENING), 7,
			 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nopal__first_byte(NOPAL_KIND_CONTROL_OPENING),
			 6, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nopal__first_byte(NOPAL_KIND_ASK), 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nopal__first_byte(NOPAL_KIND_RESET), 4, 0),
		/* as nopal__shard_of has it, with the upper half of the id */
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, SHARD_ID_AT),
		BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, count),
		BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, NOPAL_SHARD_ID_SHIFT),
		BPF_STMT(BPF_RET | BPF_A, 0),
		BPF_STMT(BPF_RET | BPF_K, SHARD_BY_HASH),
	};
	struct sock_fprog program = {
		.len = sizeof(code) / sizeof(code[0]),
		.filter = code,
	};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program))
		       ? -errno
		       : 0;
}

static int shards_fill(struct nopal_shards *shards)
{
	uint64_t secret[2];
	int fd = -1, on = 1;

	if (!nopal__live_random_fill(secret, sizeof(secret)))
		return -EIO;
	for (unsigned i = 0; i < shards->count; i++) {
		struct nopal_shard *shard = &shards->shard[i].shard;

		shard->index = i;
		shard->count = shards->count;
		memcpy(shard->secret, secret, sizeof(secret));
		fd = nopal__live_socket_bind(&shards->local, i > 0, &shards->local);
		if (fd < 0)
			return fd;
		shards->shard[i].fd = fd;
		if (i == 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)))
			return -errno;
	}
	return shards->count > 1 ? shard_filter(shards->shard[0].fd, shards->count) : 0;
}

struct nopal_shards *nopal_shards_open(const struct nopal_address *local, unsigned count,
				       struct nopal_problems *problems)
{
	struct nopal_shards *shards;
	int error = -ENOMEM;

	if (count == 0 || count > NOPAL_SHARDS_MAX) {
		nopal_problems_add(problems, NULL, 0, "one a core is enough",
				   "a port has 1 to %d loops, and not %u", NOPAL_SHARDS_MAX, count);
		return NULL;
	}
	shards = calloc(1, sizeof(*shards));
	if (shards) {
		shards->local = *local;
		shards->count = count;
		for (unsigned i = 0; i < count; i++)
			shards->shard[i].fd = -1;
		error = shards_fill(shards);
	}
	if (!error)
		return shards;
	nopal__live_port_refused(error, local, problems);
	nopal_shards_close(shards);
	return NULL;
}

int nopal__live_shard_socket(const struct nopal_shard *shard)
{
	const struct live_shard *live = (const struct live_shard *)shard;
	int fd = fcntl(live->fd, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

struct nopal_endpoint *nopal_shard_endpoint(struct nopal_shards *shards, unsigned index,
					    struct nopal_world *world,
					    struct nopal_problems *problems)
{
	struct live_shard *shard = shards->shard + index;
	struct nopal_endpoint *endpoint;

	if (index >= shards->count || shard->taken) {
		nopal_problems_add(problems, NULL, 0, NULL, "there is no shard %u, or it is open",
				   index);
		return NULL;
	}
	endpoint = nopal__endpoint_open(&(struct nopal_port){ .world = world,
							      .local = shards->local,
							      .shard = &shard->shard },
					problems);
	shard->taken = endpoint != NULL;
	return endpoint;
}

void nopal_shards_close(struct nopal_shards *shards)
{
	if (!shards)
		return;
	for (unsigned i = 0; i < shards->count; i++) {
		if (shards->shard[i].fd >= 0)
			close(shards->shard[i].fd);
	}
	free(shards);
}
