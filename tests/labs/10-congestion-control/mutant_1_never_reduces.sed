# mutant_1_never_reduces -- a loss leaves the window as it is.
s|WINDOW_POLICY_WINDOW) \* 2 / 3|WINDOW_POLICY_WINDOW)|
