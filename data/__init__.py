"""What the project ships: prompts, demo recordings, evaluation sets. Never the user's data."""
