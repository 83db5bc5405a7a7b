/* SPDX-License-Identifier: MIT */
/*
 * live_multicast.c -- multicast on real sockets: receivers that join, and senders.
 *
 * A host has several interfaces, and a multicast address does not say which is meant, unless one is
 * named with it.  It is the interface that leads to the peer: the kernel is asked, by connecting a
 * socket that never sends, for the source address of datagrams to the peer, and the interface is
 * the one that has this address.
 *
 * A receiver knows the sender by the address of their session, so multicast must leave from that.
 * With IPv4 the source follows from the interface.  With IPv6 it does not: the kernel takes one of
 * the multicast address's own scope, for ff02:: a link-local one; so each transmission names its
 * source (RFC 3542, section 6).
 */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>

#include "io/live/live.h"

static int set(int fd, int level, int option, const void *value, socklen_t length)
{
	return setsockopt(fd, level, option, value, length) ? -errno : 0;
}

/* The source address of datagrams to a peer: where the socket is bound to one, that. */
static int source(const struct nopal_address *peer, union live_sockaddr *ours)
{
	union live_sockaddr name;
	socklen_t length = nopal__live_address_to(peer, ours->any.sa_family, &name);
	int fd = socket(ours->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int error = 0;

	if (fd < 0)
		return -errno;
	if (bind(fd, &ours->any, length) || connect(fd, &name.any, length) ||
	    getsockname(fd, &ours->any, &length))
		error = -errno;
	close(fd);
	return error;
}

static int source4(const struct nopal_address *peer, struct in_addr *ret_ours)
{
	union live_sockaddr ours = { .v4.sin_family = AF_INET };
	int error = source(peer, &ours);

	*ret_ours = ours.v4.sin_addr;
	return error;
}

/* The interface, and the source address: `ours` is the address that our socket is bound to, if any.
 * Where neither address names the interface it is the one that has our address. */
static int source6(const struct nopal_address *group, const struct nopal_address *peer,
		   union live_sockaddr *ours, struct in6_pktinfo *ret_way)
{
	unsigned index = group->interface;
	struct ifaddrs *all = NULL;
	struct sockaddr_in6 name;
	int error;

	ours->v6.sin6_port = 0;
	error = source(peer, ours);
	if (error)
		return error;
	if (!index)
		index = ours->v6.sin6_scope_id;
	if (!index)
		getifaddrs(&all);
	for (const struct ifaddrs *one = all; one && !index; one = one->ifa_next) {
		if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET6)
			continue;
		memcpy(&name, one->ifa_addr, sizeof(name));
		if (IN6_ARE_ADDR_EQUAL(&name.sin6_addr, &ours->v6.sin6_addr))
			index = if_nametoindex(one->ifa_name);
	}
	if (all)
		freeifaddrs(all);
	*ret_way = (struct in6_pktinfo){ .ipi6_addr = ours->v6.sin6_addr, .ipi6_ifindex = index };
	return index ? 0 : -ENODEV;
}

/* ----------------------------------------------------------------- receivers */

/* Other sockets on this host may join, too. */
int nopal__live_socket_hear(struct live_socket *sock, const struct nopal_address *group,
			    const struct nopal_address *from)
{
	int family = nopal_address_is_v4(group) ? AF_INET : AF_INET6;
	int fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1, error;
	union live_sockaddr name, ours = { .v6.sin6_family = AF_INET6 };
	socklen_t length = nopal__live_address_to(group, family, &name);
	struct in6_pktinfo way = { .ipi6_ifindex = 0 };
	struct ip_mreq request = { .imr_multiaddr = name.v4.sin_addr };
	struct ipv6_mreq request6 = { .ipv6mr_multiaddr = name.v6.sin6_addr };

	if (fd < 0)
		return -errno;
	if (family == AF_INET) {
		error = source4(from, &request.imr_interface);
	} else {
		error = source6(group, from, &ours, &way);
		name.v6.sin6_scope_id = request6.ipv6mr_interface = way.ipi6_ifindex;
	}
	if (!error)
		error = set(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!error && bind(fd, &name.any, length))
		error = -errno;
	if (!error && family == AF_INET)
		error = set(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof(request));
	else if (!error)
		error = set(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &request6, sizeof(request6));
	if (!error)
		return nopal__live_socket_take(sock, fd, group);
	close(fd);
	return error;
}

/* ------------------------------------------------------------------- senders */

int nopal__live_socket_multicast(struct live_socket *sock, const struct nopal_casting *casting)
{
	bool is_v4 = nopal_address_is_v4(casting->group);
	int max = (int)casting->hops, error;
	union live_sockaddr name = { .any.sa_family = AF_UNSPEC };
	socklen_t length = sizeof(name);
	struct in_addr ours;

	if (is_v4) {
		error = source4(casting->toward, &ours);
		if (!error)
			error = set(sock->fd, IPPROTO_IP, IP_MULTICAST_IF, &ours, sizeof(ours));
	} else if (getsockname(sock->fd, &name.any, &length)) {
		error = -errno;
	} else if (name.any.sa_family != AF_INET6) {
		error = -EAFNOSUPPORT;
	} else {
		error = source6(casting->group, casting->toward, &name, &sock->multicast_from);
	}
	if (error)
		return error;
	return is_v4 ? set(sock->fd, IPPROTO_IP, IP_MULTICAST_TTL, &max, sizeof(max))
		     : set(sock->fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &max, sizeof(max));
}
