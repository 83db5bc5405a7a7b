/* SPDX-License-Identifier: MIT */
/*
 * live_multicast.c -- multicast of IPv4 on real sockets: who speaks, and who hears.
 *
 * A host has several interfaces, and a multicast address says nothing of which is
 * meant.  It is the one that leads to the peer: the kernel is asked, by connecting a
 * socket that never sends, which address of ours it would speak to the peer from.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "live.h"

/* Our address on the way to a peer of IPv4. */
static int way_to(const struct nopal_address *peer, struct in_addr *ret_ours)
{
	union live_sockaddr name;
	socklen_t length = nopal__live_address_to(peer, AF_INET, &name);
	int fd, error = 0;

	if (!nopal__live_address_is_v4(peer))
		return -EAFNOSUPPORT;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, &name.any, length) ||
	    getsockname(fd, &name.any, &length))
		error = -errno;
	close(fd);
	*ret_ours = name.v4.sin_addr;
	return error;
}

static int set(int fd, int option, const void *value, socklen_t length)
{
	return setsockopt(fd, IPPROTO_IP, option, value, length) ? -errno : 0;
}

static int hear(int fd, const union live_sockaddr *group,
		const struct nopal_address *from)
{
	struct ip_mreq join = { .imr_multiaddr = group->v4.sin_addr };
	int on = 1, error = way_to(from, &join.imr_interface);

	/* Others on this host may hear it, too. */
	if (!error && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)))
		error = -errno;
	if (!error && bind(fd, &group->any, sizeof(group->v4)))
		error = -errno;
	if (!error)
		error = set(fd, IP_ADD_MEMBERSHIP, &join, sizeof(join));
	return error;
}

int nopal__live_socket_hear(struct live_socket *sock,
			    const struct nopal_address *group,
			    const struct nopal_address *from)
{
	union live_sockaddr name;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return -errno;
	nopal__live_address_to(group, AF_INET, &name);
	error = hear(fd, &name, from);
	if (!error)
		return nopal__live_socket_take(sock, fd, group);
	close(fd);
	return error;
}

int nopal__live_socket_cast(struct live_socket *sock,
			    const struct nopal_address *toward, unsigned hops)
{
	struct in_addr ours;
	int most = (int)hops, error = way_to(toward, &ours);

	if (!error)
		error = set(sock->fd, IP_MULTICAST_IF, &ours, sizeof(ours));
	if (!error)
		error = set(sock->fd, IP_MULTICAST_TTL, &most, sizeof(most));
	return error;
}
