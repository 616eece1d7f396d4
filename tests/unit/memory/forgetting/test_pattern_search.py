"""The search for forgotten texts and vectors, and the forms in which they are found."""

import json

import numpy as np
import pytest

from assistant.memory.forgetting.pattern_search import ANCHOR, SearchPatterns

SECRET = (
    'My sister Ada said "Zürich" is where she hid the silver parrot; nobody but me knows it yet.'
)


@pytest.mark.parametrize("code", ["utf-8", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("at", range(ANCHOR + 1))
def test_a_text_is_found_at_any_offset(code: str, at: int) -> None:
    needles = SearchPatterns.of([SECRET])
    around = bytes(range(256)) * 3
    assert needles.found_in(around[:at] + SECRET.encode(code) + around) == {0}
    assert needles.found_in(around) == set()


def test_a_text_is_found_as_json_and_in_pieces() -> None:
    needles = SearchPatterns.of(["something else altogether", SECRET])
    for line in (json.dumps({"text": SECRET}), json.dumps([SECRET], ensure_ascii=False)):
        assert needles.found_in(line.encode()) == {1}
    assert needles.found_in(b"he told: nobody but me knows it yet") == {1}
    assert needles.found_in(b"\0is where she hid the silver parrot\0") == {1}
    assert needles.found_in(b"nobody knows") == set()


def test_case_is_ignored_only_on_request() -> None:
    assert SearchPatterns.of(["the silver parrot"]).found_in(b"THE SILVER PARROT") == set()
    needles = SearchPatterns.of(["The silver parrot"], any_case=True)
    assert needles.found_in(b"..THE SILVER PARROT..") == {0}
    assert needles.found_in_text(["of tHe sIlver paRRot"]) == {0}


def test_texts_that_are_kept_are_not_traces() -> None:
    texts = ["Yes, of course.", SECRET, "no"]
    kept = ["Yes, of course.", "She said: nobody but me knows it yet and so on", "oh no"]
    needles = SearchPatterns.of(texts, kept=kept)
    assert needles.common == 2
    assert needles.found_in("\n".join(kept).encode()) == set()
    assert needles.found_in(SECRET.encode()) == {1}


def test_short_texts_are_found_only_within_text() -> None:
    needles = SearchPatterns.of(["Max"])
    assert needles.found_in(b"a line about Max") == {0}
    assert needles.found_in_text(["my dog Max"]) == {0}
    assert needles.found_in("Max".encode("utf-16-le") + b"\0") == {0}
    assert needles.found_in(b"\0\1\2Max") == set()
    assert SearchPatterns.of([f"x{number}" for number in range(200)]).short > 0


def test_vectors_are_found_whole_and_in_fragments() -> None:
    vectors = np.random.default_rng(2).standard_normal((3, 384), dtype=np.float32)
    needles = SearchPatterns.of(["some words to find"], [vector.tobytes() for vector in vectors])
    content = vectors[1].tobytes()
    for part in (content, content[:100], content[700:900], content[-70:]):
        assert needles.found_in(b"\1\2\3" + part + b"\4") == {2}
    assert needles.found_in(np.random.default_rng(3).bytes(100_000)) == set()


def test_a_search_without_patterns_finds_nothing() -> None:
    empty = SearchPatterns.of(["", "  "], [bytes(1536)])
    assert not empty
    assert empty.found_in(bytes(10_000)) == set()
    assert empty.overlap == 0


def test_the_repr_of_the_patterns_does_not_show_the_words() -> None:
    assert "parrot" not in repr(SearchPatterns.of([SECRET]))
