"""What the tests of the screen are answered, held against a real memory."""

import asyncio

from assistant.paths import Home
from tests.support.desks import Row, ask, at_desk
from tests.support.screens import ANSWERS, ToldSession


def test_a_real_memory_answers_alike(home: Home) -> None:
    """The same events in the same order, and no field that it hasn't, or of another type."""
    told = ToldSession()
    with at_desk(home) as desk:
        key = ask(desk, "add", text="A dog.")[0]["id"]
        requests: dict[str, Row] = {
            "list": {"light": True, "kind": "profile"},
            "search": {"text": "of nothing", "light": True, "kind": "profile"},
            "version": {},
            "show": {"id": key},
            "mark": {"id": key, "never_recall": False},
            "edit": {"id": key, "text": "A dog."},
            "forget": {"ids": [key], "with_sources": False},
            "undo": {},
        }
        assert requests.keys() == ANSWERS.keys()
        for act, more in requests.items():
            real = ask(desk, act, **more)
            answered = asyncio.run(told.ask({"act": act, **more}))
            assert [row["event"] for row in answered] == [row["event"] for row in real]
            for row, like in zip(answered, real, strict=True):
                kinds = {name: type(like[name]) for name in row}
                assert kinds == {name: type(value) for name, value in row.items()}, act
