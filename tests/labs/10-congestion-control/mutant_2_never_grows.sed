# mutant_2_never_grows -- acks change nothing.
s/|| !ack->newly_acked_bytes/|| *window/
