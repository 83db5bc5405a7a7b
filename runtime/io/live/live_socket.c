/* SPDX-License-Identifier: MIT */
/*
 * live_socket.c -- one UDP socket: its options, trains out, and hints of the network about them.
 *
 * Out: a train is one sendmsg with UDP_SEGMENT.  Where the kernel or the device refuses that, the
 * socket falls back to sendmmsg for good, and says so in its text.  A train that went half is
 * finished from a copy, so that the caller never sends a datagram twice.
 *
 * Errors are classed, never fatal: busy (EAGAIN, ENOBUFS), too big (EMSGSIZE), and soft, which is
 * all the rest.  An error that came from the network is none of the call.
 *
 * Hints (ICMP) wait in the socket's error queue: the errno value, the destination of the datagram,
 * and its first bytes.  Besides, the next call of the socket fails with that value, for any
 * destination: so the queue is read when a call has failed, and the call is made again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/errqueue.h>
#include <netinet/udp.h>

#include "io/live/live.h"

enum {
	SOCKET_SEND_BYTES = 4 << 20, /* asked for; the granted size is read back */
	SOCKET_RECEIVE_BYTES = 8 << 20,
	SOCKET_MIN_IPV6_MTU = 1280, /* RFC 8200, section 5 */
	SOCKET_TRIES = 4,	    /* of a call that fails by an error of the network */
	HINTS_IN_A_ROW = 64,	    /* read at a time, however many there are */
	HINTS_UDP_BYTES = 8,
	HINTS_IPV4_BYTES = 20,
	HINTS_IPV6_BYTES = 40,
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

/* Datagrams are not fragmented: the path's limit is found by probing, and ICMP is not believed
 * about it (RFC 8899).  But a datagram that was cut for a longer path than it has now may be:
 * routers of IPv4 may cut it again, routers of IPv6 never do, so there it is cut for any path. */
static void socket_fragment(int fd, int family, bool may)
{
	if (socket_set(fd, IPPROTO_IP, IP_MTU_DISCOVER, may ? IP_PMTUDISC_DONT : IP_PMTUDISC_PROBE))
		socket_set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
	if (family != AF_INET6)
		return;
	if (socket_set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER,
		       may ? IPV6_PMTUDISC_DONT : IPV6_PMTUDISC_PROBE))
		socket_set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
	socket_set(fd, IPPROTO_IPV6, IPV6_MTU, may ? SOCKET_MIN_IPV6_MTU : 0);
}

/* The mark of datagrams from now on; sessions of one endpoint mostly agree. */
static void socket_mark(struct live_socket *sock, uint8_t ecn)
{
	if (sock->ecn == ecn)
		return;
	sock->ecn = ecn;
	socket_set(sock->fd, IPPROTO_IP, IP_TOS, ecn);
	if (sock->family == AF_INET6)
		socket_set(sock->fd, IPPROTO_IPV6, IPV6_TCLASS, ecn);
}

int nopal__live_socket_bind(const struct nopal_address *local, bool shared,
			    struct nopal_address *ret_local)
{
	int family = nopal_address_is_v4(local) ? AF_INET : AF_INET6, error = 0;
	int fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	union live_sockaddr name;
	socklen_t length = nopal__live_address_to(local, family, &name), room = sizeof(name);

	if (fd < 0)
		return -errno;
	if (shared)
		error = socket_set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (family == AF_INET6)
		socket_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
	if (!error && (bind(fd, &name.any, length) || getsockname(fd, &name.any, &room)))
		error = -errno;
	if (error) {
		close(fd);
		return error;
	}
	nopal__live_address_from(&name, ret_local);
	return fd;
}

