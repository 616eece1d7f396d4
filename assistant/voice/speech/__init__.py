"""Hearing and speaking: from sound to words (`hearing`, which also limits an utterance) and back
(`speaking`, clause by clause)."""
