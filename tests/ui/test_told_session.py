"""The scripted answers of the screen's tests, compared with those of a real memory."""

import asyncio

from assistant.paths import Home
from tests.support.desks import Row, ask, at_desk
from tests.support.screens import ANSWERS, ToldSession


def test_scripted_answers_have_the_form_of_a_real_memorys_answers(home: Home) -> None:
    """They have the same events in the same order, and only fields that the real answers have too,
    with the same types."""
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
