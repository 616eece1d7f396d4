"""Times two systems alternately on the same recordings, from end of speech to first sound."""
