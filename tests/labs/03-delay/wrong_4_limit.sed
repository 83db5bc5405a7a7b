# wrong_4_limit -- the timeout has no limit.
s/timeout_ns < ESTIMATOR_LIMIT_NS ? timeout_ns : ESTIMATOR_LIMIT_NS/timeout_ns/
