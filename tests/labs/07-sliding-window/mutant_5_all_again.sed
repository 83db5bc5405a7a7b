# mutant_5_all_again -- a timeout sends all again that is in flight, though the peer has most of it.
s/(expired && !set->selective)/expired/
s/if (!(holes >> (number - next) & 1))$/if (number < next)/
s/else if (segment && set->selective/else if (holes >> (number - next) \& 1 \&\& segment \&\& set->selective/
