"""The doctor: it continues after failed checks, gives advice, and judges levels and sockets."""

import io
import json
import socket
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from assistant.encryption.vault import open_vault
from assistant.errors import DeviceMissing, SettingsError
from assistant.paths import Home
from assistant.settings import Memory, Settings
from tests.support.command_line import Run, objects
from ui.commands.doctor import CHECKS, Check, run_checks
from ui.commands.doctor.checks import (
    CheckContext,
    CheckStatus,
    Finding,
    NotTried,
    check_disk,
    check_encryption,
    check_memory,
    check_python,
    check_store,
    good,
)
from ui.commands.doctor.network_checks import check_network, connections_outside, is_loopback, judge
from ui.commands.doctor.sound_checks import judge_echo, rustle
from ui.network_audit.audit import Attempt
from ui.network_audit.conversation import Watched


@pytest.fixture
def context(home: Home) -> CheckContext:
    return CheckContext(home, Settings())


async def diagnosis(
    context: CheckContext, *results: Finding | Exception, as_json: bool = False
) -> tuple[int, list[str]]:
    """Exit code and output of checks, named A, B, …, with these results."""

    def checked(result: Finding | Exception) -> Check:
        async def check(_: CheckContext) -> Finding:
            if isinstance(result, Exception):
                raise result
            return result

        return check

    out = io.StringIO()
    checks = [(chr(ord("A") + n), checked(result)) for n, result in enumerate(results)]
    code = await run_checks(context, checks, out, as_json=as_json)
    return code, out.getvalue().splitlines()


BAD = Finding(CheckStatus.BAD, "It is broken.", "Repair it.", {"depth": 2.0})


async def test_every_finding_is_shown_even_after_a_failing_check(
    context: CheckContext,
) -> None:
    fine = (good("Fine."), Finding(CheckStatus.WARNING, "Hm."))
    assert await diagnosis(context, *fine) == (0, ["✓ A: Fine.", "! B: Hm.", "", "All is well."])
    results = (
        BAD,
        DeviceMissing("No microphone was found.", mend="Connect one."),
        ZeroDivisionError(),
        NotTried("Not measured."),
        good("Fine."),
    )
    assert await diagnosis(context, *results) == (
        1,
        [
            "✗ A: It is broken.",
            "    → Repair it.",
            "✗ B: No microphone was found.",
            "    → Connect one.",
            "✗ C: The check itself failed (ZeroDivisionError).",
            f"    → The details are in {context.home.log}.",
            "· D: Not measured.",
            "✓ E: Fine.",
            "",
            "3 things need fixing.",
        ],
    )


async def test_with_json_each_finding_is_an_object(context: CheckContext) -> None:
    code, lines = await diagnosis(context, BAD, as_json=True)
    finding = {"verdict": "bad", "text": "It is broken.", "mend": "Repair it."}
    assert code == 1
    assert [json.loads(line) for line in lines] == [
        {"event": "check", "name": "A", **finding, "figures": {"depth": 2.0}},
        {"event": "doctor", "ok": False, "bad": 1},
    ]


def test_only_the_chosen_checks_run(run: Run) -> None:
    _, lines, _ = run("doctor", "disk", "python", "--json")
    names = [row["name"] for row in objects(lines) if row["event"] == "check"]
    assert names == ["Python", "Disk"]


def test_an_unknown_check_is_refused_and_the_known_ones_are_named(run: Run) -> None:
    code, _, errors = run("doctor", "ears")
    assert code == SettingsError.exit_code
    assert "ears" in errors[0]
    assert "sound-devices" in errors[0]


def test_every_check_has_a_unique_name() -> None:
    assert len({name for name, _ in CHECKS}) == len(CHECKS) >= 12


async def test_this_machine_passes_the_checks_that_need_no_models(context: CheckContext) -> None:
    for check in (check_python, check_memory, check_disk):
        finding = await check(context)
        assert finding.verdict in (CheckStatus.GOOD, CheckStatus.WARNING), finding
        assert finding.text.endswith(".")


@pytest.mark.parametrize(
    ("check", "limit", "much", "mend"),
    [
        (check_memory, "SPARE_RAM_MB", 10_000_000, "assistant --profile small"),
        (check_disk, "SPARE_DISK", 10**18, "Free some disk space."),
    ],
)
async def test_too_little_memory_or_disk_space_is_reported(
    context: CheckContext,
    monkeypatch: pytest.MonkeyPatch,
    check: Any,
    limit: str,
    much: int,
    mend: str,
) -> None:
    monkeypatch.setattr(f"ui.commands.doctor.checks.{limit}", much)
    finding = await check(context)
    assert (finding.verdict, finding.mend) == (CheckStatus.BAD, mend)


