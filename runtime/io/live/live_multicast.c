/* SPDX-License-Identifier: MIT */
/*
 * live_multicast.c -- multicast on real sockets: who speaks, and who hears.
 *
 * A host has several interfaces, and a multicast address says nothing of which is meant, unless one
 * is named with it.  It is the one that leads to the peer: the kernel is asked, by connecting a
 * socket that never sends, which address of ours it would speak to the peer from, and the interface
 * is the one that has this address.
 *
 * Who hears knows who speaks by the address of their session, so what is multicast must leave from
 * that.  With IPv4 it follows from the interface.  With IPv6 it would not: the kernel takes one of
 * the multicast address's own scope, for ff02:: a link-local one; so each transmission says from
 * where it leaves (RFC 3542, section 6).
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

/* From which address a socket speaks to a peer: where it is bound to one, from that. */
static int way_to(const struct nopal_address *peer, union live_sockaddr *ours)
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

static int way_to4(const struct nopal_address *peer, struct in_addr *ret_ours)
{
	union live_sockaddr ours = { .v4.sin_family = AF_INET };
	int error = way_to(peer, &ours);

	*ret_ours = ours.v4.sin_addr;
	return error;
}

static bool is_of(const struct sockaddr *has, const struct in6_addr *address)
{
	struct sockaddr_in6 name;

	if (!has || has->sa_family != AF_INET6)
		return false;
	memcpy(&name, has, sizeof(name));
	return IN6_ARE_ADDR_EQUAL(&name.sin6_addr, address);
}

/* The interface that has an address of ours; 0: none. */
static unsigned interface_of(const struct in6_addr *address)
{
	struct ifaddrs *all;
	unsigned index = 0;

	if (getifaddrs(&all))
		return 0;
	for (const struct ifaddrs *one = all; one && !index; one = one->ifa_next)
		if (is_of(one->ifa_addr, address))
			index = if_nametoindex(one->ifa_name);
	freeifaddrs(all);
	return index;
}

/* By which interface, and from which address of ours: `ours` is where our socket is bound, if
 * anywhere. */
static int way_to6(const struct nopal_address *group, const struct nopal_address *peer,
		   union live_sockaddr *ours, struct in6_pktinfo *ret_way)
{
	unsigned index = group->interface;
	int error;

	ours->v6.sin6_port = 0;
	error = way_to(peer, ours);
	if (error)
		return error;
	if (!index)
		index = ours->v6.sin6_scope_id;
	if (!index)
		index = interface_of(&ours->v6.sin6_addr);
	*ret_way = (struct in6_pktinfo){ .ipi6_addr = ours->v6.sin6_addr, .ipi6_ifindex = index };
	return index ? 0 : -ENODEV;
}

/* ------------------------------------------------------------------- hearing */

/* Others on this host may hear it, too. */
static int bind_shared(int fd, const union live_sockaddr *name, socklen_t length)
{
	int on = 1, error = set(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));

	return error ? error : bind(fd, &name->any, length) ? -errno : 0;
}

static int hear4(int fd, const struct nopal_address *group, const struct nopal_address *from)
{
	union live_sockaddr name;
	socklen_t length = nopal__live_address_to(group, AF_INET, &name);
	struct ip_mreq join = { .imr_multiaddr = name.v4.sin_addr };
	int error = way_to4(from, &join.imr_interface);

	if (!error)
		error = bind_shared(fd, &name, length);
	if (!error)
		error = set(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &join, sizeof(join));
	return error;
}

static int hear6(int fd, const struct nopal_address *group, const struct nopal_address *from)
{
	union live_sockaddr name, ours = { .v6.sin6_family = AF_INET6 };
	socklen_t length = nopal__live_address_to(group, AF_INET6, &name);
	struct ipv6_mreq join = { .ipv6mr_multiaddr = name.v6.sin6_addr };
	struct in6_pktinfo way;
	int error = way_to6(group, from, &ours, &way);

	if (error)
		return error;
	name.v6.sin6_scope_id = way.ipi6_ifindex;
	join.ipv6mr_interface = way.ipi6_ifindex;
	error = bind_shared(fd, &name, length);
	if (!error)
		error = set(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &join, sizeof(join));
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
	error = (is_v4 ? hear4 : hear6)(fd, group, from);
	if (!error)
		return nopal__live_socket_take(sock, fd, group);
	close(fd);
	return error;
}

/* ------------------------------------------------------------------ speaking */

static int cast4(struct live_socket *sock, const struct nopal_casting *casting)
{
	struct in_addr ours;
	int max = (int)casting->hops, error = way_to4(casting->toward, &ours);

	if (!error)
		error = set(sock->fd, IPPROTO_IP, IP_MULTICAST_IF, &ours, sizeof(ours));
	if (!error)
		error = set(sock->fd, IPPROTO_IP, IP_MULTICAST_TTL, &max, sizeof(max));
	return error;
}

static int cast6(struct live_socket *sock, const struct nopal_casting *casting)
{
	union live_sockaddr ours;
	socklen_t length = sizeof(ours);
	int max = (int)casting->hops, error;

	memset(&ours, 0, sizeof(ours));
	if (getsockname(sock->fd, &ours.any, &length))
		return -errno;
	if (ours.any.sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	error = way_to6(casting->group, casting->toward, &ours, &sock->multicast_from);
	if (!error)
		error = set(sock->fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &max, sizeof(max));
	return error;
}

int nopal__live_socket_multicast(struct live_socket *sock, const struct nopal_casting *casting)
{
	return (nopal_address_is_v4(casting->group) ? cast4 : cast6)(sock, casting);
}
