# wrong_5_all -- when the first may leave, all leave.
s/if (due_ns > at.session->now_ns) {/if (due_ns < 0) {/
