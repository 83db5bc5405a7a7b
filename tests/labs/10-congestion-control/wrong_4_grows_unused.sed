# wrong_4_grows_unused -- the window grows while the application does not use it.
s/nopal_shared_get(at, WINDOW_POLICY_APP_LIMITED) || !ack/!ack/
