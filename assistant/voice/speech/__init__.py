"""Hearing and speaking: from sound to words (`hearing`, which also limits an utterance's
length) and back (`speaking`, clause by clause)."""
