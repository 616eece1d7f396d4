"""Memories, conversations and receipts as text, for the command line and the screen."""
