# wrong_1_zero -- numbers go to 0 behind 255, as any byte does.
s/number % VANILLA_NUMBERS + 1/(number + 1) % 256/
s/if (number == 0)/if (number > VANILLA_NUMBERS)/
