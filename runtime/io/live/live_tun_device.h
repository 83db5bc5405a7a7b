/* SPDX-License-Identifier: MIT */
/*
 * live_tun_device.h -- one TUN device: what the kernel routes into it is read, what is written
 * comes out of it as if from a wire.
 */
#ifndef NOPAL_LIVE_TUN_DEVICE_H
#define NOPAL_LIVE_TUN_DEVICE_H

#include <net/if.h>

#include <nopal/nopal.h>

struct live_tun_device {
	int fd;		 /* -1: closed; reads and writes do not block */
	int statistics;	 /* the kernel's page of its namespace's devices */
	uint64_t missed; /* its count when the device was made */
	char name[IFNAMSIZ];
};

/* Makes the device in a namespace (NULL: the caller's) and brings it up.  False:
 * a problem was added, and the device is closed. */
bool nopal__live_tun_device_open(struct live_tun_device *device, const struct nopal_tun_side *side,
				 uint32_t mtu, struct nopal_problems *problems);
void nopal__live_tun_device_close(struct live_tun_device *device);
/* Packets that the kernel dropped because nobody read them in time. */
uint64_t nopal__live_tun_device_missed(const struct live_tun_device *device);

#endif
