/* SPDX-License-Identifier: MIT */
/*
 * four_tuple -- tell sessions apart by addresses and ports alone.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, sections II.C and II.E: CTP's own way,
 *            and VII, where other ways are wished for.
 * Differs:   the runtime looks up the sender's address, the local one being the
 *            endpoint's; ids remain in what opens a session, so that two in a
 *            row from one address are not taken for one.
 * Wire:      4 bytes less in every datagram: no session id.
 */
#include <nopal/microprotocol.h>

const struct nopal_microprotocol nopal_four_tuple = {
	NOPAL_DESCRIBE(four_tuple, base, "tell sessions apart by addresses and ports alone"),
	.provides = NOPAL_ROLES({ "address_demux", true }),
	.needs = NOPAL_RELATIONS({ "network", "addresses are those of datagrams" }),
};
