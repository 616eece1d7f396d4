"""`assistant devices`: lists the microphones and loudspeakers to choose from."""

import argparse
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from assistant.paths import Home
from assistant.voice.audio import list_devices
from ui.commands import ReadSettings
from ui.process.console import print_json

NOTHING = "There is no microphone and no loudspeaker; type instead: assistant talk --text"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "List microphones and loudspeakers. Choose one by its number or a part of its "
        "name: assistant talk --microphone NAME --loudspeaker NAME, or in section [audio] of "
        "settings.toml."
    )


def run(args: argparse.Namespace, _home: Home, _settings: ReadSettings) -> int:
    devices = list_devices()
    if args.json:
        for device in devices:
            print_json(asdict(device))
        return 0
    if not devices:
        print(NOTHING)
        return 0
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
    Console().print(table)
    if not any(device.inputs for device in devices):
        print("There is no microphone.")
    if not any(device.outputs for device in devices):
        print("There is no loudspeaker.")
    return 0


def _role(channels: int, default: bool) -> str:
    if not channels:
        return ""
    return "default" if default else "yes"
