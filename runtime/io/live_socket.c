/* SPDX-License-Identifier: MIT */
/*
 * live_socket.c -- one UDP socket: trains out, batches in.
 *
 * Out: a train is one sendmsg with UDP_SEGMENT.  Where the kernel or the device
 * refuses that, the socket falls back to sendmmsg for good, and says so in its
 * text.  A train that went half is finished from a copy, so that the caller
 * never sends a datagram twice.
 *
 * In: with UDP_GRO one receive brings up to 64 KiB of equal datagrams; it lands
 * in the rest of a block and stays there.  Where receives are small, as acks
 * are or where GRO is refused, one recvmmsg fetches many and they are copied
 * together: a small copy is cheaper than a system call and than a pinned slot.
 *
 * Errors are classed, never fatal: busy (EAGAIN, ENOBUFS), too big (EMSGSIZE),
 * and soft, which is all the rest: ICMP can be forged, and only the protocol's
 * own timers decide that a peer is gone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <netinet/udp.h>

#include "live.h"

enum {
	SOCKET_SEND_BYTES =
		4 << 20, /* asked for; what was granted is read back */
	SOCKET_RECEIVE_BYTES = 8 << 20,
	SOCKET_SMALL_BYTES = 4 << 10, /* receives below are copied together */
	SOCKET_SLOT_BYTES =
		LIVE_RECEIVE_BYTES + 128, /* slots do not share cache sets */
	SOCKET_ALIGN = 64,		  /* arrivals begin on a cache line */
	SOCKET_ERRORS_IN_A_ROW = 4, /* receive errors that end a gathering */
};

union socket_control {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(int))];
};

struct live_inbox {
	struct live_pool *pool;
	struct nopal_buffer *block; /* that receives land in */
	uint32_t used;
	bool small; /* recent receives were: fetch many a call */
	uint8_t *slots;
	struct mmsghdr headers[LIVE_BATCH_RECEIVES];
	struct iovec vectors[LIVE_BATCH_RECEIVES];
	union live_sockaddr from[LIVE_BATCH_RECEIVES];
	union socket_control control[LIVE_BATCH_RECEIVES];
};

/* ----------------------------------------------------------------- opening */

static int socket_set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) ? -errno
								    : 0;
}

static int socket_buffer(int fd, int force, int plain, int bytes)
{
	socklen_t length = sizeof(bytes);

	if (socket_set(fd, SOL_SOCKET, force, bytes))
		socket_set(fd, SOL_SOCKET, plain, bytes);
	if (getsockopt(fd, SOL_SOCKET, plain, &bytes, &length))
		return 0;
	return bytes;
}

/* Datagrams are never fragmented: the path's limit is found by probing, and
 * what ICMP says about it is not believed (RFC 8899). */
static void socket_no_fragments(int fd, int family)
{
	if (socket_set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE))
		socket_set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
	if (family != AF_INET6)
		return;
	if (socket_set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER,
		       IPV6_PMTUDISC_PROBE))
		socket_set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER,
			   IPV6_PMTUDISC_DO);
}

static void socket_tune(struct live_socket *sock)
{
	int segment = 0;
	socklen_t length = sizeof(segment);

	socket_no_fragments(sock->fd, sock->family);
	sock->send_bytes = socket_buffer(sock->fd, SO_SNDBUFFORCE, SO_SNDBUF,
					 SOCKET_SEND_BYTES);
	sock->receive_bytes = socket_buffer(sock->fd, SO_RCVBUFFORCE, SO_RCVBUF,
					    SOCKET_RECEIVE_BYTES);
	sock->gro_errno = -socket_set(sock->fd, SOL_UDP, UDP_GRO, 1);
	sock->gro = sock->gro_errno == 0;
	sock->gso =
		!getsockopt(sock->fd, SOL_UDP, UDP_SEGMENT, &segment, &length);
	sock->gso_errno = sock->gso ? 0 : errno;
}

static int socket_bind(struct live_socket *sock,
		       const struct nopal_address *local,
		       struct nopal_address *ret_local)
{
	union live_sockaddr name;
	socklen_t length = nopal__live_address_to(local, sock->family, &name);