@pytest.mark.parametrize(
    ("room", "back", "left", "verdict", "said"),
    [
        (-60.0, -58.0, -60.0, CheckStatus.GOOD, "does not hear"),
        (-60.0, -24.0, -58.0, CheckStatus.GOOD, "-58 after echo cancellation"),
        (-60.0, -24.0, -30.0, CheckStatus.BAD, "-30 after echo cancellation"),
        (-90.0, -20.0, -70.0, CheckStatus.GOOD, "-70 after echo cancellation"),
    ],
)
def test_echo_is_judged_by_its_level_after_cancellation(
    room: float, back: float, left: float, verdict: CheckStatus, said: str
) -> None:
    finding = judge_echo(room, back, left)
    assert finding.verdict is verdict
    assert said in finding.text
    assert ("half-duplex" in (finding.mend or "")) == (verdict is CheckStatus.BAD)


def test_the_test_sound_is_audible_and_does_not_clip() -> None:
    sound = rustle()
    assert abs(int(sound.min())) < 32767
    assert int(sound.max()) < 32767
    assert sound.std() > 500


def test_only_sockets_that_reach_beyond_the_machine_are_found() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
        socket.create_server(("0.0.0.0", 0)) as opened,
    ):
        inside = {each.getsockname()[1] for each in (server, client)}
        port = opened.getsockname()[1]
        found = connections_outside()
    assert not [text for text in found if int(text.rpartition(":")[2]) in inside]
    assert [text for text in found if text.endswith(f"0.0.0.0:{port}")]


@pytest.mark.parametrize(
    ("address", "within"),
    [
        ("127.0.0.1", True),
        ("127.3.2.1", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.2", False),
        ("::ffff:192.168.1.2", False),
        ("fe80::1%eth0", False),
    ],
)
def test_only_loopback_addresses_are_within_the_machine(address: str, within: bool) -> None:
    assert is_loopback(address) is within


async def test_the_network_is_judged_only_when_models_load(context: CheckContext) -> None:
    context._failure = DeviceMissing("x")
    with pytest.raises(NotTried):
        await check_network(context)


def test_attempts_are_listed_and_an_unwatched_session_is_not_called_clean() -> None:
    tried = [Attempt("planted", "example.invalid", 3), Attempt("other", "192.0.2.1:443")]
    finding = judge(Watched(tried, None, 31.2))
    assert finding.verdict is CheckStatus.BAD
    assert finding.text == (
        "Refused 4 attempts to leave this machine: planted tried to reach example.invalid "
        "(3 times); other tried to reach 192.0.2.1:443."
    )
    assert judge(Watched([], None, 31.2)).verdict is CheckStatus.GOOD
    unseen = judge(Watched([], "This Linux is too old.", 31.2))
    assert unseen.verdict is CheckStatus.UNTRIED
    assert unseen.text.startswith("This Linux is too old.")


async def test_the_memory_store_is_opened_and_named(home: Home) -> None:
    finding = await check_store(CheckContext(home, Settings()))
    assert (finding.verdict, finding.text) == (CheckStatus.GOOD, f"0 memories in {home.memories}.")
    off = Settings(memory=Memory(enabled=False))
    assert (await check_store(CheckContext(home, off))).verdict is CheckStatus.GOOD
    (home.root / "file").write_text("no folder")
    out, nowhere = io.StringIO(), CheckContext(home, Settings(memory=Memory(store="file")))
    assert await run_checks(nowhere, [("Memories", check_store)], out, as_json=False) == 1
    assert out.getvalue().startswith(f"✗ Memories: The memory store {home.root / 'file'} failed: ")


async def test_the_doctor_says_whether_the_data_is_encrypted(
    home: Home, keyring: Path, context: CheckContext
) -> None:
    new = await check_encryption(context)
    assert (new.verdict, new.mend) == (CheckStatus.GOOD, None)
    open_vault(home, Settings(), create=True).close()
    locked = await check_encryption(context)
    assert locked.text == "Your data is encrypted; the system's keyring unlocks it."
    home.key_file.write_text("{")
    damaged = await check_encryption(context)
    assert (damaged.verdict, damaged.mend) == (CheckStatus.BAD, "assistant encryption recover")
    home.key_file.unlink()
    with closing(open_vault(home, Settings())):
        home.transcript.write_bytes(b"SQLite format 3\0")
    plain = await check_encryption(context)
    assert (plain.verdict, plain.mend) == (CheckStatus.WARNING, "assistant encryption enable")
    off = Settings.model_validate({"encryption": {"mode": "off"}})
    assert (await check_encryption(CheckContext(home, off))).verdict is CheckStatus.GOOD
