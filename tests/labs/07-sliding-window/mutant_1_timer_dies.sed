# mutant_1_timer_dies -- what was sent again is never timed: it may get lost once, and not twice.
s/	if (!nopal_timer_running/	if (segment->transmissions == 1 \&\& !nopal_timer_running/
s/else if (next_ns != NOPAL_NEVER)/else if (!expired \&\& next_ns != NOPAL_NEVER)/
