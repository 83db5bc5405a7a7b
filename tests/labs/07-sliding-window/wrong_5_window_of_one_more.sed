# wrong_5_window_of_one_more -- the window has a place too many: <= where the rule says <.
s/ < self->base + (uint64_t)set->window/ <= self->base + (uint64_t)set->window/
