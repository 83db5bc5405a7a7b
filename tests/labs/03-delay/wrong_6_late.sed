# wrong_6_late -- the timeout doubles behind the resend, whose timer is started with the old one.
/2 \* nopal_shared_get/d
s/^\tnopal_raise_SEGMENT_TIMEOUT.*/&\
\testimator_set_timeout(at, 2 * nopal_shared_get(at, ESTIMATOR_TIMEOUT));/
