/* SPDX-License-Identifier: MIT */
/*
 * flood.c -- roles, payload and report of the bulk benchmark's programs.
 *
 * Checking costs every peer the same: one word in each 1400 bytes, and each 64th such unit in full.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "flood.h"

enum {
	BITS = 8,
	WORD = sizeof(uint64_t),
	KIB = 1024,
	UNIT = FLOOD_PAYLOAD,
	IN_FULL_EACH = 64, /* units */
	HOST_ROOM = 64,
	ARGUMENTS = 5,
	USAGE = 2,
	REFUSED = 3,
};

/* An odd number of 64 well mixed bits, and its inverse modulo 2^64. */
#define MIX   UINT64_C(0x9e3779b97f4a7c15)
#define UNMIX UINT64_C(0xf1de83e19937733d)

/* --------------------------------------------------------------------- roles */

static double flood_clock(clockid_t clock)
{
	const double nanosecond = 1e-9;
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * nanosecond;
}

void flood_fail(const char *what)
{
	perror(what);
	exit(REFUSED);
}

static bool flood_parse(struct flood *flood, char *text)
{
	char *colon = strrchr(text, ':');

	if (!colon)
		return false;
	*colon = '\0';
	flood->address.sin_family = AF_INET;
	flood->address.sin_port = htons((uint16_t)atoi(colon + 1));
	return inet_pton(AF_INET, text, &flood->address.sin_addr) == 1;
}

/* KiB, at most. */
static long flood_resident(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static void flood_connect(struct flood *flood)
{
	static struct flood lanes[FLOOD_MAX_CONNECTIONS];
	const char *said = getenv("FLOOD_CONNECTIONS");

	flood->connections = said ? atoi(said) : 1;
	if (flood->connections < 1 || flood->connections > FLOOD_MAX_CONNECTIONS) {
		fprintf(stderr, "FLOOD_CONNECTIONS: 1 to %d\n", FLOOD_MAX_CONNECTIONS);
		exit(USAGE);
	}
	if (flood->connections > 1)
		flood->lanes = lanes;
}

struct flood *flood_lane(struct flood *flood, int index)
{
	return flood->lanes ? &flood->lanes[index] : flood;
}

void flood_begin(struct flood *flood, int argc, char **argv)
{
	static char host[HOST_ROOM];

	memset(flood, 0, sizeof(*flood));
	if (argc >= ARGUMENTS)
		snprintf(host, sizeof(host), "%s", argv[2]);
	if (argc < ARGUMENTS || !flood_parse(flood, host)) {
		fprintf(stderr, "usage: %s recv|send ADDRESS:PORT SECONDS WHAT\n", argv[0]);
		exit(USAGE);
	}
	flood->sends = strcmp(argv[1], "send") == 0;
	flood->seconds = atof(argv[3]);
	flood->what = argv[4];
	flood->class_name = "none";
	snprintf(flood->version, sizeof(flood->version), "-");
	flood_connect(flood);
	flood->resident_before = flood_resident();
}

/* Time that the first thread could have run, and another did. */
static double flood_waited(const struct flood *flood)
{
	const double nanosecond = 1e-9;
	unsigned long long ran = 0, waited = 0;
	FILE *file = flood->alone ? fopen("/proc/self/schedstat", "r") : NULL;

	if (!file)
		return 0;
	if (fscanf(file, "%llu %llu", &ran, &waited) < 2)
		waited = 0;
	fclose(file);
	return (double)waited * nanosecond;
}

/* From here on the processor's time is counted. */
static void flood_start(struct flood *flood)
{
	flood->waited_before = flood_waited(flood);
	flood->begun = flood_clock(CLOCK_MONOTONIC);
	flood->cpu_before = flood_clock(CLOCK_PROCESS_CPUTIME_ID);
}

void flood_ready(const struct flood *flood)
{
	(void)flood;
	printf("{\"ready\":1}\n");
	fflush(stdout);
}

bool flood_over(struct flood *flood)
{
	if (flood->begun <= 0)
		flood_start(flood);
	return flood_clock(CLOCK_MONOTONIC) - flood->begun >= flood->seconds;
}

void flood_buffers(struct flood *flood, int fd)
{
	int size = FLOOD_SOCKET_BUFFER;
	socklen_t length = sizeof(int);

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &flood->receive_buffer, &length);
	getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &flood->send_buffer, &length);
}

/* Of all connections; how even they were, by Jain's index. */
static struct flood flood_sum(const struct flood *flood, double *ret_fairness)
{
	struct flood sum = *flood;
	double squares = 0, all = 0;

	for (int i = 0; flood->lanes && i < flood->connections; i++) {
		double bytes = (double)flood->lanes[i].delivered;

		sum.delivered += flood->lanes[i].delivered;
		sum.wrong += flood->lanes[i].wrong;
		all += bytes;
		squares += bytes * bytes;
	}
	*ret_fairness = squares > 0 ? all * all / (flood->connections * squares) : 1;
	return sum;
}

