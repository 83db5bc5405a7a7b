/* SPDX-License-Identifier: MIT */
/*
 * live_hints.c -- what the network says of datagrams that left a socket (ICMP).
 *
 * The kernel keeps it in the socket's error queue: the errno value, to whom the datagram was sent,
 * and how it began.  Besides, the next call of the socket fails with that value, whomever it is
 * for: so the queue is read when a call has failed, and the call is made again.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <linux/errqueue.h>

#include "io/live/live.h"

enum {
	HINTS_IN_A_ROW = 64, /* read at a time, however many there are */
	HINTS_UDP_BYTES = 8,
	HINTS_IPV4_BYTES = 20,
	HINTS_IPV6_BYTES = 40,
};

/* A failure leaves us without hints, and with all else. */
void nopal__live_hints_hear(int fd, int family)
{
	const int on = 1;

	(void)setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on));
	if (family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof(on));
}

/* What the kernel says of the error; NULL: nothing. */
static const struct sock_extended_err *hints_error(struct msghdr *header)
{
	for (struct cmsghdr *at = CMSG_FIRSTHDR(header); at; at = CMSG_NXTHDR(header, at))
		if ((at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_RECVERR) ||
		    (at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_RECVERR))
			return (void *)CMSG_DATA(at);
	return NULL;
}

static uint32_t hints_room(const struct sock_extended_err *error, const struct nopal_address *to)
{
	uint32_t headers =
		HINTS_UDP_BYTES + (nopal_address_is_v4(to) ? HINTS_IPV4_BYTES : HINTS_IPV6_BYTES);

	return error->ee_info > headers ? error->ee_info - headers : 0;
}

static void hints_note(struct live_socket *sock, const struct sock_extended_err *error,
		       const struct nopal_hint *hint)
{
	struct nopal_hint *noted = &sock->hints[sock->hint_count];

	if (sock->hint_count == LIVE_HINTS ||
	    (error->ee_errno != ECONNREFUSED && error->ee_errno != EMSGSIZE))
		return;
	*noted = *hint;
	noted->what = NOPAL_HINT_REFUSED;
	if (error->ee_errno == EMSGSIZE) {
		noted->what = NOPAL_HINT_TOO_LONG;
		noted->datagram_bytes = hints_room(error, &hint->to);
	}
	sock->hint_count++;
}

/* One of the queue; false: it is empty.  `*ret_network`: it came from outside. */
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
	const struct sock_extended_err *error;

	if (length < 0)
		return false;
	error = hints_error(&header);
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
