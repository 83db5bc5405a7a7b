# wrong_1_lost_without_p -- a message that P cannot have any more is lost, as the library's fan_out says.
s/segment->outcome = arrived ?/segment->outcome = enough ?/
