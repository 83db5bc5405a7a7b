# wrong_1_cut_for_each_loss -- the window is reduced for each segment that is lost.
s/self->began && segment->packet_number < self->reduced_at/!segment/
