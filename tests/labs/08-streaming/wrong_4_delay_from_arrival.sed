# wrong_4_delay_from_arrival -- each message waits `delay` from its own arrival: it stays as uneven as
# the network made it.
s/set->delay_ns - lag_ns;/set->delay_ns;/
