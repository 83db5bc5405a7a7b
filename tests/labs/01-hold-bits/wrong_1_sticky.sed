# wrong_1_sticky -- the hold is not sticky: a resend waits for a release that never comes.
s/, \.sticky = true//
