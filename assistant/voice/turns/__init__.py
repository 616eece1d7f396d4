"""Where the user's turns begin and end, and what interrupts an answer."""
