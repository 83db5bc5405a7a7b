# wrong_3_count -- the message that arrived is counted among those that are missing.
s/vanilla_tell(at, self->expected, ahead)/vanilla_tell(at, self->expected, ahead + 1)/
