"""Finds out when each written word of a synthesized clause is heard.

A voice reports the length of every phoneme, in groups that espeak formed from the text. A group is
usually a word, but not always: "of the" becomes one group, and "24" becomes two. So dynamic
programming finds the most plausible assignment of groups to words. The assignment keeps the order
of both, and fits the number of phonemes that each word should have.
"""

import re
from dataclasses import dataclass

from models.interfaces import WordTime


@dataclass(frozen=True, slots=True)
class PhonemeGroup:
    """The phonemes between two spaces.

    Attributes:
        sounds: number of phonemes.
        start_s: start in seconds.
        end_s: end in seconds.
    """

    sounds: int
    start_s: float
    end_s: float


MOST_WORDS = 3
"""Maximum number of words in one group of phonemes."""
MOST_GROUPS = 12
"""Maximum number of groups of phonemes for one word, e.g. for a long number."""
UNEVEN = 0.8
"""Cost of each word after the first, and of each group after the first, in one step of `_path`."""


def estimated_phonemes(word: str) -> float:
    """Estimate the number of phonemes of an English word.

    Each digit counts as a word, and words in capitals count as spelled letters.
    """
    letters = re.sub(r"[^\w]", "", word)
    digits = sum(character.isdigit() for character in letters)
    if digits:
        return 3.5 * digits + 0.8 * (len(letters) - digits)
    if letters.isupper() and len(letters) > 1:
        return 2.2 * len(letters)
    silent = r"(?i)(?<=[^aeiouy\W])e\b|(?<=[aeiou])(?:gh|w)|(.)(?=\1)|(?<=[cstpw])h"
    return max(1.0, float(len(re.sub(silent, "", letters))))


def align_words(text: str, groups: list[PhonemeGroup]) -> list[WordTime]:
    """Return the times of the words of `text`, in order; an empty list if nothing was spoken."""
    words = list(re.finditer(r"\S+", text))
    if not words or not groups:
        return []
    expected = [estimated_phonemes(word[0]) for word in words]
    times: list[WordTime] = []
    for first_word, end_word, first_group, end_group in _path(expected, groups):
        start_s, end_s = groups[first_group].start_s, groups[end_group - 1].end_s
        whole = sum(expected[first_word:end_word])
        at = start_s
        for index in range(first_word, end_word):
            until = at + (end_s - start_s) * expected[index] / whole
            times.append(WordTime(words[index].start(), words[index].end(), at, until))
            at = until
    return times


AlignmentStep = tuple[int, int, int, int]


def _path(expected: list[float], groups: list[PhonemeGroup]) -> list[AlignmentStep]:
    """Return the cheapest series of steps that covers all words and all groups.

    A step is (first word, end word, first group, end group). The ends are exclusive.
    """
    rows, columns = len(expected), len(groups)
    best: dict[tuple[int, int], tuple[float, AlignmentStep | None]] = {(0, 0): (0.0, None)}
    for i in range(rows + 1):
        for j in range(columns + 1):
            if (i, j) not in best:
                continue
            for step in _steps(i, j, rows, columns):
                cost = best[i, j][0] + _cost(step, expected, groups)
                target = (step[1], step[3])
                if target not in best or cost < best[target][0]:
                    best[target] = (cost, step)
    if (rows, columns) not in best:
        return [(0, rows, 0, columns)]
    path: list[AlignmentStep] = []
    last = best[rows, columns][1]
    while last is not None:
        path.append(last)
        last = best[last[0], last[2]][1]
    return path[::-1]


def _steps(i: int, j: int, rows: int, columns: int) -> list[AlignmentStep]:
    """Return the possible steps from word `i` and group `j`.

    A step assigns one or more groups to one word, or one group to several words.
    """
    if i == rows or j == columns:
        return []
    one_word = [(i, i + 1, j, j + n) for n in range(1, MOST_GROUPS + 1) if j + n <= columns]
    one_group = [(i, i + n, j, j + 1) for n in range(2, MOST_WORDS + 1) if i + n <= rows]
    return one_word + one_group


def _cost(step: AlignmentStep, expected: list[float], groups: list[PhonemeGroup]) -> float:
    first_word, end_word, first_group, end_group = step
    wanted = sum(expected[first_word:end_word])
    there = sum(group.sounds for group in groups[first_group:end_group])
    extra = (end_word - first_word - 1) + (end_group - first_group - 1)
    return abs(wanted - there) / (wanted + there + 1) * 4 + UNEVEN * extra
