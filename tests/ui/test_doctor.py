"""The doctor: it goes on whatever a check does, says what mends, and judges levels and sockets."""

import io
import json
import socket

import pytest

from assistant.errors import DeviceMissing
from assistant.paths import Home
from assistant.settings import Memory, Settings
from ui.commands.doctor.checks import (
    CheckContext,
    CheckStatus,
    Finding,
    NotTried,
    check_disk,
    check_memory,
    check_python,
    check_store,
    good,
)
from ui.commands.doctor.command import CHECKS, Check, run_checks
from ui.commands.doctor.network_checks import check_network, connections_outside, is_loopback, judge
from ui.commands.doctor.sound_checks import judge_echo, rustle
from ui.network_audit.audit import Attempt
from ui.network_audit.conversation import Watched

BAD = Finding(CheckStatus.BAD, "It is broken.", "Mend it.", {"depth": 2.0})


@pytest.fixture
def patient(home: Home) -> CheckContext:
    return CheckContext(home, Settings())


def giving(finding: Finding) -> Check:
    async def check(_: CheckContext) -> Finding:
        return finding

    return check


def raising(error: Exception) -> Check:
    async def check(_: CheckContext) -> Finding:
        raise error

    return check


async def test_all_well_is_exit_code_0(patient: CheckContext) -> None:
    out = io.StringIO()
    checks = [("One", giving(good("Fine."))), ("Two", giving(Finding(CheckStatus.WARNING, "Hm.")))]

    assert await run_checks(patient, checks, out, as_json=False) == 0
    assert out.getvalue() == "✓ One: Fine.\n! Two: Hm.\n\nAll is well.\n"


async def test_a_failing_check_stops_no_other(patient: CheckContext) -> None:
    out = io.StringIO()
    checks = [
        ("A", giving(BAD)),
        ("B", raising(DeviceMissing("No microphone was found.", mend="Connect one."))),
        ("C", raising(ZeroDivisionError())),
        ("D", raising(NotTried("Not measured."))),
        ("E", giving(good("Fine."))),
    ]

    assert await run_checks(patient, checks, out, as_json=False) == 1
    assert out.getvalue().splitlines() == [
        "✗ A: It is broken.",
        "    → Mend it.",
        "✗ B: No microphone was found.",
        "    → Connect one.",
        "✗ C: The check itself failed (ZeroDivisionError).",
        f"    → The details are in {patient.home.log}.",
        "· D: Not measured.",
        "✓ E: Fine.",
        "",
        "3 things need fixing.",
    ]


async def test_with_json_each_finding_is_an_object(patient: CheckContext) -> None:
    out = io.StringIO()

    code = await run_checks(patient, [("A", giving(BAD))], out, as_json=True)

    finding, whole = (json.loads(line) for line in out.getvalue().splitlines())
    assert code == 1
    assert finding == {
        "event": "check",
        "name": "A",
        "verdict": "bad",
        "text": "It is broken.",
        "mend": "Mend it.",
        "figures": {"depth": 2.0},
    }
    assert whole == {"event": "doctor", "ok": False, "bad": 1}


def test_every_check_has_a_name_of_its_own() -> None:
    assert len({name for name, _ in CHECKS}) == len(CHECKS) >= 12


async def test_this_machine_passes_what_needs_no_models(patient: CheckContext) -> None:
    for check in (check_python, check_memory, check_disk):
        finding = await check(patient)
        assert finding.verdict in (CheckStatus.GOOD, CheckStatus.WARNING), finding
        assert finding.text.endswith(".")


async def test_memory_that_does_not_suffice_is_told(
    patient: CheckContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.commands.doctor.checks.SPARE_RAM_MB", 10_000_000)

    finding = await check_memory(patient)

    assert finding.verdict is CheckStatus.BAD
    assert finding.mend == "assistant --profile small"


async def test_a_disk_that_is_too_full_is_told(
    patient: CheckContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.commands.doctor.checks.SPARE_DISK", 10**18)

    assert (await check_disk(patient)).verdict is CheckStatus.BAD


@pytest.mark.parametrize(
    ("room", "back", "left", "verdict", "said"),
    [
        (-60.0, -58.0, -60.0, CheckStatus.GOOD, "does not hear"),
        (-60.0, -24.0, -58.0, CheckStatus.GOOD, "-58 after echo cancellation"),
        (-60.0, -24.0, -30.0, CheckStatus.BAD, "-30 after echo cancellation"),
        (-90.0, -20.0, -70.0, CheckStatus.GOOD, "-70 after echo cancellation"),
    ],
)
def test_echo_is_judged_by_what_is_left(
    room: float, back: float, left: float, verdict: CheckStatus, said: str
) -> None:
    finding = judge_echo(room, back, left)

    assert finding.verdict is verdict
    assert said in finding.text
    assert ("half-duplex" in (finding.mend or "")) == (verdict is CheckStatus.BAD)


def test_the_sound_it_plays_is_soft_and_whole() -> None:
    sound = rustle()

    assert abs(int(sound.min())) < 32767
    assert int(sound.max()) < 32767
    assert sound.std() > 500


def test_connections_within_the_machine_are_no_matter() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        ports = {server.getsockname()[1], client.getsockname()[1]}
        found = connections_outside()

    assert not [text for text in found if int(text.rpartition(":")[2]) in ports]


def test_a_port_that_is_open_to_others_is_found() -> None:
    with socket.create_server(("0.0.0.0", 0)) as server:
        port = server.getsockname()[1]
        assert [text for text in connections_outside() if text.endswith(f"0.0.0.0:{port}")]


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
def test_only_loopback_is_within_the_machine(address: str, within: bool) -> None:
    assert is_loopback(address) is within


async def test_the_network_is_judged_only_when_models_load(patient: CheckContext) -> None:
    patient._failure = DeviceMissing("x")

    with pytest.raises(NotTried):
        await check_network(patient)


def test_whoever_tried_to_leave_is_named() -> None:
    tried = [Attempt("planted", "example.invalid", 3), Attempt("other", "192.0.2.1:443")]

    finding = judge(Watched(tried, None, 31.2))

    assert finding.verdict is CheckStatus.BAD
    assert finding.text == (
        "Refused 4 attempts to leave this machine: planted tried to reach example.invalid "
        "(3 times); other tried to reach 192.0.2.1:443."
    )


def test_what_was_not_seen_is_not_called_clean() -> None:
    assert judge(Watched([], None, 31.2)).verdict is CheckStatus.GOOD
    unseen = judge(Watched([], "This Linux is too old.", 31.2))
    assert unseen.verdict is CheckStatus.UNTRIED
    assert unseen.text.startswith("This Linux is too old.")


async def test_the_store_of_memories_is_named_and_opened(home: Home) -> None:
    finding = await check_store(CheckContext(home, Settings()))
    assert (finding.verdict, finding.text) == (CheckStatus.GOOD, f"0 memories in {home.memories}.")
    off = Settings(memory=Memory(enabled=False))
    assert (await check_store(CheckContext(home, off))).verdict is CheckStatus.GOOD


async def test_a_store_that_cannot_be_had_is_bad(home: Home) -> None:
    out = io.StringIO()
    (home.root / "file").write_text("no folder")
    nowhere = Settings(memory=Memory(store="file"))
    checks = [("Memories", check_store)]

    assert await run_checks(CheckContext(home, nowhere), checks, out, as_json=False) == 1
    assert out.getvalue().startswith(f"✗ Memories: The memory store {home.root / 'file'} failed: ")
