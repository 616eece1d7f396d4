"""The transcript in SQLite: conversations, outputs derived from them, recordings, and jobs."""
