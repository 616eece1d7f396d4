"""Sentences of a text."""

import re

WORD = re.compile(r"[^\W\d_][\w-]*")


SENTENCE = re.compile(r"[^.!?]+[.!?]*")
"""With the marks that end it. Linear: a text may be a megabyte without any."""


def stated(text: str) -> int:
    """How many words of a turn are not part of a question.

    >>> stated("I got a dog. Do you have any pets?")
    4
    """
    sentences = SENTENCE.findall(text)
    return sum(len(WORD.findall(each)) for each in sentences if "?" not in each)
