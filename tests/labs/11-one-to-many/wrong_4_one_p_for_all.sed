# wrong_4_one_p_for_all -- the property `required` is not looked at.
s/return required ? required : (uint64_t)set->acks;/return required ? (uint64_t)set->acks : required;/
