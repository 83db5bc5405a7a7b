# wrong_4_again -- after a gap the next number is one up, and not one past what arrived: the same gap
# is told with every message from then on.
s/self->expected = vanilla_after(number)/self->expected = vanilla_after(self->expected)/
