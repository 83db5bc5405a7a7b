# wrong_1_cumulative -- an ack names the highest number and no hole: it acknowledges what never came.
s/nopal_write(&writer, self->holes, 4)/nopal_write(\&writer, 0, 4)/
