# wrong_5_no_rule_of_its_own -- without part 2: `own` is the rule of part 1.
s/return set->rule == WINDOW_POLICY_OWN/return !set->initial/
