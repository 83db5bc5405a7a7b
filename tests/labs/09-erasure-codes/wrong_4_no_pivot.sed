# wrong_4_no_pivot -- no row is looked for where the pivot is zero.
s/for (uint32_t row = pivot; !matrix\[pivot\]\[pivot\] && row < k; row++)/for (uint32_t row = k; row < k; row++)/
