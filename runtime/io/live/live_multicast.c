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

/* The interface that has an address of ours; 0: none. */
static unsigned interface_of(const struct in6_addr *address)
{
	struct sockaddr_in6 name;
	struct ifaddrs *all;
	unsigned index = 0;

	if (getifaddrs(&all))
		return 0;
	for (const struct ifaddrs *one = all; one && !index; one = one->ifa_next) {
		if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET6)
			continue;
		memcpy(&name, one->ifa_addr, sizeof(name));
		if (IN6_ARE_ADDR_EQUAL(&name.sin6_addr, address))
			index = if_nametoindex(one->ifa_name);
	}
	freeifaddrs(all);
	return index;
}

/* The interface, and the source address: `ours` is the address that our socket is bound to, if
 * any. */
static int source6(const struct nopal_address *group, const struct nopal_address *peer,
		   union live_sockaddr *ours, struct in6_pktinfo *ret_way)
{
	unsigned index = group->interface;
	int error;

	ours->v6.sin6_port = 0;
	error = source(peer, ours);
	if (error)
		return error;
	if (!index)
		index = ours->v6.sin6_scope_id;
	if (!index)
		index = interface_of(&ours->v6.sin6_addr);
	*ret_way = (struct in6_pktinfo){ .ipi6_addr = ours->v6.sin6_addr, .ipi6_ifindex = index };
	return index ? 0 : -ENODEV;
}

/* ----------------------------------------------------------------- receivers */

/* Other sockets on this host may join, too. */
static int bind_shared(int fd, const union live_sockaddr *name, socklen_t length)
{
	int on = 1, error = set(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));

	return error ? error : bind(fd, &name->any, length) ? -errno : 0;
}

static int join4(int fd, const struct nopal_address *group, const struct nopal_address *from)
{
	union live_sockaddr name;
	socklen_t length = nopal__live_address_to(group, AF_INET, &name);
	struct ip_mreq request = { .imr_multiaddr = name.v4.sin_addr };
	int error = source4(from, &request.imr_interface);

	if (!error)
		error = bind_shared(fd, &name, length);
	if (!error)
		error = set(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof(request));
	return error;
}

static int join6(int fd, const struct nopal_address *group, const struct nopal_address *from)
{
	union live_sockaddr name, ours = { .v6.sin6_family = AF_INET6 };
	socklen_t length = nopal__live_address_to(group, AF_INET6, &name);
	struct ipv6_mreq request = { .ipv6mr_multiaddr = name.v6.sin6_addr };
	struct in6_pktinfo way;
	int error = source6(group, from, &ours, &way);

	if (error)
		return error;
	name.v6.sin6_scope_id = way.ipi6_ifindex;
	request.ipv6mr_interface = way.ipi6_ifindex;
	error = bind_shared(fd, &name, length);
	if (!error)
		error = set(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &request, sizeof(request));
	return error;
}

int nopal__live_socket_hear(struct live_socket *sock, const struct nopal_address *group,
			    const struct nopal_address *from)
{
	bool is_v4 = nopal_address_is_v4(group);
	int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return -errno;
	error = (is_v4 ? join4 : join6)(fd, group, from);
	if (!error)
		return nopal__live_socket_take(sock, fd, group);
	close(fd);
	return error;
}

/* ------------------------------------------------------------------- senders */

static int send4(struct live_socket *sock, const struct nopal_casting *casting)
{
	struct in_addr ours;
	int max = (int)casting->hops, error = source4(casting->toward, &ours);

	if (!error)
		error = set(sock->fd, IPPROTO_IP, IP_MULTICAST_IF, &ours, sizeof(ours));
	if (!error)
		error = set(sock->fd, IPPROTO_IP, IP_MULTICAST_TTL, &max, sizeof(max));
	return error;
}

static int send6(struct live_socket *sock, const struct nopal_casting *casting)
{
	union live_sockaddr ours;
	socklen_t length = sizeof(ours);
	int max = (int)casting->hops, error;

	memset(&ours, 0, sizeof(ours));
	if (getsockname(sock->fd, &ours.any, &length))
		return -errno;
	if (ours.any.sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	error = source6(casting->group, casting->toward, &ours, &sock->multicast_from);
	if (!error)
		error = set(sock->fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &max, sizeof(max));
	return error;
}

int nopal__live_socket_multicast(struct live_socket *sock, const struct nopal_casting *casting)
{
	return (nopal_address_is_v4(casting->group) ? send4 : send6)(sock, casting);
}
