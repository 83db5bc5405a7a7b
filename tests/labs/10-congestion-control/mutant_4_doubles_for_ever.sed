# mutant_4_doubles_for_ever -- the window doubles in each round trip, also after a loss.
s/else if (self->began)/else if (self->began \&\& !step)/
