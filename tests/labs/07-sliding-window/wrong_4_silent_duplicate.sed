# wrong_4_silent_duplicate -- the receiver does not answer a segment that it has: where an ack is
# lost, the sender asks in vain.
s/self->owed = true;/self->owed |= number >= self->next;/