	if (sock->family == AF_INET6)
		socket_set(sock->fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
	if (bind(sock->fd, &name.any, length))
		return -errno;
	length = sizeof(name);
	if (getsockname(sock->fd, &name.any, &length))
		return -errno;
	nopal__live_address_from(&name, ret_local);
	return 0;
}

static int inbox_init(struct live_socket *sock)
{
	struct live_inbox *inbox = calloc(1, sizeof(*inbox));

	if (!inbox)
		return -ENOMEM;
	inbox->pool = nopal__live_pool_new();
	if (!inbox->pool) {
		free(inbox);
		return -ENOMEM;
	}
	inbox->small = true;
	sock->inbox = inbox;
	return 0;
}

int nopal__live_socket_open(struct live_socket *sock,
			    const struct nopal_address *local,
			    struct nopal_address *ret_local)
{
	int error;

	memset(sock, 0, sizeof(*sock));
	sock->family = nopal__live_address_is_v4(local) ? AF_INET : AF_INET6;
	sock->fd = socket(sock->family,
			  SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (sock->fd < 0)
		return -errno;
	error = inbox_init(sock);
	if (!error)
		error = socket_bind(sock, local, ret_local);
	if (error) {
		nopal__live_socket_close(sock);
		return error;
	}
	socket_tune(sock);
	return 0;
}

void nopal__live_socket_close(struct live_socket *sock)
{
	if (sock->inbox) {
		nopal_buffer_unref(sock->inbox->block);
		nopal__live_pool_drop(sock->inbox->pool);
		free(sock->inbox->slots);
		free(sock->inbox);
	}
	free(sock->rest);
	close(sock->fd);
	memset(sock, 0, sizeof(*sock));
	sock->fd = -1;
}

static int socket_text_offload(char *text, size_t room, const char *name,
			       const char *on, bool is_on, int error)
{
	if (is_on)
		return snprintf(text, room, "%s %s ", name, on);
	return snprintf(text, room, "%s off (%s) ", name, strerror(error));
}

const char *nopal__live_socket_text(struct live_socket *sock)
{
	char gso[LIVE_TEXT_BYTES / 2], gro[LIVE_TEXT_BYTES / 2], trains[8];

	snprintf(trains, sizeof(trains), "%u", (unsigned)NOPAL_TRAIN_DATAGRAMS);
	socket_text_offload(gso, sizeof(gso), "gso", trains, sock->gso,
			    sock->gso_errno);
	socket_text_offload(gro, sizeof(gro), "gro", "on", sock->gro,
			    sock->gro_errno);
	snprintf(sock->text, sizeof(sock->text),
		 "%.48s%.48ssndbuf %d rcvbuf %d", gso, gro, sock->send_bytes,
		 sock->receive_bytes);
	return sock->text;
}

/* --------------------------------------------------------------- receiving */

static void inbox_header(struct live_inbox *inbox, unsigned at, uint8_t *bytes,
			 size_t room)
{
	struct msghdr *header = &inbox->headers[at].msg_hdr;

	inbox->vectors[at] =
		(struct iovec){ .iov_base = bytes, .iov_len = room };
	*header = (struct msghdr){
		.msg_name = &inbox->from[at],
		.msg_namelen = sizeof(inbox->from[at]),
		.msg_iov = &inbox->vectors[at],
		.msg_iovlen = 1,
		.msg_control = &inbox->control[at],
		.msg_controllen = sizeof(inbox->control[at]),
	};
}

/* How long the datagrams are that GRO put together; 0: there is one. */
static uint32_t inbox_stride(struct msghdr *header, uint32_t length)
{
	int stride = 0;

	for (struct cmsghdr *at = CMSG_FIRSTHDR(header); at;
	     at = CMSG_NXTHDR(header, at)) {
		if (at->cmsg_level == SOL_UDP && at->cmsg_type == UDP_GRO)
			memcpy(&stride, CMSG_DATA(at), sizeof(stride));
	}
	return stride > 0 && (uint32_t)stride < length ? (uint32_t)stride : 0;
}

/* Worth handing on?  Others were counted. */
static bool inbox_good(struct live_socket *sock, const struct msghdr *header,
		       size_t length)
{
	if (header->msg_flags & MSG_TRUNC) {
		sock->truncated++;
		return false;
	}
	if (length == 0)
		sock->empty++;
	return length > 0;
}

/* Makes sure that the block has room for the longest receive. */
static bool inbox_block(struct live_inbox *inbox)
{
	if (inbox->block &&
	    LIVE_BLOCK_BYTES - inbox->used >= LIVE_RECEIVE_BYTES)
		return true;
	nopal_buffer_unref(inbox->block);
	inbox->used = 0;
	inbox->block = nopal__live_pool_take(inbox->pool);
	return inbox->block != NULL;
}

static void inbox_advance(struct live_inbox *inbox, uint32_t bytes)
{
	inbox->used = (inbox->used + bytes + SOCKET_ALIGN - 1) &
		      ~(uint32_t)(SOCKET_ALIGN - 1);
}

static void inbox_arrival(struct live_inbox *inbox, unsigned header,
			  uint32_t length, struct nopal_arrival *ret_arrival)
{
	nopal__live_address_from(&inbox->from[header], &ret_arrival->from);
	ret_arrival->buffer = nopal_buffer_ref(inbox->block);
	ret_arrival->bytes = inbox->block->bytes + inbox->used;
	ret_arrival->length = length;
	ret_arrival->stride =
		inbox_stride(&inbox->headers[header].msg_hdr, length);
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
	return ++*errors < SOCKET_ERRORS_IN_A_ROW;
}

static size_t inbox_gather_in_place(struct live_socket *sock,
				    struct nopal_arrival *arrivals)
{
	struct live_inbox *inbox = sock->inbox;
	size_t count = 0, bytes = 0;
	unsigned errors = 0;

