"""Forms are filled in by the real model in a whole session, and measured with it."""

import json
import re
from pathlib import Path

import pytest

from scripts.eval_forms import main
from tests.support.command_line import in_this_process
from tests.support.talking import REMEMBERING, Talk

pytestmark = pytest.mark.real

ANSWERS = {
    "Let's fill in the appointment form.": "Whom is it with?",
    "Doctor Smith.": "What is it about?",
    "It's about my tax return.": "On which day?",
    "On Friday.": "At what time?",
    "At half past nine.": "How many minutes will it take?",
    "Thirty minutes.": "Where is it?",
}
"""What is said, and what is asked next."""


def test_plain_answers_fill_in_a_form_and_are_there_afterwards(
    tmp_path: Path, scripted: dict[str, str]
) -> None:
    environment = {**REMEMBERING, **scripted, "ASSISTANT_GENERAL__PROFILE": "tiny"}
    with Talk(tmp_path, "--text", env=environment) as talk:
        talk.wait_for("memories")
        for said, asked in ANSWERS.items():
            talk.say(said)
            talk.wait_for_reply()
            assert talk.rows[-1].get("text", "").endswith(asked), talk.rows[-1]
        talk.end_input()
        assert talk.finish() == 0
    printed = in_this_process("forms", "export", "-", "--markdown", home=tmp_path, **environment)
    assert re.fullmatch(
        r"# Appointment\n\n"
        r"- \*\*with\*\*: Doctor Smith\n"
        r"- \*\*about\*\*: .*my tax return\n"
        r"- \*\*day\*\*: Friday \d+ \w+ \d{4}\n"
        r"- \*\*time\*\*: 09:30\n"
        r"- \*\*length\*\*: 30 minutes\n",
        printed.stdout,
    ), printed


def test_the_filling_of_forms_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--limit", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (found["dialogues"], found["part"]) == (2, "dev")
    assert found["lost"] == found["changed_without_trace"] == 0
    assert found["right"] > 0.3
