"""From a catalogue entry to verified files on this machine."""
