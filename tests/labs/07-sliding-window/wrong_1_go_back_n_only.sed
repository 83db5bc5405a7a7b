# wrong_1_go_back_n_only -- it stops after part 1: `selective` changes nothing.
s/(expired && !set->selective)/expired/
s/set->selective ? (uint64_t)set->window : 1/set->window ? 1 : 0/
