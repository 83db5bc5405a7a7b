/* SPDX-License-Identifier: MIT */
/*
 * paper_packets.h -- packets with the header of the one-to-many protocol between the two ends of a
 * rig, as they were seen on the way; its fields and its sum are read anew here, with nothing of
 * what is tested.
 */
#ifndef NOPAL_TEST_PAPER_PACKETS_H
#define NOPAL_TEST_PAPER_PACKETS_H

#include "support/own_rig.h"

enum { PACKETS = 4096, HEADER = 20 };
enum { START = 0x01, END = 0x02, SYN = 0x04, FIN = 0x08, ACK = 0x10 };

struct packet {
	uint8_t bytes[1500];
	size_t length;
	bool to_acceptor;
};
extern struct packet packet[PACKETS];
extern unsigned packets;

extern struct nopal_address opener, acceptor;

/* Nobody has opened yet. */
void prepare(const char *config, const char *link);
void paper_end(void);
uint32_t word(const uint8_t *at);
void put_word(uint8_t *at, uint32_t value);

/* Word by word, a carry at a time. */
uint32_t complement(const uint8_t *bytes, unsigned words);

#endif
