"""`assistant doctor`: checks this machine one thing after the other, and says what mends it."""

import argparse
import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from typing import Any, TextIO

from assistant.errors import AssistantError
from assistant.paths import Home
from assistant.settings import Settings
from ui import doctor_checks, doctor_network, doctor_sound
from ui.console import as_typed, print_json
from ui.doctor_checks import Finding, NotTried, Patient, Verdict
from ui.quiet import quiet

logger = logging.getLogger(__name__)

Check = Callable[[Patient], Awaitable[Finding]]

CHECKS: tuple[tuple[str, Check], ...] = (
    ("Python", doctor_checks.check_python),
    ("Memory", doctor_checks.check_memory),
    ("Disk", doctor_checks.check_disk),
    ("Encryption", doctor_checks.check_encryption),
    ("Models", doctor_checks.check_models),
    ("Memories", doctor_checks.check_store),
    ("Sound devices", doctor_sound.check_devices),
    ("Microphone", doctor_sound.check_microphone),
    ("Echo", doctor_sound.check_echo),
    ("Loading", doctor_checks.check_loading),
    ("Speaking", doctor_checks.check_voice),
    ("Hearing", doctor_checks.check_hearing),
    ("Thinking", doctor_checks.check_thinking),
    ("Network", doctor_network.check_network),
)
"""In this order: `Hearing` transcribes what `Speaking` said, and `Network` takes the longest."""

SIGNS = {Verdict.GOOD: "✓", Verdict.WARNING: "!", Verdict.BAD: "✗", Verdict.UNTRIED: "·"}


def add_parser(commands: "argparse._SubParsersAction[Any]") -> None:
    summary = "check this machine, and say what to mend"
    commands.add_parser(
        "doctor",
        help=summary,
        description="Check Python, memory, disk, models, sound and their speed; it records a "
        "second of the room, and plays a short sound. Exits with 1 when something needs mending.",
    )


def run(args: argparse.Namespace, home: Home, settings: Settings) -> int:
    """Check everything; returns 0 when nothing is bad."""
    with quiet(home) as streams:
        patient = Patient(home, settings)
        return asyncio.run(examine(patient, CHECKS, streams.out, as_json=args.json))


async def examine(
    patient: Patient, checks: Sequence[tuple[str, Check]], out: TextIO, *, as_json: bool
) -> int:
    """Run all checks, whatever becomes of each, and show what they find as it comes."""
    bad = 0
    try:
        for name, check in checks:
            finding = await _finding(name, check, patient)
            bad += finding.verdict is Verdict.BAD
            _show(name, finding, out, as_json=as_json)
    finally:
        await patient.close()
    if as_json:
        print_json({"event": "doctor", "ok": not bad, "bad": bad}, out)
    else:
        what = "1 thing needs" if bad == 1 else f"{bad} things need"
        print(f"\n{what} mending." if bad else "\nAll is well.", file=out, flush=True)
    return 1 if bad else 0


async def _finding(name: str, check: Check, patient: Patient) -> Finding:
    try:
        return await check(patient)
    except NotTried as error:
        return Finding(Verdict.UNTRIED, str(error))
    except AssistantError as error:
        return Finding(Verdict.BAD, str(error), error.mend)
    except Exception as error:
        logger.exception("The check %s failed", name)
        return Finding(
            Verdict.BAD,
            f"The check itself failed ({type(error).__name__}).",
            f"The details are in {patient.home.log}.",
        )


def _show(name: str, finding: Finding, out: TextIO, *, as_json: bool) -> None:
    if as_json:
        print_json({"event": "check", "name": name, **asdict(finding)}, out)
        return
    print(f"{SIGNS[finding.verdict]} {name}: {finding.text}", file=out, flush=True)
    if finding.mend:
        print(f"    → {as_typed(finding.mend)}", file=out, flush=True)
