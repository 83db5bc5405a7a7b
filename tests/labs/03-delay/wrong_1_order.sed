# wrong_1_order -- the deviation is taken from the old estimate, as in RFC 6298.
s/self->estimate_ns += (sample_ns - self->estimate_ns) .*/error_ns = sample_ns - self->estimate_ns;/
t
/^\t\terror_ns = sample_ns - self->estimate_ns;$/d
s/^\(\t*\)self->deviation_ns += .*/&\
\1self->estimate_ns += (sample_ns - self->estimate_ns) \/ ESTIMATOR_ALPHA;/
