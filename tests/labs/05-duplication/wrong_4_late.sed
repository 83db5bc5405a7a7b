# wrong_4_late -- a number below the highest is let in and not remembered.
s/^\tself->seen |= .*/\tif (number == self->highest)\n\t\tself->seen |= 1;/
