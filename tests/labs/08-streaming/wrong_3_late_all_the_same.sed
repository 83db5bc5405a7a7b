# wrong_3_late_all_the_same -- a message that comes after its time is delivered at once.
s/ || lag_ns > set->delay_ns ||/ ||/
