# wrong_2_waits_for_all -- a message is done when nothing of it is open, however many have it.
s/(enough || !segment->copies)/!segment->copies/
