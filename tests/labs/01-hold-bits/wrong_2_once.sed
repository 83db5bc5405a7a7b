# wrong_2_once -- the timer is not started again for those that wait behind the first.
/^static void tap_when_due/,/^}/s/^\t\t\tnopal_timer_start.*//
