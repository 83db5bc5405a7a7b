# wrong_2_skips_those_below -- of the messages that wait, the one that is due goes, and those with
# lower numbers are dropped.
s/		if (message)$/		if (message \&\& self->next < number)\n			nopal_message_discard(at.session, message);\n		else if (message)/
