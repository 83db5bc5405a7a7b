/* SPDX-License-Identifier: MIT */
/*
 * live_socket.c -- one UDP socket: its options, and trains out.
 *
 * Out: a train is one sendmsg with UDP_SEGMENT.  Where the kernel or the device refuses that, the
 * socket falls back to sendmmsg for good, and says so in its text.  A train that went half is
 * finished from a copy, so that the caller never sends a datagram twice.
 *
 * Errors are classed, never fatal: busy (EAGAIN, ENOBUFS), too big (EMSGSIZE), and soft, which is
 * all the rest.  What came from the network is no error of the call (live_hints.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <netinet/udp.h>

#include "io/live/live.h"

enum {
	SOCKET_SEND_BYTES = 4 << 20, /* asked for; what was granted is read back */
	SOCKET_RECEIVE_BYTES = 8 << 20,
	SOCKET_MIN_IPV6_MTU = 1280, /* RFC 8200, section 5 */
	SOCKET_TRIES = 4,	    /* of a call that fails by what the network said */
};

/* ----------------------------------------------------------------- opening */

static int socket_set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) ? -errno : 0;
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

/* Datagrams are not fragmented: the path's limit is found by probing, and what ICMP says about it
 * is not believed (RFC 8899). */
static void socket_no_fragments(int fd, int family)
{
	if (socket_set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE))
		socket_set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
	if (family != AF_INET6)
		return;
	if (socket_set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE))
		socket_set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
	socket_set(fd, IPPROTO_IPV6, IPV6_MTU, 0);
}

/* But for one that was cut for a longer path than it has now: routers of IPv4 may cut it again,
 * those of IPv6 never do, so there it is cut for any path. */
static void socket_fragments(int fd, int family)
{
	socket_set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT);
	if (family != AF_INET6)
		return;
	socket_set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DONT);
	socket_set(fd, IPPROTO_IPV6, IPV6_MTU, SOCKET_MIN_IPV6_MTU);
}

/* What arrives tells its marks. */
static void socket_hear_marks(int fd, int family)
{
	socket_set(fd, IPPROTO_IP, IP_RECVTOS, 1);
	if (family == AF_INET6)
		socket_set(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
}

/* What leaves from now on; sessions of one endpoint mostly agree. */
static void socket_mark(struct live_socket *sock, uint8_t ecn)
{
	if (sock->ecn == ecn)
		return;
	sock->ecn = ecn;
	socket_set(sock->fd, IPPROTO_IP, IP_TOS, ecn);
	if (sock->family == AF_INET6)
		socket_set(sock->fd, IPPROTO_IPV6, IPV6_TCLASS, ecn);
}

static void socket_tune(struct live_socket *sock)
{
	int segment = 0;
	socklen_t length = sizeof(segment);

	socket_no_fragments(sock->fd, sock->family);
	socket_hear_marks(sock->fd, sock->family);
	nopal__live_hints_hear(sock->fd, sock->family);
	sock->send_bytes = socket_buffer(sock->fd, SO_SNDBUFFORCE, SO_SNDBUF, SOCKET_SEND_BYTES);
	sock->receive_bytes =
		socket_buffer(sock->fd, SO_RCVBUFFORCE, SO_RCVBUF, SOCKET_RECEIVE_BYTES);
	sock->gro_errno = -socket_set(sock->fd, SOL_UDP, UDP_GRO, 1);
	sock->gro = sock->gro_errno == 0;
	sock->gso = !getsockopt(sock->fd, SOL_UDP, UDP_SEGMENT, &segment, &length);
	sock->gso_errno = sock->gso ? 0 : errno;
}

static int socket_bind(int fd, int family, const struct nopal_address *local,
		       struct nopal_address *ret_local)
{
	union live_sockaddr name;
	socklen_t length = nopal__live_address_to(local, family, &name);

	if (family == AF_INET6)
		socket_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
	if (bind(fd, &name.any, length))
		return -errno;
	length = sizeof(name);
	if (getsockname(fd, &name.any, &length))
		return -errno;
	nopal__live_address_from(&name, ret_local);
	return 0;
}

static int socket_family(const struct nopal_address *local)
{
	return nopal_address_is_v4(local) ? AF_INET : AF_INET6;
}

int nopal__live_socket_bind(const struct nopal_address *local, bool shared,
			    struct nopal_address *ret_local)
{
	int family = socket_family(local), error = 0;
	int fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (shared)
		error = socket_set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (!error)
		error = socket_bind(fd, family, local, ret_local);
	if (!error)
		return fd;
	close(fd);
	return error;
}

int nopal__live_socket_take(struct live_socket *sock, int fd, const struct nopal_address *local)
{
	int error;

	memset(sock, 0, sizeof(*sock));
	sock->family = socket_family(local);
	sock->fd = fd;
	error = nopal__live_inbox_init(sock);
	if (error) {
		nopal__live_socket_close(sock);
		return error;
	}
	socket_tune(sock);
	return 0;
}

int nopal__live_socket_open(struct live_socket *sock, const struct nopal_address *local,
			    struct nopal_address *ret_local)
{
	int fd = nopal__live_socket_bind(local, false, ret_local);

	return fd < 0 ? fd : nopal__live_socket_take(sock, fd, ret_local);
}

void nopal__live_socket_close(struct live_socket *sock)
{
	nopal__live_inbox_fini(sock);
	free(sock->rest);
	close(sock->fd);
	memset(sock, 0, sizeof(*sock));
	sock->fd = -1;
}

static int socket_text_offload(char *text, size_t room, const char *name, const char *on,
			       bool is_on, int error)
{
	if (is_on)
		return snprintf(text, room, "%s %s ", name, on);
	return snprintf(text, room, "%s off (%s) ", name, strerror(error));
}

const char *nopal__live_socket_text(struct live_socket *sock)
{
	char gso[LIVE_TEXT_BYTES / 2], gro[LIVE_TEXT_BYTES / 2], trains[8];

	snprintf(trains, sizeof(trains), "%u", (unsigned)NOPAL_TRAIN_DATAGRAMS);
	socket_text_offload(gso, sizeof(gso), "gso", trains, sock->gso, sock->gso_errno);
	socket_text_offload(gro, sizeof(gro), "gro", "on", sock->gro, sock->gro_errno);
	snprintf(sock->text, sizeof(sock->text), "%.48s%.48ssndbuf %d rcvbuf %d", gso, gro,
		 sock->send_bytes, sock->receive_bytes);
	return sock->text;
}

/* ----------------------------------------------------------------- sending */

/* One datagram: no header structures for the kernel to fetch and check. */
static ssize_t socket_send_one(struct live_socket *sock, const struct nopal_train *train,
			       const union live_sockaddr *to, socklen_t length)
{
	return sendto(sock->fd, train->bytes, train->length, MSG_DONTWAIT | MSG_NOSIGNAL, &to->any,
		      length);
}

/* What is said with datagrams: how long each of a train is, and whence they leave. */
union socket_control {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(uint16_t)) + CMSG_SPACE(sizeof(struct in6_pktinfo))];
};

