"""Quality: how often what is heard, recalled, extracted or answered is right."""