int nopal__live_socket_take(struct live_socket *sock, int fd, const struct nopal_address *local)
{
	int error, segment = 0;
	socklen_t length = sizeof(segment);

	memset(sock, 0, sizeof(*sock));
	sock->family = nopal_address_is_v4(local) ? AF_INET : AF_INET6;
	sock->fd = fd;
	error = nopal__live_inbox_init(sock);
	if (error) {
		nopal__live_socket_close(sock);
		return error;
	}
	socket_fragment(fd, sock->family, false);
	socket_set(fd, IPPROTO_IP, IP_RECVTOS, 1); /* arrivals tell their marks */
	socket_set(fd, IPPROTO_IP, IP_RECVERR, 1); /* else there are no hints */
	if (sock->family == AF_INET6) {
		socket_set(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
		socket_set(fd, IPPROTO_IPV6, IPV6_RECVERR, 1);
	}
	sock->send_bytes = socket_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, SOCKET_SEND_BYTES);
	sock->receive_bytes = socket_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, SOCKET_RECEIVE_BYTES);
	sock->gro_errno = -socket_set(fd, SOL_UDP, UDP_GRO, 1);
	sock->gro = sock->gro_errno == 0;
	sock->gso = !getsockopt(fd, SOL_UDP, UDP_SEGMENT, &segment, &length);
	sock->gso_errno = sock->gso ? 0 : errno;
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
	if (sock->fd >= 0)
		close(sock->fd);
	memset(sock, 0, sizeof(*sock));
	sock->fd = -1;
}

const char *nopal__live_socket_text(struct live_socket *sock)
{
	char gso[48], gro[48];

	snprintf(gso, sizeof(gso), "off (%s)", strerror(sock->gso_errno));
	if (sock->gso)
		snprintf(gso, sizeof(gso), "%u", (unsigned)NOPAL_TRAIN_DATAGRAMS);
	snprintf(gro, sizeof(gro), "off (%s)", strerror(sock->gro_errno));
	snprintf(sock->text, sizeof(sock->text), "gso %s gro %s sndbuf %d rcvbuf %d", gso,
		 sock->gro ? "on" : gro, sock->send_bytes, sock->receive_bytes);
	return sock->text;
}

/* ------------------------------------------------------- hints of the network */

static void hints_note(struct live_socket *sock, const struct sock_extended_err *error,
		       const struct nopal_hint *hint)
{
	uint32_t headers = HINTS_UDP_BYTES +
			   (nopal_address_is_v4(&hint->to) ? HINTS_IPV4_BYTES : HINTS_IPV6_BYTES);
	struct nopal_hint *noted = &sock->hints[sock->hint_count];

	if (sock->hint_count == LIVE_HINTS ||
	    (error->ee_errno != ECONNREFUSED && error->ee_errno != EMSGSIZE))
		return;
	*noted = *hint;
	noted->what = NOPAL_HINT_REFUSED;
	if (error->ee_errno == EMSGSIZE) {
		noted->what = NOPAL_HINT_TOO_LONG;
		noted->datagram_bytes = error->ee_info > headers ? error->ee_info - headers : 0;
	}
	sock->hint_count++;
}

/* One hint of the queue; false: the queue is empty.  `*ret_network`: the hint came from outside. */
static bool hints_read(struct live_socket *sock, bool *ret_network)
{
	struct nopal_hint hint = { .head_bytes = 0 };
	struct iovec vector = { .iov_base = hint.head, .iov_len = sizeof(hint.head) };
	union live_sockaddr to = { .any.sa_family = AF_UNSPEC };
	union {
		struct cmsghdr align;
		char room[256];
	} control;
	struct msghdr header = {
		.msg_name = &to,
		.msg_namelen = sizeof(to),
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t length = recvmsg(sock->fd, &header, MSG_ERRQUEUE | MSG_DONTWAIT);
	const struct sock_extended_err *error = NULL; /* the kernel's record */

	if (length < 0)
		return false;
	for (struct cmsghdr *at = CMSG_FIRSTHDR(&header); at; at = CMSG_NXTHDR(&header, at))
		if ((at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_RECVERR) ||
		    (at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_RECVERR))
			error = (void *)CMSG_DATA(at);
	*ret_network = error && (error->ee_origin == SO_EE_ORIGIN_ICMP ||
				 error->ee_origin == SO_EE_ORIGIN_ICMP6);
	if (!*ret_network || header.msg_namelen == 0)
		return true;
	hint.head_bytes = (uint32_t)length;
	nopal__live_address_from(&to, &hint.to);
	hints_note(sock, error, &hint);
	return true;
}

bool nopal__live_hints_gather(struct live_socket *sock)
{
	bool any = false, network = false;

	for (unsigned i = 0; i < HINTS_IN_A_ROW && hints_read(sock, &network); i++)
		any |= network;
	return any;
}

/* ----------------------------------------------------------------- sending */

/* Control messages with datagrams: the length of each in a train, and their source. */
union socket_control {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(uint16_t)) + CMSG_SPACE(sizeof(struct in6_pktinfo))];
};