/* By how much the process has grown, but for the walk. */
static long flood_grown(const struct flood *flood)
{
	long grown = flood_resident() - flood->resident_before;

	return flood->sends ? grown - FLOOD_WALK / KIB : grown;
}

void flood_report(const struct flood *flood)
{
	double fairness;
	const struct flood sum = flood_sum(flood, &fairness);
	double seconds = flood->sends ? flood_clock(CLOCK_MONOTONIC) - flood->begun
				      : flood->last - flood->first;

	printf("{\"role\":\"%s\",\"what\":\"%s\",\"class\":\"%s\","
	       "\"delivered_bytes\":%llu,\"wrong_bytes\":%llu,"
	       "\"seconds\":%.6f,\"goodput_bps\":%.0f,"
	       "\"cpu_s\":%.6f,\"waited_s\":%.6f,"
	       "\"connections\":%d,\"fairness\":%.6f,\"grown_kb\":%ld,"
	       "\"rcvbuf\":%d,\"sndbuf\":%d,\"version\":\"%s\"}\n",
	       flood->sends ? "send" : "recv", flood->what, flood->class_name,
	       (unsigned long long)sum.delivered, (unsigned long long)sum.wrong, seconds,
	       seconds > 0 ? (double)sum.delivered * BITS / seconds : 0,
	       flood_clock(CLOCK_PROCESS_CPUTIME_ID) - flood->cpu_before,
	       flood_waited(flood) - flood->waited_before, flood->connections, fairness,
	       flood_grown(flood), flood->receive_buffer, flood->send_buffer, flood->version);
	fflush(stdout);
}

/* ------------------------------------------------------------------- payload */

void flood_fill(uint8_t *walk)
{
	for (uint64_t i = 0; i < FLOOD_WALK / WORD; i++) {
		uint64_t word = i * MIX;

		memcpy(walk + i * WORD, &word, WORD);
	}
}

uint8_t *flood_walk(void)
{
	uint8_t *walk = malloc(FLOOD_WALK);

	if (!walk)
		flood_fail("malloc");
	flood_fill(walk);
	return walk;
}

const uint8_t *flood_peek(const struct flood *flood, const uint8_t *walk, size_t max,
			  size_t *ret_length)
{
	size_t left = FLOOD_WALK - (size_t)flood->place;

	*ret_length = left < max ? left : max;
	return walk + flood->place;
}

void flood_gone(struct flood *flood, size_t length)
{
	flood->place += length;
	if (flood->place == FLOOD_WALK)
		flood->place = 0;
}

const uint8_t *flood_next(struct flood *flood, const uint8_t *walk, size_t max, size_t *ret_length)
{
	const uint8_t *next = flood_peek(flood, walk, max, ret_length);

	flood_gone(flood, *ret_length);
	return next;
}

void flood_begins(struct flood *flood, size_t length)
{
	if (flood->place + length > FLOOD_WALK)
		flood->place = 0;
}

void flood_sent(struct flood *flood, size_t length)
{
	flood->place += length;
	flood_begins(flood, length); /* the next one is as long */
}

static uint64_t flood_word(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, WORD);
	return word;
}

/* Are the whole words of a piece from this place of the walk as they should be? The first one, or
 * all of them. */
static bool flood_is_right(const uint8_t *bytes, size_t length, uint64_t place, bool in_full)
{
	size_t at = (size_t)(-place % WORD);
	uint64_t index = (place + at) / WORD;

	for (; at + WORD <= length; at += WORD, index++) {
		if (flood_word(bytes + at) != index % (FLOOD_WALK / WORD) * MIX)
			return false;
		if (!in_full)
			return true;
	}
	return true;
}

static void flood_count(struct flood *flood, const uint8_t *bytes, size_t length, uint64_t place)
{
	for (size_t at = 0; at < length; at += UNIT) {
		size_t piece = length - at < UNIT ? length - at : UNIT;

		if (flood_is_right(bytes + at, piece, place + at,
				   flood->units++ % IN_FULL_EACH == 0))
			flood->delivered += piece;
		else
			flood->wrong += piece;
	}
}

void flood_arrived(struct flood *flood)
{
	flood->last = flood_clock(CLOCK_MONOTONIC);
	if (flood->first > 0)
		return;
	flood->first = flood->last;
	flood_start(flood);
}

void flood_stream(struct flood *flood, const void *bytes, size_t length)
{
	flood_count(flood, bytes, length, flood->place);
	flood->place = (flood->place + length) % FLOOD_WALK;
}

void flood_datagram(struct flood *flood, const void *bytes, size_t length)
{
	uint64_t index;

	if (length < WORD) {
		flood->wrong += length;
		return;
	}
	index = flood_word(bytes) * UNMIX;
	if (index >= FLOOD_WALK / WORD) {
		flood->wrong += length;
		return;
	}
	flood_count(flood, bytes, length, index * WORD);
	flood->place = (index * WORD + length) % FLOOD_WALK;
}
