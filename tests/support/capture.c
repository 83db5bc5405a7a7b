/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "support/capture.h"

void capture_note(void *user, int64_t now_ns, const struct nopal_address *from,
		  const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	struct capture *capture = user;
	struct captured *datagram;

	(void)from;
	if (!nopal_address_equal(to, &capture->acceptor) || capture->count == CAPTURE_DATAGRAMS)
		return;
	datagram = &capture->datagram[capture->count++];
	memcpy(datagram->bytes, bytes, length);
	datagram->length = length;
	datagram->time_ns = now_ns;
}

void capture_open(struct capture *capture, const char *config)
{
	capture->count = 0;
	rig_begin(&capture->rig, config);
	nopal_endpoint_local(capture->rig.opener.endpoint, &capture->opener);
	nopal_endpoint_local(capture->rig.acceptor.endpoint, &capture->acceptor);
	rig_change(&capture->rig, "delay 1ms loss 100%");
	nopal_sim_tap(capture->rig.world, capture_note, capture);
	capture->rig.acceptor.delivered = 0;
}

void capture_close(struct capture *capture)
{
	nopal_sim_tap(capture->rig.world, NULL, NULL);
	rig_close(&capture->rig);
}

void capture_give(struct capture *capture, const uint8_t *bytes, size_t length)
{
	nopal_sim_inject(capture->rig.world, capture->rig.acceptor.endpoint, &capture->opener,
			 bytes, length);
	rig_run(&capture->rig, NOPAL_MICROSECOND);
}

void capture_pass(struct capture *capture, uint32_t place)
{
	capture_give(capture, capture->datagram[place].bytes, capture->datagram[place].length);
}