/* Returns where the next one goes. */
static size_t socket_say(union socket_control *control, size_t at, int level, int type,
			 const void *value, size_t length)
{
	struct cmsghdr *entry = (struct cmsghdr *)(void *)(control->room + at);

	entry->cmsg_level = level;
	entry->cmsg_type = type;
	entry->cmsg_len = CMSG_LEN(length);
	memcpy(CMSG_DATA(entry), value, length);
	return at + CMSG_SPACE(length);
}

static bool socket_casts(const struct live_socket *sock, const struct nopal_address *to)
{
	return sock->multicast_from.ipi6_ifindex && to->ip[0] == UINT8_MAX;
}

static size_t socket_say_whence(const struct live_socket *sock, const struct nopal_address *to,
				union socket_control *control, size_t at)
{
	return socket_casts(sock, to)
		       ? socket_say(control, at, IPPROTO_IPV6, IPV6_PKTINFO, &sock->multicast_from,
				    sizeof(sock->multicast_from))
		       : at;
}

static ssize_t socket_send_many(struct live_socket *sock, const struct nopal_train *train,
				union live_sockaddr *to, socklen_t length)
{
	struct iovec vector = { .iov_base = (void *)(uintptr_t)train->bytes,
				.iov_len = train->length };
	union socket_control control = { .room = { 0 } };
	struct msghdr header = {
		.msg_name = to,
		.msg_namelen = length,
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = &control,
	};
	uint16_t segment = (uint16_t)train->stride;

