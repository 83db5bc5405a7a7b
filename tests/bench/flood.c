/* SPDX-License-Identifier: MIT */
/*
 * flood -- one bulk flow from memory to memory, for comparison in one run.
 *
 *     flood raw  recv ADDRESS:PORT            flood raw  send ADDRESS:PORT SECONDS
 *     flood bulk recv ADDRESS:PORT [CONFIG]   flood bulk send ADDRESS:PORT SECONDS [CONFIG]
 *
 * `raw` is the ceiling: windowed UDP, GSO trains of 44 datagrams of 1400 bytes
 * with 20 bytes of header each, fresh payload (64 MiB walked) copied into the
 * train, GRO at the receiver, one ack a batch.  `bulk` is a Nopal config through
 * the same payload.  The receiver prints delivered bytes and its bits a second.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "nopal.h"

enum {
	PAYLOAD = 1400,
	HEADER = 20,
	TRAIN = 44,
	DATAGRAM = HEADER + PAYLOAD,
	WALK = 64 << 20,
	WINDOW = 1 << 20, /* below what a veth queues: 1000 packets */
	BLOCK = 65536,
	BATCH = 32,
	SOCKET_BUFFER = 8 << 20,
	QUIET_MS = 1000,
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void report(const char *what, uint64_t bytes, double seconds)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	printf("{\"what\":\"%s\",\"delivered_bytes\":%llu,\"goodput_bps\":%.0f,"
	       "\"cpu_s\":%.3f}\n",
	       what, (unsigned long long)bytes,
	       seconds > 0 ? (double)bytes * 8 / seconds : 0,
	       (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
		       (double)(usage.ru_utime.tv_usec +
				usage.ru_stime.tv_usec) *
			       1e-6);
	fflush(stdout);
}

/* ------------------------------------------------------------------ raw UDP */

static struct sockaddr_in address_of(const char *text)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	char host[64];
	const char *colon = strrchr(text, ':');

	if (!colon || (size_t)(colon - text) >= sizeof(host))
		exit(2);
	memcpy(host, text, (size_t)(colon - text));
	host[colon - text] = '\0';
	inet_pton(AF_INET, host, &address.sin_addr);
	address.sin_port = htons((uint16_t)atoi(colon + 1));
	return address;
}

static int udp_socket(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), size = SOCKET_BUFFER, one = 1;

	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	setsockopt(fd, SOL_UDP, UDP_GRO, &one, sizeof(one));
	return fd;
}

