"""Where a turn of the user begins and ends, and what interrupts an answer."""
