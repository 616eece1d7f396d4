"""`assistant doctor` with a real sound server and real models."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assistant.paths import models_cache
from tests.support.pulse import PulseServer
from ui.commands.doctor import BY_WORD

pytestmark = [pytest.mark.real, pytest.mark.sound]

ROOT = Path(__file__).resolve().parents[2]
SOUND = ("sound-devices", "microphone", "echo")


def examine(
    variables: dict[str, str], home: Path, *flags: str
) -> tuple[int, dict[str, dict[str, Any]]]:
    """Run `assistant doctor` with the tiny models; returns its exit code and its findings by
    name."""
    done = subprocess.run(
        [sys.executable, "-m", "ui.commands.main", "doctor", "--json", "--profile", "tiny", *flags],
        cwd=ROOT,
        env={
            **variables,
            "ASSISTANT_HOME": str(home),
            "ASSISTANT_MODELS_CACHE": str(models_cache()),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, {row["name"]: row for row in rows if row["event"] == "check"}


def texts(found: dict[str, dict[str, Any]], verdict: str) -> dict[str, str]:
    """What was found by the checks with this verdict, by their names."""
    return {name: row["text"] for name, row in found.items() if row["verdict"] == verdict}


@pytest.mark.alone
def test_the_doctor_finds_no_problem_with_devices_that_work(tmp_path: Path) -> None:
    noise = (np.random.default_rng(0).standard_normal(16_000 * 120) * 30).astype(np.int16)
    with PulseServer() as pulse:
        pulse.echo(True)
        room = pulse.start_speaking(noise)
        try:
            code, found = examine(pulse.env, tmp_path, *SOUND)
        finally:
            room.kill()
            room.communicate()

    assert code == 0
    assert texts(found, "bad") == texts(found, "untried") == {}
    assert found["Microphone"]["figures"]["dbfs"] > -75
    echo = found["Echo"]["figures"]
    assert echo["echo_dbfs"] > echo["room_dbfs"] + 20
    assert echo["left_dbfs"] < echo["echo_dbfs"] - 15


def test_everything_else_is_examined_if_the_microphone_is_missing(tmp_path: Path) -> None:
    with PulseServer() as pulse:
        code, found = examine(pulse.env, tmp_path, "--set", "audio.input_device=nowhere")

    assert code == 1
    assert found.keys() == set(BY_WORD.values())
    assert texts(found, "bad").keys() == {BY_WORD[word] for word in SOUND}
    assert texts(found, "untried").keys() == {"Tools"}, "there is no tool server"
    assert {found[BY_WORD[word]]["mend"] for word in SOUND} == {"assistant devices"}
    assert found["Hearing"]["figures"]["seconds"] > 0
    assert found["Thinking"]["figures"]["tokens_per_s"] > 0
    assert found["Network"]["verdict"] == "good"
    assert "nothing tried to connect" in found["Network"]["text"]
    assert found["Network"]["figures"]["seconds"] > 25
