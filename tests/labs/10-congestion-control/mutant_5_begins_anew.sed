# mutant_5_begins_anew -- each loss leaves the least window.
s/kept > min ? kept : min/kept < min ? kept : min/
