# wrong_2_half_is_kept -- a loss leaves half of the window, as Reno's; the lab's rule is two thirds.
s|WINDOW_POLICY_WINDOW) \* 2 / 3|WINDOW_POLICY_WINDOW) / 2|
