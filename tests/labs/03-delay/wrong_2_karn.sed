# wrong_2_karn -- a segment that left twice gives a sample as well.
/if (segment->transmissions == 1)/d
