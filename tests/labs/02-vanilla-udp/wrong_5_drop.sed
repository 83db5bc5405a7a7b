# wrong_5_drop -- a message that was overtaken is dropped.
/if (ahead >= VANILLA_AHEAD)/,+1s/NOPAL_CONTINUE/NOPAL_STOP/
