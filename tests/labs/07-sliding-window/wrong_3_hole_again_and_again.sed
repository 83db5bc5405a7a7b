# wrong_3_hole_again_and_again -- a hole is sent again for every ack that shows it.
s/segment->transmissions == 1 \&\&$/segment->transmissions \&\&/
