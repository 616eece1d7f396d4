"""Sets of words, written as one string."""


def listed(words: str) -> tuple[str, ...]:
    """Words with spaces between."""
    return tuple(words.split())
