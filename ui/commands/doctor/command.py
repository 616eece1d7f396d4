"""`assistant doctor`: runs all checks of this machine in turn, and says how to fix problems."""

import argparse
import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from typing import Any, TextIO

from assistant.errors import AssistantError
from assistant.paths import Home
from assistant.settings import Settings
from ui.commands.doctor import checks as doctor_checks
from ui.commands.doctor import network_checks, sound_checks
from ui.commands.doctor.checks import CheckContext, CheckStatus, Finding, NotTried
from ui.process.console import print_json, runnable_hint
from ui.process.logs import redirected_output

logger = logging.getLogger(__name__)

Check = Callable[[CheckContext], Awaitable[Finding]]

CHECKS: tuple[tuple[str, Check], ...] = (
    ("Python", doctor_checks.check_python),
    ("Memory", doctor_checks.check_memory),
    ("Disk", doctor_checks.check_disk),
    ("Encryption", doctor_checks.check_encryption),
    ("Models", doctor_checks.check_models),
    ("Memories", doctor_checks.check_store),
    ("Sound devices", sound_checks.check_devices),
    ("Microphone", sound_checks.check_microphone),
    ("Echo", sound_checks.check_echo),
    ("Loading", doctor_checks.check_loading),
    ("Speaking", doctor_checks.check_voice),
    ("Hearing", doctor_checks.check_hearing),
    ("Thinking", doctor_checks.check_thinking),
    ("Network", network_checks.check_network),
)
"""In this order: `Hearing` transcribes what `Speaking` said, and `Network` takes longest."""

SIGNS = {
    CheckStatus.GOOD: "✓",
    CheckStatus.WARNING: "!",
    CheckStatus.BAD: "✗",
    CheckStatus.UNTRIED: "·",
}


def add_parser(commands: "argparse._SubParsersAction[Any]") -> None:
    summary = "check this machine, and say how to fix problems"
    commands.add_parser(
        "doctor",
        help=summary,
        description="Check Python, memory, disk, models, sound and their speed; it records a "
        "second of the room, and plays a short sound. Exits with 1 if something needs fixing.",
    )


def run(args: argparse.Namespace, home: Home, settings: Settings) -> int:
    """Run all checks; returns 0 if nothing is bad."""
    with redirected_output(home) as streams:
        patient = CheckContext(home, settings)
        return asyncio.run(run_checks(patient, CHECKS, streams.out, as_json=args.json))


async def run_checks(
    patient: CheckContext, checks: Sequence[tuple[str, Check]], out: TextIO, *, as_json: bool
) -> int:
    """Run all checks, even after failures, and print each finding as it comes."""
    bad = 0
    try:
        for name, check in checks:
            finding = await _finding(name, check, patient)
            bad += finding.verdict is CheckStatus.BAD
            _show(name, finding, out, as_json=as_json)
    finally:
        await patient.close()
    if as_json:
        print_json({"event": "doctor", "ok": not bad, "bad": bad}, out)
    else:
        what = "1 thing needs" if bad == 1 else f"{bad} things need"
        print(f"\n{what} fixing." if bad else "\nAll is well.", file=out, flush=True)
    return 1 if bad else 0


async def _finding(name: str, check: Check, patient: CheckContext) -> Finding:
    try:
        return await check(patient)
    except NotTried as error:
        return Finding(CheckStatus.UNTRIED, str(error))
    except AssistantError as error:
        return Finding(CheckStatus.BAD, str(error), error.mend)
    except Exception as error:
        logger.exception("The check %s failed", name)
        return Finding(
            CheckStatus.BAD,
            f"The check itself failed ({type(error).__name__}).",
            f"The details are in {patient.home.log}.",
        )


def _show(name: str, finding: Finding, out: TextIO, *, as_json: bool) -> None:
    if as_json:
        print_json({"event": "check", "name": name, **asdict(finding)}, out)
        return
    print(f"{SIGNS[finding.verdict]} {name}: {finding.text}", file=out, flush=True)
    if finding.mend:
        print(f"    → {runnable_hint(finding.mend)}", file=out, flush=True)
