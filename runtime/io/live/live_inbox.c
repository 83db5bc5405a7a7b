/* SPDX-License-Identifier: MIT */
/*
 * live_inbox.c -- batches that arrive at a socket.
 *
 * With UDP_GRO one receive brings up to 64 KiB of equal datagrams; it lands in the rest of a block
 * and stays there.  Where receives are small, as acks are or where GRO is refused, one recvmmsg
 * fetches many and they are copied together:
 * a small copy is cheaper than a system call and than a pinned slot.
 *
 * A block holds several receives, so that a kept reference to one of them pins a small
 * neighbourhood and not a block of its own.  Blocks come back in any order; a few are kept, so that
 * the same warm memory is used again.
 *
 * The number that a call asks for follows the last ones: asking for one more than there is costs as
 * much as half a system call, which a lone message need not pay.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/udp.h>

#include "io/live/live.h"

enum {
	INBOX_SMALL_BYTES = 4 << 10,		     /* receives below are copied together */
	INBOX_SLOT_BYTES = LIVE_RECEIVE_BYTES + 128, /* slots do not share cache sets */
	INBOX_ALIGN = 64,			     /* arrivals begin on a cache line */
	INBOX_ECN = 3,				     /* bits of a class: RFC 3168 */
	INBOX_ERRORS_IN_A_ROW = 4,		     /* receive errors that end a gathering */
	INBOX_WARM_BYTES = 256 << 10,		     /* of one batch: still in the cache when
					 the core looks at its first datagram */
};

/* ------------------------------------------------------------------ blocks */

struct live_block {
	struct nopal_buffer buffer; /* first: a buffer is its block */
	struct live_block *next;
	uint8_t bytes[LIVE_BLOCK_BYTES];
};

/* The pool lives until its last block came back. */
struct live_pool {
	struct live_block *free;
	uint32_t free_count, outside;
	bool dropped;
};

static void pool_back(struct nopal_buffer *buffer)
{
	struct live_block *block = (struct live_block *)buffer;
	struct live_pool *pool = buffer->owner;

	pool->outside--;
	if (pool->dropped || pool->free_count >= LIVE_POOL_BLOCKS) {
		free(block);
	} else {
		block->next = pool->free;
		pool->free = block;
		pool->free_count++;
	}
	if (pool->dropped && pool->outside == 0)
		free(pool);
}

/* --------------------------------------------------------------- receiving */

union inbox_control {
	struct cmsghdr align;
	char room[2 * CMSG_SPACE(sizeof(int))]; /* a stride and a class */
};

/* Control messages of a receive. */
struct inbox_said {
	uint32_t stride; /* of the datagrams that GRO put together; 0: one */
	uint8_t ecn;
};

struct live_inbox {
	struct live_pool *pool;
	struct nopal_buffer *block; /* that receives land in */
	uint32_t used;
	bool small;	 /* recent receives were: fetch many a call */
	bool alone;	 /* the last gathering found nothing */
	unsigned expect; /* small receives that the next call asks for */
	uint8_t *slots;
	unsigned train_slot; /* where the last arrival's train began */
	struct mmsghdr headers[LIVE_BATCH_RECEIVES];
	struct iovec vectors[LIVE_BATCH_RECEIVES];
	union live_sockaddr from[LIVE_BATCH_RECEIVES];
	union inbox_control control[LIVE_BATCH_RECEIVES];
};

int nopal__live_inbox_init(struct live_socket *sock)
{
	struct live_inbox *inbox = calloc(1, sizeof(*inbox));

	if (!inbox)
		return -ENOMEM;
	inbox->pool = calloc(1, sizeof(*inbox->pool));
	if (!inbox->pool) {
		free(inbox);
		return -ENOMEM;
	}
	inbox->small = true;
	inbox->expect = 1;
	sock->inbox = inbox;
	return 0;
}

/* No more blocks are taken; blocks outside may still come back. */
void nopal__live_inbox_fini(struct live_socket *sock)
{
	struct live_inbox *inbox = sock->inbox;
	struct live_pool *pool = inbox ? inbox->pool : NULL;

	if (!inbox)
		return;
	nopal_buffer_unref(inbox->block);
	pool->dropped = true;
	while (pool->free) {
		struct live_block *block = pool->free;

		pool->free = block->next;
		free(block);
	}
	if (pool->outside == 0)
		free(pool);
	free(inbox->slots);
	free(inbox);
	sock->inbox = NULL;
}

static void inbox_header(struct live_inbox *inbox, unsigned at, uint8_t *bytes, size_t room)
{
	struct msghdr *header = &inbox->headers[at].msg_hdr;

	inbox->vectors[at] = (struct iovec){ .iov_base = bytes, .iov_len = room };
	*header = (struct msghdr){
		.msg_name = &inbox->from[at],
		.msg_namelen = sizeof(inbox->from[at]),
		.msg_iov = &inbox->vectors[at],
		.msg_iovlen = 1,
		.msg_control = &inbox->control[at],
		.msg_controllen = sizeof(inbox->control[at]),
	};
}

