# wrong_2_late -- a message that was overtaken counts as a gap of nearly all numbers.
/if (ahead >= VANILLA_AHEAD)/,+1d
/VANILLA_AHEAD = /d