	if (train->stride < train->length)
		header.msg_controllen =
			socket_say(&control, 0, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment));
	header.msg_controllen = socket_say_whence(sock, train->to, &control, header.msg_controllen);
	return sendmsg(sock->fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static bool socket_is_busy(int error)
{
	return error == EAGAIN || error == EWOULDBLOCK || error == ENOBUFS || error == ENOMEM;
}

/* Is a call that failed with errno worth another one? */
static bool socket_again(struct live_socket *sock, unsigned *tries)
{
	int error = errno;

	if (error == EINTR)
		return true;
	if (!socket_is_busy(error) && ++*tries < SOCKET_TRIES && nopal__live_hints_gather(sock))
		return true;
	errno = error;
	return false;
}

static int socket_send_train(struct live_socket *sock, const struct nopal_train *train)
{
	union live_sockaddr to;
	socklen_t length = nopal__live_address_to(train->to, sock->family, &to);
	unsigned tries = 0;
	ssize_t sent;

	do {
		sent = train->stride < train->length || socket_casts(sock, train->to)
			       ? socket_send_many(sock, train, &to, length)
			       : socket_send_one(sock, train, &to, length);
	} while (sent < 0 && socket_again(sock, &tries));
	return sent < 0 ? errno : 0;
}

/* What an errno means for a datagram. */
static enum nopal_transmitted socket_class(struct live_socket *sock, int error)
{
	if (error == 0)
		return NOPAL_TRANSMITTED;
	if (socket_is_busy(error)) {
		sock->no_memory = error == ENOBUFS || error == ENOMEM;
		return NOPAL_BUSY;
	}
	if (error == EMSGSIZE)
		return NOPAL_TOO_BIG;
	sock->soft_errors++;
	sock->send_errno = error;
	return NOPAL_UNSENT;
}

struct socket_each {
	struct mmsghdr headers[NOPAL_TRAIN_DATAGRAMS];
	struct iovec vectors[NOPAL_TRAIN_DATAGRAMS];
	union live_sockaddr to;
	socklen_t to_length;
	uint32_t sent, too_big; /* datagrams */
	size_t control_length;
	union socket_control control;
};

/* Hands over datagrams from byte `from` on; returns how many went, or -errno. */
static int socket_send_some(struct live_socket *sock, struct socket_each *each,
			    const struct nopal_train *train, uint32_t from)
{
	unsigned count = 0, tries = 0;
	int sent;

	for (uint32_t at = from; at < train->length && count < NOPAL_TRAIN_DATAGRAMS;
	     at += train->stride, count++) {
		uint32_t left = train->length - at;

		each->vectors[count].iov_base = (void *)(uintptr_t)(train->bytes + at);
		each->vectors[count].iov_len = left < train->stride ? left : train->stride;
		each->headers[count].msg_hdr = (struct msghdr){
			.msg_name = &each->to,
			.msg_namelen = each->to_length,
			.msg_iov = &each->vectors[count],
			.msg_iovlen = 1,
			.msg_control = &each->control,
			.msg_controllen = each->control_length,
		};
	}
	do {
		sent = sendmmsg(sock->fd, each->headers, count, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (sent < 0 && socket_again(sock, &tries));
	return sent < 0 ? -errno : sent;
}

/* Keeps what the kernel did not take; it goes before anything else. */
static bool socket_keep_rest(struct live_socket *sock, const struct nopal_train *train,
			     uint32_t from)
{
	if (!sock->rest)
		sock->rest = malloc(LIVE_RECEIVE_BYTES);
	if (!sock->rest || train->length - from > LIVE_RECEIVE_BYTES)
		return false;
	memmove(sock->rest, train->bytes + from, train->length - from);
	sock->rest_length = train->length - from;
	sock->rest_stride = train->stride;
	sock->rest_ecn = train->ecn;
	sock->rest_to = *train->to;
	return true;
}

/* Each datagram by itself.  One that fails is dropped, the others still go. */
static enum nopal_transmitted socket_send_each(struct live_socket *sock,
					       const struct nopal_train *train,
					       struct socket_each *each)
{
	enum nopal_transmitted last = NOPAL_UNSENT;

	each->to_length = nopal__live_address_to(train->to, sock->family, &each->to);
	memset(&each->control, 0, sizeof(each->control));
	each->control_length = socket_say_whence(sock, train->to, &each->control, 0);
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
	return error == EIO || error == EINVAL || error == EMSGSIZE || error == ENOPROTOOPT ||
	       error == EOPNOTSUPP;
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
	socket_mark(sock, sock->rest_ecn);
	if (socket_send_each(sock, &train, &each) == NOPAL_BUSY)
		sock->rest_length = train.length;
	return sock->rest_length == 0;
}

static enum nopal_transmitted socket_send(struct live_socket *sock, const struct nopal_train *train)
{
	struct nopal_train whole = *train;
	struct socket_each each;
	enum nopal_transmitted result;
	int error;

	sock->soft_errors = 0;
	if (!nopal__live_socket_flush(sock))
		return NOPAL_BUSY;
	socket_mark(sock, whole.ecn);
	if (whole.stride == 0)
		whole.stride = whole.length;
	if (whole.stride < whole.length && !sock->gso)
		return socket_send_each(sock, &whole, &each);
	error = socket_send_train(sock, &whole);
	if (whole.stride == whole.length || !socket_refuses_trains(error))
		return socket_class(sock, error);
	result = socket_send_each(sock, &whole, &each);
	if (each.sent > 0 && each.too_big == 0) {
		sock->gso = false; /* the datagrams were good: it is the train */
		sock->gso_errno = error;
	}
	return result;
}

enum nopal_transmitted nopal__live_socket_send(struct live_socket *sock,
					       const struct nopal_train *train)
{
	enum nopal_transmitted result;

	if (!train->fragments)
		return socket_send(sock, train);
	socket_fragments(sock->fd, sock->family);
	result = socket_send(sock, train);
	socket_no_fragments(sock->fd, sock->family);
	return result;
}