/* The kernel tells the class of IPv4 in a byte, that of IPv6 in an int. */
static struct inbox_said inbox_said(struct msghdr *header, uint32_t length)
{
	uint8_t service = 0;
	int stride = 0, class = 0;

	for (struct cmsghdr *at = CMSG_FIRSTHDR(header); at; at = CMSG_NXTHDR(header, at)) {
		if (at->cmsg_level == SOL_UDP && at->cmsg_type == UDP_GRO)
			memcpy(&stride, CMSG_DATA(at), sizeof(stride));
		else if (at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_TOS)
			memcpy(&service, CMSG_DATA(at), sizeof(service));
		else if (at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_TCLASS)
			memcpy(&class, CMSG_DATA(at), sizeof(class));
	}
	if (stride < 0 || (uint32_t)stride >= length)
		stride = 0;
	return (struct inbox_said){ (uint32_t)stride, (uint8_t)((service | class) & INBOX_ECN) };
}

/* Is the receive whole?  Others are counted. */
static bool inbox_good(struct live_socket *sock, const struct msghdr *header, size_t length)
{
	if (header->msg_flags & MSG_TRUNC) {
		sock->truncated++;
		return false;
	}
	if (length == 0)
		sock->empty++;
	return length > 0;
}

/* A block with room for the longest receive; false: out of memory. */
static bool inbox_block(struct live_inbox *inbox)
{
	struct live_pool *pool = inbox->pool;
	struct live_block *block;

	if (inbox->block && LIVE_BLOCK_BYTES - inbox->used >= LIVE_RECEIVE_BYTES)
		return true;
	nopal_buffer_unref(inbox->block);
	inbox->block = NULL;
	inbox->used = 0;
	block = pool->free;
	if (block) {
		pool->free = block->next;
		pool->free_count--;
	} else {
		block = malloc(sizeof(*block));
	}
	if (!block)
		return false;
	pool->outside++;
	block->buffer = (struct nopal_buffer){
		.references = 1,
		.capacity = LIVE_BLOCK_BYTES,
		.bytes = block->bytes,
		.release = pool_back,
		.owner = pool,
	};
	inbox->block = &block->buffer;
	return true;
}

static void inbox_advance(struct live_inbox *inbox, uint32_t bytes)
{
	inbox->used = (inbox->used + bytes + INBOX_ALIGN - 1) & ~(uint32_t)(INBOX_ALIGN - 1);
}

static void inbox_arrival(struct live_inbox *inbox, unsigned header, uint32_t length,
			  struct nopal_arrival *ret_arrival)
{
	struct inbox_said said = inbox_said(&inbox->headers[header].msg_hdr, length);

	nopal__live_address_from(&inbox->from[header], &ret_arrival->from);
	ret_arrival->buffer = nopal_buffer_ref(inbox->block);
	ret_arrival->bytes = inbox->block->bytes + inbox->used;
	ret_arrival->length = length;
	ret_arrival->stride = said.stride;
	ret_arrival->ecn = said.ecn;
	inbox_advance(inbox, length);
}

/* An error of a receive is an echo of something sent: it costs budget only. */
static bool inbox_goes_on(struct live_socket *sock, unsigned *errors)
{
	if (errno == EAGAIN || errno == EWOULDBLOCK) {
		sock->dry = true;
		return false;
	}
	if (errno != EINTR)
		sock->soft_errors++;
	return ++*errors < INBOX_ERRORS_IN_A_ROW;
}

static size_t inbox_gather_in_place(struct live_socket *sock, struct nopal_arrival *arrivals,
				    unsigned max)
{
	struct live_inbox *inbox = sock->inbox;
	size_t count = 0, bytes = 0;
	unsigned errors = 0;

	for (unsigned i = 0; i < max && bytes < INBOX_WARM_BYTES && inbox_block(inbox); i++) {
		ssize_t length;

		inbox_header(inbox, 0, inbox->block->bytes + inbox->used, LIVE_RECEIVE_BYTES);
		length = recvmsg(sock->fd, &inbox->headers[0].msg_hdr, MSG_DONTWAIT);
		if (length < 0) {
			if (!inbox_goes_on(sock, &errors))
				break;
			continue;
		}
		if (!inbox_good(sock, &inbox->headers[0].msg_hdr, (size_t)length))
			continue;
		inbox_arrival(inbox, 0, (uint32_t)length, &arrivals[count++]);
		bytes += (size_t)length;
	}
	if (count > 0)
		inbox->small = bytes < count * INBOX_SMALL_BYTES || !sock->gro;
	return count;
}

/* Does the datagram in a slot continue the train of the arrival before it, which began with another
 * slot?  Addresses are compared as the kernel wrote them: mostly equal, and read just now. */
