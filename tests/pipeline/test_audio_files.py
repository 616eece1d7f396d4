"""Audio files used instead of devices."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from assistant.errors import AudioError, RecordingUnreadable
from assistant.voice.audio.files import (
    FileMicrophone,
    InstantLoudspeaker,
    NullLoudspeaker,
    WavLoudspeaker,
    read_recording,
)
from assistant.voice.audio.interfaces import BLOCK, MIC_RATE, Loudspeaker, Microphone, dbfs
from models.interfaces import Samples


def tone(rate: int, seconds: float, hertz: float = 440.0) -> Samples:
    return (8000 * np.sin(2 * np.pi * hertz * np.arange(int(rate * seconds)) / rate)).astype(
        np.int16
    )


# -- reading ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "rate", "channels", "subtype"),
    [
        ("a.wav", 16000, 1, "PCM_16"),
        ("b.wav", 44100, 2, "FLOAT"),
        ("c.flac", 48000, 1, "PCM_16"),
        ("d.ogg", 22050, 2, "VORBIS"),
        ("e.wav", 8000, 1, "ULAW"),
        ("f.mp3", 44100, 1, "MPEG_LAYER_III"),
    ],
)
def test_any_format_becomes_16_khz_mono(
    tmp_path: Path, name: str, rate: int, channels: int, subtype: str
) -> None:
    path = tmp_path / name
    sound = tone(rate, 1.0)
    soundfile.write(path, np.stack([sound / 32768] * channels, axis=1), rate, subtype=subtype)
    samples = read_recording(path)
    assert samples.dtype == np.int16
    assert len(samples) == pytest.approx(MIC_RATE, abs=1700 if name.endswith("mp3") else 160)
    assert dbfs(samples[2000:14000]) == pytest.approx(dbfs(sound), abs=0.5)
    spectrum = np.abs(np.fft.rfft(samples[2000:14000].astype(float)))
    assert np.argmax(spectrum) * MIC_RATE / 12000 == pytest.approx(440, abs=2)


@pytest.mark.parametrize(
    ("prepare", "says"),
    [
        (lambda path: path.unlink(missing_ok=True), "There is no recording"),
        (lambda path: path.mkdir(), "is not a file"),
        (lambda path: path.write_bytes(b""), "is empty"),
        (lambda path: path.write_text("Dear diary,\n" * 50), "is not a readable audio file"),
        (lambda path: path.write_bytes(b"RIFF\x10\0\0\0WAVEfmt "), "is not a readable audio file"),
        (lambda path: soundfile.write(path, np.zeros(0, np.int16), 16000), "contains no sound"),
    ],
)
def test_a_file_that_is_not_a_recording_is_reported_in_one_sentence(
    tmp_path: Path, prepare: Callable[[Path], object], says: str
) -> None:
    path = tmp_path / "voice.wav"
    prepare(path)
    with pytest.raises(RecordingUnreadable, match=says) as caught:
        read_recording(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


# -- the microphone -----------------------------------------------------------------------------


class Listener:
    def __init__(self) -> None:
        self.blocks: list[Samples] = []
        self.times: list[float] = []

    def deliver(self, block: Samples, captured: float) -> None:
        self.blocks.append(block)
        self.times.append(captured)

    def heard(self) -> Samples:
        return np.concatenate(self.blocks)


async def test_each_recording_is_delivered_whole_and_the_next_one_on_request(
    tmp_path: Path,
) -> None:
    first, second = tone(MIC_RATE, 0.11), tone(MIC_RATE, 0.05, 900)
    soundfile.write(tmp_path / "first.wav", first, MIC_RATE)
    microphone = FileMicrophone([tmp_path / "first.wav", second], lead_in_s=0.04)
    as_protocol: Microphone = microphone
    listener, before = Listener(), time.monotonic()
    await as_protocol.open(listener.deliver)
    await microphone.waiting.wait()
    assert not microphone.exhausted.is_set()
    blocks = len(listener.blocks)
    while len(listener.blocks) < blocks + 4:
        await asyncio.sleep(0.01)
    assert len(microphone.ends) == 1
    microphone.next()
    assert not microphone.waiting.is_set()
    await microphone.exhausted.wait()
    await microphone.close()
    count = len(listener.times)
    await asyncio.sleep(0.05)

    assert len(listener.times) == count
    assert np.allclose(np.diff(listener.times), BLOCK / MIC_RATE)
    assert before < listener.times[0]
    assert listener.times[-1] <= time.monotonic()
    assert all(len(block) == BLOCK for block in listener.blocks)
    heard = listener.heard()
    origin = listener.times[0] - BLOCK / MIC_RATE
    for sound, start, end in zip((first, second), microphone.starts, microphone.ends, strict=True):
        begin = round((start - origin) * MIC_RATE)
        assert np.array_equal(heard[begin : begin + len(sound)], sound)
        assert round((end - start) * MIC_RATE) == len(sound)
    between = heard[round((microphone.ends[0] - origin) * MIC_RATE) :][: 4 * BLOCK]
    assert between.any()
    assert dbfs(between) == pytest.approx(-80, abs=2)


async def test_no_sound_is_lost_while_the_event_loop_is_blocked() -> None:
    sound = tone(MIC_RATE, 0.2)
    microphone, listener = FileMicrophone([sound], lead_in_s=0), Listener()
    await microphone.open(listener.deliver)
    await asyncio.sleep(0.05)
    time.sleep(0.1)
    await microphone.exhausted.wait()
    await microphone.close()
    start = round((microphone.starts[0] - listener.times[0]) * MIC_RATE) + BLOCK
    assert np.array_equal(listener.heard()[start : start + len(sound)], sound)


async def test_without_recordings_the_microphone_delivers_silence() -> None:
    microphone, listener = FileMicrophone([]), Listener()
    await microphone.open(listener.deliver)
    await microphone.exhausted.wait()
    while not listener.blocks:
        await asyncio.sleep(0.01)
    await microphone.close()
    assert dbfs(listener.heard()) < -70


# -- loudspeakers -------------------------------------------------------------------------------


async def play(loudspeaker: Loudspeaker, sound: Samples) -> None:
    step = loudspeaker.sample_rate // 50
    for offset in range(0, len(sound), step):
        await loudspeaker.play(sound[offset : offset + step])


async def test_a_wav_file_contains_sounds_at_the_times_they_were_played(tmp_path: Path) -> None:
    path, sound = tmp_path / "out.wav", tone(22050, 0.3)
    loudspeaker = WavLoudspeaker(path)
    await loudspeaker.open(22050)
    await asyncio.sleep(0.1)
    await loudspeaker.play(sound)  # in one piece, so that a stalled machine leaves no gap
    await loudspeaker.drain()
    assert loudspeaker.played() == len(sound)
    await asyncio.sleep(0.05)
    assert not path.exists()
    await loudspeaker.close()
    await loudspeaker.close()

    written, rate = soundfile.read(path, dtype="int16")
    assert rate == 22050
    start = int(np.flatnonzero(written)[0]) - 1
    assert start == pytest.approx(0.1 * rate, abs=0.011 * rate)  # sound is accepted every 10 ms
    assert np.array_equal(written[start : start + len(sound)], sound)
    assert len(written) >= start + len(sound)
    assert list(tmp_path.iterdir()) == [path]


async def test_the_wav_file_and_the_sample_count_reflect_gain_and_interruptions(
    tmp_path: Path,
) -> None:
    path = tmp_path / "out.wav"
    loudspeaker = WavLoudspeaker(path)
    loudspeaker.gain = 0.5
    await loudspeaker.open(16000)
    sound = np.full(8000, 5000, np.int16)
    await loudspeaker.play(sound[:3200])
    speaking = asyncio.create_task(loudspeaker.play(sound[3200:]))
    while loudspeaker.played() < 3200:
        await asyncio.sleep(0.005)
    dropped = loudspeaker.flush()
    await speaking
    await loudspeaker.drain()
    assert dropped > 0
    assert loudspeaker.played() + dropped == len(sound)
    played = loudspeaker.played()
    await loudspeaker.close()
    written, _ = soundfile.read(path, dtype="int16")
    assert np.count_nonzero(written) == pytest.approx(played, abs=2)
    assert written[np.flatnonzero(written)[1000]] == 2500


async def test_the_wav_file_is_valid_after_cancellation(tmp_path: Path) -> None:
    path = tmp_path / "out.wav"

    async def assistant() -> None:
        loudspeaker = WavLoudspeaker(path)
        await loudspeaker.open(16000)
        await play(loudspeaker, np.full(160_000, 5000, np.int16))

    task = asyncio.create_task(assistant())
    await asyncio.sleep(0.15)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # asyncio.run does the same to all remaining tasks at its end:
    for other in asyncio.all_tasks() - {asyncio.current_task()}:
        other.cancel()
        await asyncio.gather(other, return_exceptions=True)
    written, _ = soundfile.read(path, dtype="int16")
    assert np.count_nonzero(written) > 0
    assert list(tmp_path.iterdir()) == [path]


async def test_a_wav_file_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    loudspeaker = WavLoudspeaker(tmp_path / "nowhere" / "out.wav")
    with pytest.raises(AudioError, match=r"out\.wav can't be written: No such file"):
        await loudspeaker.open(16000)
    await loudspeaker.close()


async def test_sound_is_accepted_hardly_faster_than_it_is_played() -> None:
    loudspeaker = NullLoudspeaker()
    await loudspeaker.open(16000)
    accepted = 0
    for _ in range(20):
        await loudspeaker.play(np.ones(320, np.int16))
        accepted += 320
        assert accepted - loudspeaker.played() <= 0.06 * 16000
    await loudspeaker.drain()
    assert loudspeaker.played() == accepted
    await loudspeaker.close()


async def test_the_instant_loudspeaker_accepts_all_sound_at_once() -> None:
    loudspeaker: Loudspeaker = InstantLoudspeaker()
    await loudspeaker.open(22050)
    await loudspeaker.play(np.zeros(22050 * 60, np.int16))
    await loudspeaker.drain()
    assert loudspeaker.played() == 22050 * 60
    assert loudspeaker.flush() == 0
    await loudspeaker.close()
