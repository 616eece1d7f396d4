"""Echo cancellation of synthetic voices in simulated rooms, with the real canceller."""

import os
from collections.abc import Callable

import numpy as np
import psutil
import pytest
from numpy.typing import NDArray

from assistant.voice.audio.echo import (
    EchoCanceller,
    FarEnd,
    HalfDuplex,
    WebRtcCanceller,
    echo_similarity,
)
from assistant.voice.audio.interfaces import BLOCK, MIC_RATE, dbfs, to_int16
from assistant.voice.turns.barge_in import OWN_VOICE
from models.interfaces import Samples
from tests.support.voices import echo_of, room, voice

SECONDS = 7
FAR = voice(SECONDS, 1)
NOISE = np.random.default_rng(0).standard_normal(len(FAR)) * 3


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def through(
    make: Callable[[Clock], EchoCanceller],
    microphone: NDArray[np.float64],
    far: Samples = FAR,
    *,
    burst: int = 1,
    first: int = 0,
) -> Samples:
    """Feed both sides block by block; the far side in bursts, the first one `first` blocks late."""
    clock = Clock()
    canceller = make(clock)
    near = to_int16(microphone.astype(np.float32))
    out = []
    for number in range(len(near) // BLOCK):
        if number % burst == first:
            canceller.far(far[number * BLOCK : (number + burst) * BLOCK], MIC_RATE)
        clock.now += BLOCK / MIC_RATE
        out.append(canceller.near(near[number * BLOCK : (number + 1) * BLOCK]))
    return np.concatenate(out)


def webrtc(clock: Clock) -> WebRtcCanceller:
    return WebRtcCanceller(0.02, clock)


def level(sound: NDArray[np.float64], part: slice) -> float:
    return dbfs(to_int16(sound.astype(np.float32))[part])


@pytest.mark.parametrize(
    ("delay_ms", "burst", "first"),
    [(10, 1, 0), (40, 1, 0), (120, 1, 0), (300, 1, 0), (80, 3, 0), (80, 3, 1), (80, 3, 2)],
)
def test_echo_is_removed_at_any_delay_and_in_bursts(delay_ms: int, burst: int, first: int) -> None:
    microphone = echo_of(FAR, room(delay_ms / 1000, 3)) + NOISE
    cleaned = through(webrtc, microphone, burst=burst, first=first)
    settled = slice(3 * MIC_RATE, SECONDS * MIC_RATE)
    assert level(microphone, settled) > -30
    assert level(microphone, settled) - dbfs(cleaned[settled]) > 25


def test_the_user_is_heard_over_the_assistant() -> None:
    said = voice(2, 7)
    begin, end = 4 * MIC_RATE, 6 * MIC_RATE
    echo = echo_of(FAR, room(0.04, 3))
    both = echo + NOISE
    both[begin:end] += said
    cleaned = through(webrtc, both)[begin:end]
    alone = through(webrtc, echo + NOISE)[begin:end]
    assert dbfs(cleaned) > dbfs(said) - 9
    assert dbfs(cleaned) > dbfs(alone) + 20
    loudness = [_envelope(part) for part in (cleaned, said, echo[begin:end])]
    assert np.corrcoef(loudness[0], loudness[1])[0, 1] > 0.5
    assert np.corrcoef(loudness[0], loudness[2])[0, 1] < 0.3


def _envelope(samples: NDArray[np.float64] | Samples) -> NDArray[np.float64]:
    rows = samples[: len(samples) // BLOCK * BLOCK].astype(float).reshape(-1, BLOCK)
    return np.asarray(np.sqrt((rows**2).mean(axis=1)))


def test_sound_is_unchanged_while_nothing_is_played() -> None:
    silence = np.zeros(len(FAR), np.int16)
    said = voice(SECONDS, 5).astype(float)
    assert np.array_equal(through(webrtc, said, silence), said.astype(np.int16))


def test_the_canceller_still_knows_the_room_after_a_rest() -> None:
    response = room(0.06, 3)
    far = np.concatenate([FAR[: 4 * MIC_RATE], np.zeros(3 * MIC_RATE, np.int16), FAR])
    noise = np.random.default_rng(1).standard_normal(len(far)) * 3
    microphone = echo_of(far, response) + noise
    cleaned = through(webrtc, microphone, far)
    resting = slice(6 * MIC_RATE, 7 * MIC_RATE)
    again = slice(7 * MIC_RATE, 9 * MIC_RATE)
    assert np.array_equal(cleaned[resting], to_int16(microphone.astype(np.float32))[resting])
    assert level(microphone, again) - dbfs(cleaned[again]) > 20


def test_going_to_rest_causes_no_click() -> None:
    far = FAR.copy()
    far[2 * MIC_RATE :] = 0
    hum = 3000 * np.sin(2 * np.pi * 300 * np.arange(len(far)) / MIC_RATE)
    cleaned = through(webrtc, hum, far).astype(int)
    later = cleaned[int(2.5 * MIC_RATE) : 4 * MIC_RATE]
    assert dbfs(later.astype(np.int16)) > level(hum, slice(None)) - 3
    assert np.abs(np.diff(later)).max() < 1.3 * np.abs(np.diff(hum)).max()


def test_the_canceller_opens_no_connection() -> None:
    before = connections()
    through(webrtc, NOISE[:MIC_RATE], FAR[:MIC_RATE])
    assert connections() == before


def connections() -> set[object]:
    own = psutil.Process(os.getpid()).net_connections(kind="inet")
    return {connection for connection in own if connection.raddr}


ON_TIME = {number: [number] for number in range(40)}


@pytest.mark.parametrize(
    ("arrivals", "settled", "lag"),
    [
        (ON_TIME | {20: [], 21: [20, 21]}, 22, 0),  # late once: the gap is made up for
        (ON_TIME | {20: []} | {at: [at - 1] for at in range(21, 40)}, 25, 1),  # late from then on
    ],
)
def test_the_reference_is_aligned_again_when_the_audio_thread_was_late(
    arrivals: dict[int, list[int]], settled: int, lag: int
) -> None:
    clock = Clock()
    far = FarEnd(0.02, clock)
    taken = []
    for number in range(40):
        for index in arrivals[number]:
            far.put(np.full(BLOCK, index + 1, np.int16), MIC_RATE)
        clock.now += 0.02
        taken.append(int(far.take()[-1]))
    assert taken[15] == 16
    assert taken[20] == 0
    assert taken[settled:] == [number + 1 - lag for number in range(settled, 40)]


def test_a_loudspeaker_whose_clock_runs_ahead_does_not_fill_the_memory() -> None:
    clock = Clock()
    far = FarEnd(0.02, clock)
    for number in range(1000):
        count = BLOCK + (10 if number % 2 else 0)
        far.put(np.full(count, 0 if number % 100 < 20 else 5, np.int16), MIC_RATE)
        clock.now += 0.02
        far.take()
        assert far.waiting_s < 0.2
    assert far.waiting_s < 0.1


def test_the_reference_is_resampled() -> None:
    clock = Clock()
    far = FarEnd(0.02, clock)
    taken = []
    tone = (8000 * np.sin(2 * np.pi * 440 * np.arange(22050) / 22050)).astype(np.int16)
    for start in range(0, len(tone), 441):
        far.put(tone[start : start + 441], 22050)
        clock.now += 0.02
        taken.append(far.take())
    spectrum = np.abs(np.fft.rfft(np.concatenate(taken).astype(float)))
    assert np.argmax(spectrum) == 440


def test_half_duplex_closes_the_microphone_while_the_loudspeaker_sounds() -> None:
    clock = Clock()
    gate = HalfDuplex(0.1, clock)
    said = np.full(BLOCK, 500, np.int16)
    silence = np.zeros(BLOCK, np.int16)
    assert gate.near(said).all()
    gate.far(silence, MIC_RATE)
    assert gate.near(said).all()
    gate.far(said, MIC_RATE)
    assert not gate.near(said).any()
    gate.far(silence, MIC_RATE)
    clock.now += 0.26
    assert not gate.near(said).any()
    clock.now += 0.02
    assert gate.near(said).all()


def part(sound: NDArray[np.generic], seconds: float) -> Samples:
    cut = sound[MIC_RATE : MIC_RATE + int(seconds * MIC_RATE)]
    return to_int16(cut.astype(np.float32))


@pytest.mark.parametrize("seconds", [1, 2, 5])
@pytest.mark.parametrize("delay_ms", [10, 100, 300])
def test_the_assistants_own_voice_is_recognised_and_another_is_not(
    delay_ms: int, seconds: float
) -> None:
    returned = echo_of(FAR, room(delay_ms / 1000, 1))
    other = voice(SECONDS, 2)
    played = part(FAR, seconds)
    assert echo_similarity(part(returned, seconds), played) > OWN_VOICE
    assert echo_similarity(part(other, seconds), played) < 0.1
    assert echo_similarity(part(other + returned / 2, seconds), played) < OWN_VOICE


def test_nothing_is_similar_to_silence() -> None:
    assert echo_similarity(FAR, np.zeros_like(FAR)) == 0
    assert echo_similarity(np.zeros_like(FAR), FAR) == 0
    assert echo_similarity(FAR[:0], FAR[:0]) == 0


def test_the_canceller_reports_the_sound_that_is_played() -> None:
    canceller = webrtc(Clock())
    canceller.near(FAR[:BLOCK])
    before = canceller.played
    assert before is None
    loud = FAR[int(np.abs(FAR).argmax()) :][: 4 * BLOCK]
    canceller.far(loud, MIC_RATE)
    canceller.near(FAR[:BLOCK])
    canceller.near(FAR[:BLOCK])
    assert canceller.played is not None
    assert echo_similarity(canceller.played, loud[:BLOCK]) > 0.5
