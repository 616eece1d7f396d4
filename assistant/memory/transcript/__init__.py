"""What was said, in SQLite: conversations, what was derived of them, recordings, jobs."""
