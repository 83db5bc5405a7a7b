/* SPDX-License-Identifier: MIT */
/*
 * peer_enet -- ENet: reliable packets on one channel, 1400 bytes each, sent from where they lie.
 *
 * ENet queues whatever it is given, so that the sender counts what it has not got back yet.  Its
 * window is 64 KiB by its protocol.
 */
#include <enet/enet.h>
#include <stdio.h>
#include <stdlib.h>

#include "flood.h"

enum {
	QUEUED = 256,  /* packets given and not got back: above its window */
	OVERHEAD = 32, /* of its headers, at most */
	PATIENCE_MS = 3000,
	REFUSED = 3,
};

static int enet_queued;

static void enet_when_free(ENetPacket *packet)
{
	(void)packet;
	enet_queued--;
}

static ENetHost *enet_open(struct flood *flood, const ENetAddress *local)
{
	ENetHost *host;

	if (enet_initialize() != 0)
		flood_fail("enet_initialize");
	host = enet_host_create(local, 1, 1, 0, 0);
	if (!host)
		flood_fail("enet_host_create");
	host->mtu = FLOOD_PAYLOAD + OVERHEAD;
	flood_buffers(flood, host->socket);
	snprintf(flood->version, sizeof(flood->version), "ENet %d.%d.%d", ENET_VERSION_MAJOR,
		 ENET_VERSION_MINOR, ENET_VERSION_PATCH);
	return host;
}

static ENetAddress enet_address(const struct flood *flood)
{
	return (ENetAddress){ .host = flood->address.sin_addr.s_addr,
			      .port = ntohs(flood->address.sin_port) };
}

static void enet_recv(struct flood *flood)
{
	ENetAddress local = enet_address(flood);
	ENetHost *host = enet_open(flood, &local);
	ENetEvent event = { 0 };

	flood_ready(flood);
	while (enet_host_service(host, &event, PATIENCE_MS) > 0 &&
	       event.type != ENET_EVENT_TYPE_DISCONNECT) {
		if (event.type != ENET_EVENT_TYPE_RECEIVE)
			continue;
		flood_arrived(flood);
		flood_stream(flood, event.packet->data, event.packet->dataLength);
		enet_packet_destroy(event.packet);
	}
	enet_host_destroy(host);
}

static void enet_fill(struct flood *flood, const uint8_t *walk, ENetPeer *peer)
{
	while (enet_queued < QUEUED) {
		size_t length;
		const uint8_t *next = flood_next(flood, walk, FLOOD_PAYLOAD, &length);
		ENetPacket *packet = enet_packet_create(
			next, length, ENET_PACKET_FLAG_RELIABLE | ENET_PACKET_FLAG_NO_ALLOCATE);

		if (!packet || enet_peer_send(peer, 0, packet) < 0)
			exit(REFUSED);
		packet->freeCallback = enet_when_free;
		enet_queued++;
	}
}

static void enet_send(struct flood *flood)
{
	uint8_t *walk = flood_walk();
	ENetHost *host = enet_open(flood, NULL);
	ENetAddress address = enet_address(flood);
	ENetPeer *peer = enet_host_connect(host, &address, 1, 0);
	ENetEvent event = { 0 };

	if (enet_host_service(host, &event, PATIENCE_MS) <= 0 ||
	    event.type != ENET_EVENT_TYPE_CONNECT)
		exit(REFUSED);
	while (!flood_over(flood)) {
		enet_fill(flood, walk, peer);
		enet_host_service(host, &event, 1);
	}
	enet_peer_disconnect_later(peer, 0);
	while (enet_host_service(host, &event, PATIENCE_MS) > 0 &&
	       event.type != ENET_EVENT_TYPE_DISCONNECT)
		;
	enet_host_destroy(host);
	free(walk);
}

int main(int argc, char **argv)
{
	struct flood flood;

	flood_begin(&flood, argc, argv);
	if (flood.sends)
		enet_send(&flood);
	else
		enet_recv(&flood);
	flood_report(&flood);
	return 0;
}
