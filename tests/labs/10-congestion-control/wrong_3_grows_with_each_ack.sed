# wrong_3_grows_with_each_ack -- two segments more for each ack, where the rule is for each round trip.
s/\*window += .*step.*/*window += (int64_t)step;/
