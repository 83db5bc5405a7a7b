# mutant_4_never_fast -- a hole is not sent again before the timer fires.
s/SLIDING_WINDOW_FAST = 2/SLIDING_WINDOW_FAST = 64/