static bool inbox_continues(struct live_inbox *inbox, unsigned slot,
			    const struct nopal_arrival *before, uint32_t length)
{
	uint32_t stride = before->stride ? before->stride : before->length;
	struct inbox_said said = inbox_said(&inbox->headers[slot].msg_hdr, length);
	socklen_t name = inbox->headers[slot].msg_hdr.msg_namelen;

	return length <= stride && before->length % stride == 0 &&
	       before->length + length <= LIVE_RECEIVE_BYTES && before->buffer == inbox->block &&
	       name == inbox->headers[inbox->train_slot].msg_hdr.msg_namelen &&
	       memcmp(&inbox->from[slot], &inbox->from[inbox->train_slot], name) == 0 &&
	       said.stride == 0 && said.ecn == before->ecn;
}

/* Copies a slot behind the others, as one train where possible. */
static bool inbox_copy(struct live_inbox *inbox, unsigned slot, uint32_t length,
		       struct nopal_arrival *arrivals, size_t *count, uint32_t *tail)
{
	struct nopal_arrival *last = *count ? &arrivals[*count - 1] : NULL;
	const uint8_t *bytes = inbox->vectors[slot].iov_base;

	if (last && *tail + length <= LIVE_BLOCK_BYTES &&
	    inbox_continues(inbox, slot, last, length)) {
		if (last->stride == 0)
			last->stride = last->length;
		last->length += length;
	} else {
		if (!inbox_block(inbox))
			return false;
		*tail = inbox->used;
		inbox->train_slot = slot;
		inbox_arrival(inbox, slot, length, &arrivals[(*count)++]);
	}
	memcpy(inbox->block->bytes + *tail, bytes, length);
	*tail += length;
	inbox->used = *tail;
	inbox_advance(inbox, 0);
	return true;
}

/* As many as came and, where that was all that was asked for, twice as many; but a poll that asks
 * again and again and mostly finds nothing goes on with one. */
static void inbox_learn(struct live_inbox *inbox, size_t fetched)
{
	if (fetched < inbox->expect)
		inbox->expect = fetched ? (unsigned)fetched : 1;
	else if (!inbox->alone)
		inbox->expect *= 2;
	if (inbox->expect > LIVE_BATCH_RECEIVES)
		inbox->expect = LIVE_BATCH_RECEIVES;
	inbox->alone = fetched == 0;
}

static size_t inbox_gather_small(struct live_socket *sock, struct nopal_arrival *arrivals)
{
	struct live_inbox *inbox = sock->inbox;
	size_t count = 0;
	uint32_t tail = 0;
	unsigned errors = 0;
	int fetched;

	for (unsigned i = 0; i < inbox->expect; i++)
		inbox_header(inbox, i, inbox->slots + (size_t)i * INBOX_SLOT_BYTES,
			     LIVE_RECEIVE_BYTES);
	do {
		fetched = recvmmsg(sock->fd, inbox->headers, inbox->expect, MSG_DONTWAIT, NULL);
	} while (fetched < 0 && inbox_goes_on(sock, &errors));
	sock->dry = fetched < (int)inbox->expect;
	inbox_learn(inbox, fetched > 0 ? (size_t)fetched : 0);
	for (int i = 0; i < fetched; i++) {
		uint32_t length = inbox->headers[i].msg_len;

		if (!inbox_good(sock, &inbox->headers[i].msg_hdr, length))
			continue;
		if (!inbox_copy(inbox, (unsigned)i, length, arrivals, &count, &tail))
			break;
		if (length > INBOX_SMALL_BYTES)
			inbox->small = !sock->gro;
	}
	return count;
}

size_t nopal__live_socket_gather(struct live_socket *sock, struct nopal_arrival *arrivals)
{
	struct live_inbox *inbox = sock->inbox;
	bool one = inbox->small && inbox->expect == 1;
	size_t count;

	sock->truncated = 0;
	sock->empty = 0;
	sock->soft_errors = 0;
	sock->dry = false;
	if (inbox->small && !one && !inbox->slots)
		inbox->slots = malloc((size_t)LIVE_BATCH_RECEIVES * INBOX_SLOT_BYTES);
	if (inbox->small && !one && inbox->slots)
		count = inbox_gather_small(sock, arrivals);
	else
		count = inbox_gather_in_place(sock, arrivals, one ? 1 : LIVE_BATCH_RECEIVES);
	if (one) {
		sock->dry = true; /* whether there is more, the poll says for nothing */
		inbox_learn(inbox, count);
	}
	if (sock->soft_errors)
		nopal__live_hints_gather(sock);
	return count;
}

void nopal__live_socket_gave(struct live_socket *sock, const struct nopal_arrival *arrivals,
			     size_t count)
{
	struct live_inbox *inbox = sock->inbox;

	for (size_t i = 0; i < count; i++)
		nopal_buffer_unref(arrivals[i].buffer);
	if (inbox->block && inbox->block->references == 1)
		inbox->used = 0; /* no byte was kept: the same warm lines again */
}
