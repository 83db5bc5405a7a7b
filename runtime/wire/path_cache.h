/* SPDX-License-Identifier: MIT */
/*
 * path_cache.h -- measurements of the path between two hosts, kept when their sessions have ended.
 *
 * A world has one, made when the first session asks it.  It is the world's and not an endpoint's,
 * because many applications open an endpoint for each session: measurements of the last one would
 * go with it.  A record belongs to a pair of IP addresses, ours and the peer's, without ports: one
 * simulated world has many hosts, and one host may have many ways to another.
 */
#ifndef NOPAL_PATH_CACHE_H
#define NOPAL_PATH_CACHE_H

#include <nopal/nopal.h>
#include <nopal/microprotocol.h>

enum { NOPAL_PATH_RECORDS = 1024 }; /* of a world; held ones count */

struct nopal_path_cache;

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

struct nopal_composite;
/* The session at the bottom of a stack holds its record no longer. */
void nopal__path_record_release(struct nopal_composite *bottom);

#endif