/* Returns the place of the next one. */
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

/* Multicast of IPv6 leaves from the address of the session. */
static size_t socket_say_source(const struct live_socket *sock, const struct nopal_address *to,
				union socket_control *control, size_t at)
{
	if (!sock->multicast_from.ipi6_ifindex || to->ip[0] != UINT8_MAX)
		return at;
	return socket_say(control, at, IPPROTO_IPV6, IPV6_PKTINFO, &sock->multicast_from,
			  sizeof(sock->multicast_from));
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

/* Returns 0, or the errno value. */
static int socket_send_train(struct live_socket *sock, const struct nopal_train *train)
{
	bool several = train->stride < train->length;
	struct iovec vector = { .iov_base = (void *)(uintptr_t)train->bytes,
				.iov_len = train->length };
	union socket_control control = { .room = { 0 } };
	union live_sockaddr to;
	struct msghdr header = {
		.msg_name = &to,
		.msg_namelen = nopal__live_address_to(train->to, sock->family, &to),
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = &control,
	};
	uint16_t segment = (uint16_t)train->stride;
	unsigned tries = 0;
	ssize_t sent;

	if (several)
		header.msg_controllen =
			socket_say(&control, 0, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment));
	header.msg_controllen = socket_say_source(sock, train->to, &control, header.msg_controllen);
	do {
		sent = header.msg_controllen
			       ? sendmsg(sock->fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL)
			       : sendto(sock->fd, train->bytes, train->length,
					MSG_DONTWAIT | MSG_NOSIGNAL, &to.any, header.msg_namelen);
	} while (sent < 0 && socket_again(sock, &tries));
	return sent < 0 ? errno : 0;
}

/* The meaning of an errno for a datagram. */
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

/* Each datagram by itself.  One that fails is dropped, the others still go.  The rest that the
 * kernel did not take is kept; it goes before all other datagrams. */
static enum nopal_transmitted socket_send_each(struct live_socket *sock,
					       const struct nopal_train *train,
					       struct socket_each *each)
{
	enum nopal_transmitted last = NOPAL_UNSENT;
	uint32_t at = 0;

	each->to_length = nopal__live_address_to(train->to, sock->family, &each->to);
	memset(&each->control, 0, sizeof(each->control));
	each->control_length = socket_say_source(sock, train->to, &each->control, 0);
	each->sent = 0;
	each->too_big = 0;
	while (at < train->length && last != NOPAL_BUSY) {
		int sent = socket_send_some(sock, each, train, at);

		if (sent > 0) {
			each->sent += (uint32_t)sent;
			at += (uint32_t)sent * train->stride;
			continue;
		}
		last = socket_class(sock, -sent);
		each->too_big += last == NOPAL_TOO_BIG;
		if (last != NOPAL_BUSY)
			at += train->stride;
	}
	if (each->sent == 0)
		return each->too_big > 0 && last != NOPAL_BUSY ? NOPAL_TOO_BIG : last;
	if (last != NOPAL_BUSY)
		return NOPAL_TRANSMITTED;
	if (!sock->rest)
		sock->rest = malloc(LIVE_RECEIVE_BYTES);
	if (!sock->rest || train->length - at > LIVE_RECEIVE_BYTES) {
		sock->soft_errors++;
		return NOPAL_TRANSMITTED;
	}
	memmove(sock->rest, train->bytes + at, train->length - at);
	sock->rest_length = train->length - at;
	sock->rest_stride = train->stride;
	sock->rest_ecn = train->ecn;
	sock->rest_to = *train->to;
	return NOPAL_TRANSMITTED;
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
	/* by the others, kernels and devices refuse UDP_SEGMENT as such */
	if (whole.stride == whole.length || (error != EIO && error != EINVAL && error != EMSGSIZE &&
					     error != ENOPROTOOPT && error != EOPNOTSUPP))
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
	socket_fragment(sock->fd, sock->family, true);
	result = socket_send(sock, train);
	socket_fragment(sock->fd, sock->family, false);
	return result;
}
