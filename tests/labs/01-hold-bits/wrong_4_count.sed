# wrong_4_count -- the transmissions are counted where a segment wants to leave, once a segment.
s/NOPAL_ON(SEND_SEGMENT, tap_on_send)/NOPAL_ON(SEGMENT_TO_NET, tap_on_send)/