	for (unsigned i = 0; i < LIVE_BATCH_RECEIVES && inbox_block(inbox);
	     i++) {
		ssize_t length;

		inbox_header(inbox, 0, inbox->block->bytes + inbox->used,
			     LIVE_RECEIVE_BYTES);
		length = recvmsg(sock->fd, &inbox->headers[0].msg_hdr,
				 MSG_DONTWAIT);
		if (length < 0) {
			if (!inbox_goes_on(sock, &errors))
				break;
			continue;
		}
		if (!inbox_good(sock, &inbox->headers[0].msg_hdr,
				(size_t)length))
			continue;
		inbox_arrival(inbox, 0, (uint32_t)length, &arrivals[count++]);
		bytes += (size_t)length;
	}
	inbox->small = bytes < count * SOCKET_SMALL_BYTES || !sock->gro;
	return count;
}

/* Does a datagram continue the train of the arrival before it? */
static bool inbox_continues(const struct nopal_arrival *before,
			    const struct nopal_address *from, uint32_t length)
{
	uint32_t stride = before->stride ? before->stride : before->length;

	return length <= stride && before->length % stride == 0 &&
	       before->length + length <= LIVE_RECEIVE_BYTES &&
	       nopal_address_equal(&before->from, from);
}

/* Copies what lies in a slot behind the others, as a train where it can. */
static bool inbox_copy(struct live_inbox *inbox, unsigned slot, uint32_t length,
		       struct nopal_arrival *arrivals, size_t *count,
		       uint32_t *tail)
{
	struct nopal_arrival *last = *count ? &arrivals[*count - 1] : NULL;
	const uint8_t *bytes = inbox->vectors[slot].iov_base;
	struct nopal_address from;

	nopal__live_address_from(&inbox->from[slot], &from);
	if (last && last->buffer == inbox->block &&
	    inbox_stride(&inbox->headers[slot].msg_hdr, length) == 0 &&
	    inbox_continues(last, &from, length) &&
	    *tail + length <= LIVE_BLOCK_BYTES) {
		if (last->stride == 0)
			last->stride = last->length;
		last->length += length;
	} else {
		if (!inbox_block(inbox))
			return false;
		*tail = inbox->used;
		inbox_arrival(inbox, slot, length, &arrivals[(*count)++]);
	}
	memcpy(inbox->block->bytes + *tail, bytes, length);
	*tail += length;
	inbox->used = *tail;
	inbox_advance(inbox, 0);
	return true;
}

static int inbox_fetch(struct live_socket *sock)
{
	struct live_inbox *inbox = sock->inbox;
	unsigned errors = 0;
	int fetched;

	for (unsigned i = 0; i < LIVE_BATCH_RECEIVES; i++)
		inbox_header(inbox, i,
			     inbox->slots + (size_t)i * SOCKET_SLOT_BYTES,
			     LIVE_RECEIVE_BYTES);
	do {
		fetched = recvmmsg(sock->fd, inbox->headers,
				   LIVE_BATCH_RECEIVES, MSG_DONTWAIT, NULL);
	} while (fetched < 0 && inbox_goes_on(sock, &errors));
	sock->dry = fetched < LIVE_BATCH_RECEIVES;
	return fetched;
}

static size_t inbox_gather_small(struct live_socket *sock,
				 struct nopal_arrival *arrivals)
{
	struct live_inbox *inbox = sock->inbox;
	size_t count = 0;
	uint32_t tail = 0;
	int fetched = inbox_fetch(sock);

