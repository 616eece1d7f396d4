"""A private PulseAudio daemon with a virtual microphone and a virtual loudspeaker.

The assistant's microphone hears all sound that is played into the null sink `mic`. The assistant
plays into the null sink `speaker`, where its sound can be recorded. The daemon has its own
folder, socket and configuration, so that it neither finds nor disturbs the user's own, and
PortAudio reaches it through an ALSA configuration of its own.
"""

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np

from models.interfaces import Samples

STARTUP_S = 15.0
ALSA_CONFIGURATION = """\
pcm.!default { type pulse hint { show on description "Default" } }
ctl.!default { type pulse }
pcm.pulse { type pulse hint { show on description "PulseAudio" } }
ctl.pulse { type pulse }
pcm_type.pulse { lib "libasound_module_pcm_pulse.so" }
ctl_type.pulse { lib "libasound_module_ctl_pulse.so" }
"""


class PulseError(RuntimeError):
    """The daemon, or a command to it, failed; the text holds its error output."""


@dataclass(slots=True)
class Capture:
    """A recording of what the loudspeaker plays, from `start` to `stop`."""

    process: subprocess.Popen[bytes]
    rate: int
    data: bytearray = field(default_factory=bytearray)
    reader: threading.Thread | None = None

    def stop(self) -> Samples:
        """Stop recording; returns the whole recording: mono, at `rate`."""
        self.process.send_signal(signal.SIGINT)
        if self.reader is not None:
            self.reader.join(timeout=5)
        self.process.wait(timeout=5)
        return self.so_far()

    def so_far(self) -> Samples:
        """The recording until now."""
        data = bytes(self.data)
        return np.frombuffer(data[: len(data) // 2 * 2], np.int16)


class PulseServer:
    """Use it as `with PulseServer() as pulse:` and start child processes with `pulse.env`."""

    def __init__(self) -> None:
        self.folder: Path = Path()
        self.env: dict[str, str] = {}
        self._daemon: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._modules: dict[str, str] = {}
        self._exit = contextlib.ExitStack()

    # -- start and end ------------------------------------------------------------------------

    def __enter__(self) -> "PulseServer":
        self.folder = Path(self._exit.enter_context(tempfile.TemporaryDirectory(prefix="pulse-")))
        alsa = self.folder / "asound.conf"
        alsa.write_text(ALSA_CONFIGURATION)
        (self.folder / "client.conf").write_text("autospawn = no\nenable-shm = no\n")
        self.env = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("PULSE_", "DBUS_"))},
            "HOME": str(self.folder),
            "XDG_RUNTIME_DIR": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "PULSE_RUNTIME_PATH": str(self.folder / "run"),
            "PULSE_CLIENTCONFIG": str(self.folder / "client.conf"),
            "PULSE_SERVER": f"unix:{self.folder}/socket",
            "ALSA_CONFIG_PATH": str(alsa),
        }
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._exit.close()

    def start(self) -> None:
        """Start the daemon and make the two virtual devices."""
        script = self.folder / "daemon.pa"
        socket = f"socket={self.folder}/socket"
        script.write_text(f"load-module module-native-protocol-unix {socket} auth-anonymous=1\n")
        daemon_environment = {k: v for k, v in self.env.items() if k != "PULSE_SERVER"}
        self._log = (self.folder / "daemon.log").open("ab")
        self._daemon = subprocess.Popen(
            [
                "pulseaudio",
                "--daemonize=no",
                "--use-pid-file=no",
                "--exit-idle-time=-1",
                "--disable-shm",
                "--realtime=no",
                "--high-priority=no",
                "--disallow-exit",
                "-n",
                "-F",
                str(script),
            ],
            env=daemon_environment,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        self._wait_until_up()
        self._modules = {}
        self.replug("mic")
        self.replug("speaker")

    def stop(self) -> None:
        """End the daemon; to its clients, the sound server has crashed."""
        daemon, self._daemon = self._daemon, None
        if daemon is not None:
            daemon.terminate()
            try:
                daemon.wait(timeout=5)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait(timeout=5)
        if self._log is not None:
            self._log.close()
            self._log = None
        (self.folder / "socket").unlink(missing_ok=True)

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + STARTUP_S
        while time.monotonic() < deadline:
            if self._daemon is None or self._daemon.poll() is not None:
                break
            if self._run("info", check=False).returncode == 0:
                return
            time.sleep(0.02)
        raise PulseError((self.folder / "daemon.log").read_text(errors="replace")[-2000:])

    # -- devices ------------------------------------------------------------------------------

    def replug(self, name: str) -> None:
        """Create the virtual device `mic` or `speaker`, and make it the default of its kind.

        `norewinds` makes the null sink work in steps of 50 ms instead of up to 2 s.
        """
        self._modules[name] = self.pactl(
            "load-module", "module-null-sink", f"sink_name={name}", "norewinds=1"
        )
        if name == "mic":
            self.pactl("set-default-source", "mic.monitor")
        else:
            self.pactl("set-default-sink", "speaker")

    def unplug(self, name: str) -> None:
        """Remove the virtual device while it is in use."""
        self.pactl("unload-module", self._modules.pop(name))

    def restore(self) -> None:
        """Undo whatever a test took away or added."""
        if self._daemon is None:
            self.start()
        self.echo(False)
        for name in ("mic", "speaker"):
            if name not in self._modules:
                self.replug(name)

    def echo(self, on: bool, *, latency_ms: int = 120) -> None:
        """Switch on or off a path by which the microphone hears the loudspeaker, about as loud.

        With a latency near the sinks' 50 ms, the path's own buffer underruns and its delay jumps.
        """
        if on:
            self._modules["echo"] = self.pactl(
                "load-module",
                "module-loopback",
                "source=speaker.monitor",
                "sink=mic",
                f"latency_msec={latency_ms}",
                "source_dont_move=true",
                "sink_dont_move=true",
            )
        elif "echo" in self._modules:
            self.pactl("unload-module", self._modules.pop("echo"))

    def pactl(self, *arguments: str) -> str:
        """Run a command of `pactl`; returns what it printed."""
        return self._run(*arguments).stdout.decode().strip()

    def _run(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
        done = subprocess.run(
            ["pactl", *arguments], env=self.env, capture_output=True, timeout=10, check=False
        )
        if check and done.returncode:
            raise PulseError(f"pactl {' '.join(arguments)}: {done.stderr.decode().strip()}")
        return done

    # -- sound --------------------------------------------------------------------------------

    def speak(self, sound: Path | Samples, rate: int = 16_000) -> None:
        """Play into the microphone; returns when all of the sound has been played."""
        process = self.start_speaking(sound, rate)
        _, errors = process.communicate(timeout=120)
        if process.returncode:
            raise PulseError(errors.decode())

    def start_speaking(self, sound: Path | Samples, rate: int = 16_000) -> subprocess.Popen[bytes]:
        """Play into the microphone; the process ends when all of the sound has been played."""
        if isinstance(sound, Path):
            file = sound
            command = ["paplay", "--device=mic", str(file)]
        else:
            file = self.folder / f"speech-{time.monotonic_ns()}.raw"
            file.write_bytes(np.ascontiguousarray(sound, np.int16).tobytes())
            command = ["pacat", "--playback", "--device=mic", "--raw", *_format(rate), str(file)]
        return subprocess.Popen(
            command, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

    def record(self, rate: int = 16_000, device: str = "speaker.monitor") -> Capture:
        """Begin to record what the loudspeaker plays; returns when sound is arriving."""
        process = subprocess.Popen(
            ["parec", f"--device={device}", "--raw", "--latency-msec=20", *_format(rate)],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        capture = Capture(process, rate)
        capture.reader = threading.Thread(target=_read_all, args=(capture,), daemon=True)
        capture.reader.start()
        deadline = time.monotonic() + 5
        while not capture.data:
            if time.monotonic() > deadline or process.poll() is not None:
                process.kill()
                raise PulseError(f"Nothing arrives from {device}.")
            time.sleep(0.01)
        return capture


def _format(rate: int) -> list[str]:
    return [f"--rate={rate}", "--format=s16le", "--channels=1"]


def _read_all(capture: Capture) -> None:
    pipe = capture.process.stdout
    if pipe is None:
        return
    while chunk := os.read(pipe.fileno(), 65536):
        capture.data += chunk
    pipe.close()


@contextlib.contextmanager
def in_environment(values: dict[str, str]) -> Iterator[None]:
    """Lend this process the environment of the private server (PortAudio reads it when it
    initialises)."""
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