/* Whatever has come is taken by one call and answered by one ack. */
static int raw_batch(int fd, struct sockaddr_in *ret_peer, uint64_t *bytes,
		     uint64_t *datagrams)
{
	static uint8_t blocks[BATCH][BLOCK];
	struct mmsghdr messages[BATCH] = { 0 };
	struct iovec pieces[BATCH];
	int got;

	for (int i = 0; i < BATCH; i++) {
		pieces[i] = (struct iovec){ blocks[i], BLOCK };
		messages[i].msg_hdr.msg_iov = &pieces[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	messages[0].msg_hdr.msg_name = ret_peer;
	messages[0].msg_hdr.msg_namelen = sizeof(*ret_peer);
	got = recvmmsg(fd, messages, BATCH, MSG_DONTWAIT, NULL);
	for (int i = 0; i < got; i++) {
		uint64_t count =
			(messages[i].msg_len + DATAGRAM - 1) / DATAGRAM;

		*datagrams += count;
		*bytes += messages[i].msg_len - count * HEADER;
	}
	return got;
}

static void raw_recv(const char *text)
{
	struct sockaddr_in local = address_of(text), peer;
	uint64_t bytes = 0, datagrams = 0;
	double first = 0, last = 0;
	int fd = udp_socket();
	struct pollfd wait = { fd, POLLIN, 0 };

	if (bind(fd, (struct sockaddr *)&local, sizeof(local)) < 0)
		exit(3);
	while (poll(&wait, 1, first > 0 ? QUIET_MS : -1) > 0) {
		if (raw_batch(fd, &peer, &bytes, &datagrams) <= 0)
			continue;
		last = now();
		if (first <= 0)
			first = last;
		sendto(fd, &datagrams, sizeof(datagrams), 0,
		       (struct sockaddr *)&peer, sizeof(peer));
	}
	report("raw", bytes, last - first);
}

static size_t raw_train(uint8_t *train, const uint8_t *walk, size_t *at,
			uint64_t *sent)
{
	for (int i = 0; i < TRAIN; i++) {
		uint8_t *start = train + (size_t)i * DATAGRAM;

		memset(start, 0, HEADER);
		memcpy(start, sent, sizeof(*sent));
		memcpy(start + HEADER, walk + *at, PAYLOAD);
		*at = *at + 2 * PAYLOAD < WALK ? *at + PAYLOAD : 0;
		++*sent;
	}
	return (size_t)TRAIN * DATAGRAM;
}

static void raw_transmit(int fd, const uint8_t *train, size_t length)
{
	char control[CMSG_SPACE(sizeof(uint16_t))] = { 0 };
	struct iovec piece = { (void *)(uintptr_t)train, length };
	struct msghdr message = { .msg_iov = &piece,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&message);
	uint16_t size = DATAGRAM;

	cmsg->cmsg_level = SOL_UDP;
	cmsg->cmsg_type = UDP_SEGMENT;
	cmsg->cmsg_len = CMSG_LEN(sizeof(size));
	memcpy(CMSG_DATA(cmsg), &size, sizeof(size));
	while (sendmsg(fd, &message, 0) < 0 &&
	       (errno == EAGAIN || errno == ENOBUFS))
		;
}

/* A lost datagram would close the window for good: after a while it is forgiven. */
static void raw_send(const char *text, double seconds)
{
	struct sockaddr_in peer = address_of(text);
	static uint8_t train[BLOCK];
	uint8_t *walk = calloc(1, WALK);
	uint64_t sent = 0, acked = 0, forgiven = 0, heard;
	size_t at = 0;
	double end = now() + seconds;
	int fd = udp_socket();
	struct pollfd wait = { fd, POLLIN, 0 };

	if (!walk || connect(fd, (struct sockaddr *)&peer, sizeof(peer)) < 0)
		exit(3);
	for (size_t i = 0; i < WALK; i++)
		walk[i] = (uint8_t)i;
	while (now() < end) {
		while (recv(fd, &heard, sizeof(heard), MSG_DONTWAIT) ==
		       sizeof(heard))
			acked = heard;
		if ((sent - acked - forgiven + TRAIN) * DATAGRAM <= WINDOW)
			raw_transmit(fd, train,
				     raw_train(train, walk, &at, &sent));
		else if (poll(&wait, 1, 50) == 0)
			forgiven = sent - acked;
	}
	free(walk);
}

/* -------------------------------------------------------------------- Nopal */

struct flood {
	struct event_base *base;
	struct nopal_session *session;
	struct nopal_buffer *walk;
	uint32_t at, message;
	uint64_t bytes;
	double first, last, end;
	bool over;
};

static void push(struct flood *flood)
{
	while (!flood->over) {
		if (now() >= flood->end) {
			flood->over = true;
			nopal_session_close(flood->session);
			return;
		}
		if (nopal_send_buffer(flood->session, flood->walk, flood->at,
				      flood->message, 0) < 0)
			return;
		flood->at += flood->message;
		if (flood->at + flood->message > WALK)
			flood->at = 0;
	}
}

static void on_opened(struct nopal_session *session, void *user)
{
	struct flood *flood = user;

	flood->session = session;
	if (flood->walk)
		push(flood);
}

static void on_writable(struct nopal_session *session, void *user)
{
	(void)session;
	push(user);
}

static void on_received(struct nopal_session *session,
			struct nopal_message *message, void *user)
{
	struct flood *flood = user;

	(void)session;
	flood->last = now();
	if (flood->first <= 0)
		flood->first = flood->last;
	flood->bytes += nopal_message_length(message);
}

static void print_counters(const struct nopal_session *session)
{
	const struct nopal_counters *counters = nopal_session_counters(session);

#define PRINT(name, doc)                                                       \
	if (counters->name)                                                    \
		fprintf(stderr, " %s %llu", #name,                             \
			(unsigned long long)counters->name);
	NOPAL_COUNTERS(PRINT)
	fprintf(stderr, "\n");
}

static void on_ended(struct nopal_session *session, int end, const char *text,
		     void *user)
{
	struct flood *flood = user;

	if (end != 0)
		fprintf(stderr, "ended: %s\n", text);
	if (getenv("FLOOD_COUNTERS"))
		print_counters(session);
	event_base_loopbreak(flood->base);
}

static const struct nopal_callbacks callbacks = {
	.opened = on_opened,
	.writable = on_writable,
	.received = on_received,
	.ended = on_ended,
};

static struct nopal_plan *plan_of(const char *config)
{
	struct nopal_problems problems;
	struct nopal_plan *plan;

	nopal_problems_init(&problems);
	plan = nopal_plan_load(config, NULL, &problems);
	nopal_problems_print(&problems, stderr);
	nopal_problems_fini(&problems);
	if (!plan)
		exit(2);
	return plan;
}

static void bulk(bool sends, const char *text, double seconds,
		 const char *config)
{
	struct flood flood = { .end = now() + seconds };
	struct event_config *wanted = event_config_new();
	struct nopal_address address = { 0 }, any = { 0 };
	struct nopal_plan *plan = plan_of(config);
	struct nopal_endpoint *endpoint;
	struct nopal_problems problems;
	struct nopal_world *world;

	nopal_problems_init(&problems);
	event_config_set_flag(wanted, EVENT_BASE_FLAG_PRECISE_TIMER);
	flood.base = event_base_new_with_config(wanted);
	world = nopal_live_new(flood.base);
	nopal_address_parse(text, &address, &problems);
	nopal_address_parse("0.0.0.0:0", &any, &problems);
	endpoint =
		nopal_endpoint_open(world, sends ? &any : &address, &problems);
	nopal_problems_print(&problems, stderr);
	if (!endpoint)
		exit(3);
	flood.message = (uint32_t)nopal_plan_body_bytes(plan) * TRAIN;
	if (flood.message > nopal_plan_message_limit(plan))
		flood.message = (uint32_t)nopal_plan_message_limit(plan);
	if (sends) {
		flood.walk = nopal_buffer_new(WALK);
		for (size_t i = 0; i < WALK; i++)
			nopal_buffer_bytes(flood.walk)[i] = (uint8_t)i;
		nopal_session_open(endpoint, plan, &address, &callbacks,
				   &flood);
	} else {
		nopal_endpoint_allow(endpoint, plan, NOPAL_ALLOW_CONNECTIONLESS,
				     &callbacks, &flood);
	}
	event_base_dispatch(flood.base);
	if (getenv("FLOOD_COUNTERS"))
		fprintf(stderr, "%s\n", nopal_endpoint_transport(endpoint));
	nopal_world_free(world);
	if (sends)
		nopal_buffer_free(flood.walk);
	else
		report(config, flood.bytes, flood.last - flood.first);
	nopal_plan_unref(plan);
	event_base_free(flood.base);
	event_config_free(wanted);
}

int main(int argc, char **argv)
{
	bool sends = argc > 2 && strcmp(argv[2], "send") == 0;
	double seconds = sends && argc > 4 ? atof(argv[4]) : 0;
	int config_at = sends ? 5 : 4;

	if (argc < 4)
		return 2;
	if (strcmp(argv[1], "raw") == 0 && sends)
		raw_send(argv[3], seconds);
	else if (strcmp(argv[1], "raw") == 0)
		raw_recv(argv[3]);
	else
		bulk(sends, argv[3], seconds,
		     argc > config_at ? argv[config_at] : "bulk");
	return 0;
}
