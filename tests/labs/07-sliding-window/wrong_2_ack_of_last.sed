# wrong_2_ack_of_last -- an ack names the last number that arrived in sequence, and not the next.
s/nopal_write(&writer, self->next, 4)/nopal_write(\&writer, self->next - 1, 4)/
