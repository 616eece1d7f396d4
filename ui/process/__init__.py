"""The process itself: logs, signals, threads, priorities, the terminal."""
