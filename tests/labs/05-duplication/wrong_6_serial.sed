# wrong_6_serial -- the runtime is not told which numbers were seen, and completes bytes to low ones.
/nopal_serial_seen/d
