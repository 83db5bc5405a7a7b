# wrong_3_again -- each segment starts the timer anew, so that those before it wait longer.
s/else if (!nopal_timer_running(at, TAP_DUE))/else/
