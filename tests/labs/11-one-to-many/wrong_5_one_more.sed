# wrong_5_one_more -- more than P have to have it: > where the rule says >=.
s/arrived >= quorum_needed/arrived > quorum_needed/
