# wrong_5_stop -- the timer is not stopped by the ack: it doubles the timeout of the next segment.
/nopal_timer_stop/d
/if (!segment)/,+1d
s/^\tnopal_segment_settle/\tif (segment)\n\t&/
s/^\tnopal_raise_SEGMENT_TIMEOUT/\tif (segment)\n\t&/
