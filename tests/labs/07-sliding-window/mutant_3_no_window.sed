# mutant_3_no_window -- 64 segments are in flight, whatever `window` says.
s/(uint64_t)set->window;/(uint64_t)(set->window ? SLIDING_WINDOW_PLACES : 0);/
