"""This process: logs, signals, threads, priorities, the terminal."""
