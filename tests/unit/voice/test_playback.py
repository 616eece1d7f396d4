"""The components that devices and recordings share: queue, gain, resampling."""

import threading

import numpy as np
import pytest

from assistant.errors import DeviceBusy, DeviceMissing
from assistant.voice.audio.interfaces import dbfs
from assistant.voice.audio.playback import PlayQueue, Renderer
from assistant.voice.audio.portaudio import UNAVAILABLE, Device, choose_device, explained
from assistant.voice.audio.resampling import Resampler
from models.interfaces import Samples


def tone(rate: int, seconds: float = 1.0, hertz: float = 440.0, level: float = 8000.0) -> Samples:
    return (level * np.sin(2 * np.pi * hertz * np.arange(int(rate * seconds)) / rate)).astype(
        np.int16
    )


def snr(out: Samples, rate: int, hertz: float, level: float = 8000.0) -> float:
    expected = level * np.sin(2 * np.pi * hertz * np.arange(len(out)) / rate)
    error = (out - expected)[200:-200]
    return float(10 * np.log10(np.mean(expected**2) / np.mean(error**2)))


@pytest.mark.parametrize(
    ("rate_in", "rate_out"),
    [(48000, 16000), (44100, 16000), (22050, 48000), (22050, 44100), (22050, 16000), (8000, 16000)],
)
def test_the_resampler_preserves_sound_and_timing_with_blocks_of_any_size(
    rate_in: int, rate_out: int
) -> None:
    sound = tone(rate_in, hertz=1000)
    resampler = Resampler(rate_in, rate_out)
    cuts = np.cumsum(np.random.default_rng(1).integers(1, 900, 500))
    out = np.concatenate([resampler.process(piece) for piece in np.split(sound, cuts)])
    whole = Resampler(rate_in, rate_out).process(sound)

    assert np.array_equal(out, whole)
    assert 0 <= rate_out - len(out) <= 0.0025 * rate_out
    assert snr(out, rate_out, 1000) > 60


def test_the_resampler_suppresses_frequencies_too_high_for_the_lower_rate() -> None:
    out = Resampler(48000, 16000).process(tone(48000, hertz=9500))
    assert len(out) > 15000
    assert dbfs(out[200:-200]) < dbfs(tone(48000)) - 60


def test_the_queue_accounts_for_every_sample_between_threads() -> None:
    queue = PlayQueue(16000)
    stop = threading.Event()

    def device() -> None:
        while not stop.is_set():
            queue.take(160)

    thread = threading.Thread(target=device)
    thread.start()
    accepted = dropped = 0
    for number in range(3000):
        queue.push(np.ones(100, np.int16))
        accepted += 100
        if number % 7 == 0:
            dropped += queue.flush()
    stop.set()
    thread.join()
    assert accepted == queue.played + dropped + queue.queued


def test_a_flush_leaves_at_most_a_few_faded_milliseconds() -> None:
    queue = PlayQueue(16000)
    queue.push(np.full(16000, 10000, np.int16))
    queue.take(160)
    assert queue.flush() == 16000 - 160 - 64
    rest = queue.take(320)
    assert rest is not None
    assert rest[0] == 10000
    assert (np.diff(rest[:64].astype(int)) < 0).all()
    assert not rest[64:].any()
    assert queue.take(320) is None
    queue.push(np.ones(500, np.int16))
    assert queue.flush(fade=False) == 500
    assert queue.take(10) is None


def test_the_gain_applies_to_queued_sound_and_changes_smoothly() -> None:
    queue = PlayQueue(16000)
    queue.push(np.full(16000, 10000, np.int16))
    queue.take(160)
    queue.gain = 0.25
    blocks = [queue.take(160) for _ in range(4)]
    ramp = np.concatenate([block for block in blocks if block is not None]).astype(int)
    assert ramp[-1] == 2500
    assert np.abs(np.diff(ramp)).max() < 10000 / 320 + 2
    assert np.flatnonzero(ramp == 2500)[0] <= 320
    queue.gain = 1.0
    queue.take(320)
    block = queue.take(160)
    assert block is not None
    assert (block == 10000).all()


def test_the_renderer_plays_the_whole_sound_at_the_device_rate_and_then_zeros() -> None:
    queue = PlayQueue(22050)
    renderer = Renderer(queue, 48000)
    sound = tone(22050, 1.0, 1000)
    queue.push(sound)
    out = np.concatenate([renderer.render(960) for _ in range(60)])
    assert queue.played == len(sound)
    assert len(out) == 60 * 960
    assert snr(out[:47000], 48000, 1000) > 60
    assert np.abs(out[:48000]).max() > 7900
    assert not out[48000 + 200 :].any()


def test_the_renderer_plays_a_second_sound_after_silence() -> None:
    queue = PlayQueue(22050)
    renderer = Renderer(queue, 16000)
    for _ in range(3):
        queue.push(tone(22050, 0.1))
        out = np.concatenate([renderer.render(320) for _ in range(10)])
        assert dbfs(out[:1600]) == pytest.approx(dbfs(tone(16000, 0.1)), abs=0.5)
        assert not out[1700:].any()


@pytest.mark.parametrize(("level", "wanted"), [(0, -100), (32767, 0), (3277, -20)])
def test_levels_are_measured_in_dbfs(level: int, wanted: float) -> None:
    assert dbfs(np.full(100, level, np.int16)) == pytest.approx(wanted, abs=0.01)
    assert dbfs(np.zeros(0, np.int16)) == -100


def device(index: int, name: str, inputs: int, *, default: bool = False) -> Device:
    return Device(index, name, "Test", inputs, 0, default, False, 48000)


DEVICES = [
    device(0, "USB Microphone", 1),
    device(1, "Built-in Microphone", 2, default=True),
    device(2, "Monitor 1", 0),
    device(3, "Microphone", 1),
]


@pytest.mark.parametrize(
    ("wanted", "index"),
    [(None, 1), ("", 1), ("0", 0), ("usb", 0), ("microphone", 3), ("built-in", 1), ("phone", 1)],
)
def test_a_device_is_chosen_by_number_or_name(wanted: str | None, index: int) -> None:
    assert choose_device(DEVICES, "microphone", wanted).index == index


@pytest.mark.parametrize("wanted", ["Studio", "2", "Monitor", "17"])
def test_a_missing_device_is_reported_with_the_devices_that_exist(wanted: str) -> None:
    with pytest.raises(DeviceMissing, match=f'no microphone "{wanted}"; available: .*"USB Mic'):
        choose_device(DEVICES, "microphone", wanted)
    with pytest.raises(DeviceMissing, match="No loudspeaker was found"):
        choose_device(DEVICES, "loudspeaker", None)


def test_a_device_in_use_is_reported_as_busy() -> None:
    error = explained(RuntimeError("Device unavailable", UNAVAILABLE), "microphone", DEVICES[0])
    assert isinstance(error, DeviceBusy)
    assert "in use by another program" in str(error)
    assert error.mend
