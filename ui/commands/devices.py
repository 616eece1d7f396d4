"""`assistant devices`: lists the microphones and loudspeakers to choose from."""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from assistant.voice.audio import Device, list_devices

NOTHING = "There is no microphone and no loudspeaker; type instead: assistant talk --text"


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command's parser."""
    subparsers.add_parser(
        "devices",
        help="show microphones and loudspeakers",
        description="List microphones and loudspeakers. Choose one by its number or a part of its "
        "name: assistant talk --microphone NAME --loudspeaker NAME, or in section [audio] of "
        "settings.toml.",
    )


def run(args: argparse.Namespace, devices: Callable[[], Sequence[Device]] = list_devices) -> int:
    """Print the devices; returns the process's exit code.

    Raises:
        AudioError: PortAudio is missing or fails.
    """
    found = devices()
    if args.json:
        for device in found:
            print(json.dumps(asdict(device), ensure_ascii=False))
    elif not found:
        print(NOTHING)
    else:
        Console().print(_table(found))
        missing = [
            sentence
            for sentence, channels in (
                ("There is no microphone.", sum(device.inputs for device in found)),
                ("There is no loudspeaker.", sum(device.outputs for device in found)),
            )
            if not channels
        ]
        for sentence in missing:
            print(sentence)
    return 0


def _table(devices: Sequence[Device]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("#", "name", "microphone", "loudspeaker", "Hz", "system"):
        table.add_column(heading, justify="right" if heading in ("#", "Hz") else "left")
    for device in devices:
        table.add_row(
            str(device.index),
            device.name,
            _role(device.inputs, device.default_input),
            _role(device.outputs, device.default_output),
            str(device.rate),
            device.host_api,
        )
    return table


def _role(channels: int, default: bool) -> str:
    if not channels:
        return ""
    return "default" if default else "yes"
