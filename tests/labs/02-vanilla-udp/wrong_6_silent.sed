# wrong_6_silent -- a gap of one message is not told.
s/if (ahead > 0)/if (ahead > 1)/
