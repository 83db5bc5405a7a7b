# wrong_3_news -- a duplicate is not acknowledged, though it comes because an ack was lost.
/arq_on_from_net(struct nopal_at at/,/^}/s/self->owed = true;/(void)self;/
/arq_on_verified(struct nopal_at at/,/^}/s/^\tuint64_t number/\tself->owed = true;\n&/
