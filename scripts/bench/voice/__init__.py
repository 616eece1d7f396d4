"""From the end of speech to the first sound: two systems, the same recordings, in turns."""
