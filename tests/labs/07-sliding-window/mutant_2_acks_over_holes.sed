# mutant_2_acks_over_holes -- an ack says that all below the highest arrival is there.
s/nopal_write(&writer, self->next, 4)/nopal_write(\&writer, self->end, 4)/
s/nopal_write(&writer, holes, 4)/nopal_write(\&writer, holes \& 0, 4)/