	for (int i = 0; i < fetched; i++) {
		uint32_t length = inbox->headers[i].msg_len;

		if (!inbox_good(sock, &inbox->headers[i].msg_hdr, length))
			continue;
		if (!inbox_copy(inbox, (unsigned)i, length, arrivals, &count,
				&tail))
			break;
		if (length > SOCKET_SMALL_BYTES)
			inbox->small = !sock->gro;
	}
	return count;
}

size_t nopal__live_socket_gather(struct live_socket *sock,
				 struct nopal_arrival *arrivals)
{
	struct live_inbox *inbox = sock->inbox;

	sock->truncated = 0;
	sock->empty = 0;
	sock->soft_errors = 0;
	sock->dry = false;
	if (inbox->small && !inbox->slots)
		inbox->slots =
			malloc((size_t)LIVE_BATCH_RECEIVES * SOCKET_SLOT_BYTES);
	if (inbox->small && inbox->slots)
		return inbox_gather_small(sock, arrivals);
	return inbox_gather_in_place(sock, arrivals);
}

void nopal__live_socket_gave(struct live_socket *sock,
			     const struct nopal_arrival *arrivals, size_t count)
{
	struct live_inbox *inbox = sock->inbox;

	for (size_t i = 0; i < count; i++)
		nopal_buffer_unref(arrivals[i].buffer);
	if (inbox->block && inbox->block->references == 1)
		inbox->used =
			0; /* nobody kept a byte: the same warm lines again */
}

/* ----------------------------------------------------------------- sending */

static int socket_send_train(struct live_socket *sock,
			     const struct nopal_train *train)
{
	union live_sockaddr to;
	struct iovec vector = { .iov_base = (void *)(uintptr_t)train->bytes,
				.iov_len = train->length };
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(uint16_t))];
	} control = { .room = { 0 } };
	struct msghdr header = {
		.msg_name = &to,
		.msg_namelen =
			nopal__live_address_to(train->to, sock->family, &to),
		.msg_iov = &vector,
		.msg_iovlen = 1,
	};
	ssize_t sent;

	if (train->stride < train->length) {
		uint16_t segment = (uint16_t)train->stride;

		header.msg_control = &control;
		header.msg_controllen = sizeof(control.room);
		control.align.cmsg_level = SOL_UDP;
		control.align.cmsg_type = UDP_SEGMENT;
		control.align.cmsg_len = CMSG_LEN(sizeof(segment));
		memcpy(CMSG_DATA(&control.align), &segment, sizeof(segment));
	}
	do {
		sent = sendmsg(sock->fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? errno : 0;
}

/* What an errno means for a datagram. */
static enum nopal_transmitted socket_class(struct live_socket *sock, int error)
{
	if (error == 0)
		return NOPAL_TRANSMITTED;
	if (error == EAGAIN || error == EWOULDBLOCK || error == ENOBUFS ||
	    error == ENOMEM) {
		sock->no_memory = error == ENOBUFS || error == ENOMEM;
		return NOPAL_BUSY;
	}
	if (error == EMSGSIZE)
		return NOPAL_TOO_BIG;
	sock->soft_errors++;
	return NOPAL_UNSENT;
}

struct socket_each {
	struct mmsghdr headers[NOPAL_TRAIN_DATAGRAMS];
	struct iovec vectors[NOPAL_TRAIN_DATAGRAMS];
	union live_sockaddr to;
	socklen_t to_length;
	uint32_t sent, too_big; /* datagrams */
};

/* Hands over datagrams from byte `from` on; returns how many went, or -errno. */
static int socket_send_some(struct live_socket *sock, struct socket_each *each,
			    const struct nopal_train *train, uint32_t from)
{
	unsigned count = 0;
	int sent;

	for (uint32_t at = from;
	     at < train->length && count < NOPAL_TRAIN_DATAGRAMS;
	     at += train->stride, count++) {
		uint32_t left = train->length - at;

		each->vectors[count].iov_base =
			(void *)(uintptr_t)(train->bytes + at);
		each->vectors[count].iov_len =
			left < train->stride ? left : train->stride;
		each->headers[count].msg_hdr = (struct msghdr){
			.msg_name = &each->to,
			.msg_namelen = each->to_length,
			.msg_iov = &each->vectors[count],
			.msg_iovlen = 1,
		};
	}
	do {
		sent = sendmmsg(sock->fd, each->headers, count,
				MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : sent;
}

/* Keeps what the kernel did not take; it goes before anything else. */
static bool socket_keep_rest(struct live_socket *sock,
			     const struct nopal_train *train, uint32_t from)
{
	if (!sock->rest)
		sock->rest = malloc(LIVE_RECEIVE_BYTES);
	if (!sock->rest || train->length - from > LIVE_RECEIVE_BYTES)
		return false;
	memmove(sock->rest, train->bytes + from, train->length - from);
	sock->rest_length = train->length - from;
	sock->rest_stride = train->stride;
	sock->rest_to = *train->to;
	return true;
}

/* Each datagram by itself.  One that fails is dropped, the others still go. */
static enum nopal_transmitted socket_send_each(struct live_socket *sock,
					       const struct nopal_train *train,
					       struct socket_each *each)
{
	enum nopal_transmitted last = NOPAL_UNSENT;

	each->to_length =
		nopal__live_address_to(train->to, sock->family, &each->to);
	each->sent = 0;
	each->too_big = 0;
	for (uint32_t at = 0; at < train->length;) {
		int sent = socket_send_some(sock, each, train, at);

		if (sent > 0) {
			each->sent += (uint32_t)sent;
			at += (uint32_t)sent * train->stride;
			continue;
		}
		last = socket_class(sock, -sent);
		if (last == NOPAL_BUSY) {
			if (each->sent == 0)
				return NOPAL_BUSY;
			if (!socket_keep_rest(sock, train, at))
				sock->soft_errors++;
			break;
		}
		if (last == NOPAL_TOO_BIG)
			each->too_big++;
		at += train->stride;
	}
	if (each->sent > 0)
		return NOPAL_TRANSMITTED;
	return each->too_big > 0 ? NOPAL_TOO_BIG : last;
}

/* Errors by which kernels and devices refuse UDP_SEGMENT as such. */
static bool socket_refuses_trains(int error)
{
	return error == EIO || error == EINVAL || error == EMSGSIZE ||
	       error == ENOPROTOOPT || error == EOPNOTSUPP;
}

bool nopal__live_socket_flush(struct live_socket *sock)
{
	struct socket_each each;
	struct nopal_train train = {
		.to = &sock->rest_to,
		.bytes = sock->rest,
		.length = sock->rest_length,
		.stride = sock->rest_stride,
	};

	if (sock->rest_length == 0)
		return true;
	sock->rest_length = 0;
	if (socket_send_each(sock, &train, &each) == NOPAL_BUSY)
		sock->rest_length = train.length;
	return sock->rest_length == 0;
}

enum nopal_transmitted nopal__live_socket_send(struct live_socket *sock,
					       const struct nopal_train *train)
{
	struct nopal_train whole = *train;
	struct socket_each each;
	enum nopal_transmitted result;
	int error;

	sock->soft_errors = 0;
	if (!nopal__live_socket_flush(sock))
		return NOPAL_BUSY;
	if (whole.stride == 0)
		whole.stride = whole.length;
	if (whole.stride < whole.length && !sock->gso)
		return socket_send_each(sock, &whole, &each);
	error = socket_send_train(sock, &whole);
	if (whole.stride == whole.length || !socket_refuses_trains(error))
		return socket_class(sock, error);
	result = socket_send_each(sock, &whole, &each);
	if (each.sent > 0 && each.too_big == 0) {
		sock->gso =
			false; /* the datagrams were good: it is the train */
		sock->gso_errno = error;
	}
	return result;
}
