# mutant_3_begins_too_large -- the first window is four times what `initial` says.
s/WINDOW_POLICY_WINDOW, set->initial/WINDOW_POLICY_WINDOW, 4 * set->initial/
