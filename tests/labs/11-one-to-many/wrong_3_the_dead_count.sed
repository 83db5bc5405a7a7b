# wrong_3_the_dead_count -- a destination that ended counts as one that has the message.
s/copy->outcome == NOPAL_OUTCOME_DELIVERED/copy->outcome != NOPAL_OUTCOME_EXPIRED/
