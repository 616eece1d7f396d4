"""Keeps the assistant's own voice out of what it hears.

Of the bindings for WebRTC's echo canceller (AEC3), LiveKit's was chosen by how well the voice
detector still works during double talk. At equal loudness, in a room with 250 ms of reverberation,
it found 60 to 80 of 110 windows of the user's speech (`pywebrtc-audio`: 6 to 55); neither took the
echo for speech. It costs 0.12 s at start, 23 MB, and 0.1 ms of CPU per 10 ms of sound. Noise
suppression and automatic gain control are off: they produce sound unlike what the recogniser was
trained on, and did not reliably help the detector.
"""

import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assistant.errors import AudioError
from assistant.voice.audio.interfaces import BLOCK, MIC_RATE
from assistant.voice.audio.resampling import Resampler
from models.interfaces import Samples

Wave = NDArray[np.float32]

FRAME = 160
"""Samples in the 10 ms frames that AEC3 takes."""
QUIET_AFTER_S = 1.0
"""Seconds of silence after which no echo can be left; the canceller then rests."""
RESERVE = 0.4
"""Fraction of the devices' latency by which the reference is delayed to absorb jitter."""
SURPLUS = 4 * FRAME
"""Samples (40 ms) that may queue beyond the reserve before silence is dropped."""
LIMIT = 20 * FRAME
"""Maximum number of samples queued (200 ms), silent or not. If there are more, the microphone must
have stalled."""
FEW_LAPSES = 2
"""If the reference is late more often than this within a second, its delay is adjusted."""
LATEST = 10 * FRAME
"""If the reference is later than this many samples (100 ms), it has stopped."""
HANGOVER_S = 0.15
"""Seconds that the room and buffers keep sounding after the device got its last sample."""


class EchoCanceller(Protocol):
    @property
    def played(self) -> Samples | None:
        """What the loudspeaker played during the last block of `near`; None if it was silent."""

    def far(self, samples: Samples, rate: int) -> None:
        """Take the samples sent to the loudspeaker, zeros included; called from the audio
        thread."""

    def near(self, block: Samples) -> Samples:
        """Clean a microphone block of BLOCK samples at 16 kHz; returns the same number."""


class NoEcho:
    """For headphones: passes the microphone's signal through unchanged."""

    played = None

    def far(self, samples: Samples, rate: int) -> None:
        """Nothing to do."""

    def near(self, block: Samples) -> Samples:
        return block


class HalfDuplex:
    """Mutes the microphone while the loudspeaker is playing.

    Args:
        latency_s: both devices' latency, from `far` to the echo's arrival in `near`.
        clock: monotonic seconds.
    """

    played = None

    def __init__(self, latency_s: float = 0.1, clock: Callable[[], float] = time.monotonic) -> None:
        self._hang_over_s = latency_s + HANGOVER_S
        self._clock = clock
        self._open_at = 0.0

    def far(self, samples: Samples, rate: int) -> None:
        if samples.any():
            self._open_at = self._clock() + len(samples) / rate + self._hang_over_s

    def near(self, block: Samples) -> Samples:
        return np.zeros_like(block) if self._clock() < self._open_at else block


class FarEnd:
    """The reference signal: what the loudspeaker played, aligned with the microphone's blocks.

    AEC3 takes one frame of each side in turn, and needs a second or two to adapt when the delay
    between them jumps. But audio threads call in bursts, and late. So the reference is delayed by
    part of the devices' known latency (any more, and it would arrive after its own echo). Gaps are
    filled with zeros, and as many samples are cut from the sound that arrives late. A surplus is
    dropped only from silence.
    """

    def __init__(self, latency_s: float = 0.1, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._arrived: deque[tuple[Samples, int]] = deque(maxlen=500)
        self._sounded_at = -1e9
        self._resampler: Resampler | None = None
        self._rate = 0
        self._waiting: Samples = np.zeros(0, np.int16)
        self._running = False
        self._debt = 0
        self._lapses = 0
        self._reserve = int(RESERVE * latency_s * MIC_RATE)
        self._least = LIMIT
        self._taken = 0
        self._excess = 0

    @property
    def quiet(self) -> bool:
        return self._clock() - self._sounded_at > QUIET_AFTER_S

    @property
    def waiting_s(self) -> float:
        return len(self._waiting) / MIC_RATE

    def put(self, samples: Samples, rate: int) -> None:
        """Called from the audio thread; only an append, which needs no lock."""
        if samples.any():
            self._sounded_at = self._clock()
        self._arrived.append((samples, rate))

    def take(self) -> Samples:
        """The next BLOCK samples at 16 kHz, with zeros for samples that have not arrived."""
        self._collect()
        missing = BLOCK - len(self._waiting)
        self._least = min(self._least, max(0, -missing))
        if missing > 0:
            self._make_up_for(missing)
        block, self._waiting = self._waiting[:BLOCK], self._waiting[BLOCK:]
        self._taken += 1
        if self._taken == MIC_RATE // BLOCK:
            self._judge()
        if self._excess:
            self._drop_silence()
        return block

    def _collect(self) -> None:
        parts, quiet = [self._waiting], self.quiet
        while self._arrived:
            samples, rate = self._arrived.popleft()
            if self._resampler is None or rate != self._rate:
                self._resampler, self._rate = Resampler(rate, MIC_RATE), rate
            if not self._running:
                self._running = True
                parts.append(np.zeros(self._reserve, np.int16))
            if quiet:  # all zeros: count them instead of resampling
                self._resampler.reset()
                parts.append(np.zeros(len(samples) * MIC_RATE // rate, np.int16))
            else:
                parts.append(self._resampler.process(samples))
        if len(parts) > 1:
            self._waiting = np.concatenate(parts)[-LIMIT:]
            self._pay()

    def _pay(self) -> None:
        """Cut the samples that came late; but if that happens often, keep the new alignment."""
        if self._lapses > FEW_LAPSES:
            self._debt = 0
        late = min(self._debt, len(self._waiting) - BLOCK)
        if late > 0:
            self._debt -= late
            self._waiting = self._waiting[late:]

    def _make_up_for(self, missing: int) -> None:
        if self._running:
            self._debt += missing
            self._lapses += 1
            if self._debt > LATEST:
                self._running, self._debt = False, 0
        self._waiting = np.concatenate([self._waiting, np.zeros(missing, np.int16)])

    def _judge(self) -> None:
        """Once a second: measure the excess delay of the reference, and clear the debt."""
        excess = self._least - self._reserve
        self._excess = excess if excess > SURPLUS else 0
        self._taken, self._least, self._debt, self._lapses = 0, LIMIT, 0, 0

    def _drop_silence(self) -> None:
        sounding = np.flatnonzero(self._waiting)
        silent = int(sounding[0]) if len(sounding) else len(self._waiting)
        dropped = min(silent, self._excess)
        self._waiting = self._waiting[dropped:]
        self._excess -= dropped


class WebRtcCanceller:
    """AEC3 and its high-pass filter, through LiveKit's binding; rests while nothing is played.

    Args:
        latency_s: both devices' latency; a first guess that the canceller refines.
        clock: monotonic seconds.

    Raises:
        AudioError: the library can't be loaded.
    """

    def __init__(self, latency_s: float = 0.1, clock: Callable[[], float] = time.monotonic) -> None:
        try:
            from livekit.rtc import AudioFrame
            from livekit.rtc.apm import AudioProcessingModule
        except (ImportError, OSError) as error:
            raise AudioError(
                f"Echo cancellation can't be loaded: {error}.",
                mend='Set echo = "half-duplex" in [audio], or use headphones and set echo = "off".',
            ) from error
        self._frame_type = AudioFrame
        self._apm = AudioProcessingModule(echo_cancellation=True, high_pass_filter=True)
        self._delay_s = latency_s
        self._far = FarEnd(latency_s, clock)
        self._resting = True
        self.played: Samples | None = None

    def far(self, samples: Samples, rate: int) -> None:
        self._far.put(samples, rate)

    def near(self, block: Samples) -> Samples:
        waited = self._far.waiting_s
        reference = self._far.take()
        quiet = self._far.quiet
        self.played = None if quiet else reference
        if quiet and self._resting:
            return block
        cleaned = self._cancel(block, reference, max(0.0, self._delay_s - waited))
        if quiet != self._resting:  # the filter delays by 8 ms: cross-fade, so as not to click
            fade = np.linspace(0, 1, len(block), dtype=np.float32)
            old, new = (cleaned, block) if quiet else (block, cleaned)
            cleaned = (old * (1 - fade) + new * fade).astype(np.int16)
            self._resting = quiet
        return cleaned

    def _cancel(self, block: Samples, reference: Samples, delay_s: float) -> Samples:
        cleaned = []
        for start in range(0, len(block), FRAME):
            self._apm.process_reverse_stream(self._frame(reference[start : start + FRAME]))
            self._apm.set_stream_delay_ms(int(delay_s * 1000))
            frame = self._frame(block[start : start + FRAME])
            self._apm.process_stream(frame)
            cleaned.append(np.frombuffer(frame.data, np.int16))
        return np.concatenate(cleaned)

    def _frame(self, samples: Samples) -> Any:
        return self._frame_type(bytearray(samples.tobytes()), MIC_RATE, 1, FRAME)


LIKENESS_SPAN = 2 * MIC_RATE
"""Number of samples compared at once: within that span the delay between the devices hardly
changes."""
LIKENESS_LONGEST = 6 * MIC_RATE
LONGEST_DELAY = MIC_RATE // 2


def echo_similarity(heard: Samples, played: Samples) -> float:
    """How much of `heard` is an echo of `played` that the canceller left; only the last six seconds
    are compared.

    It is the greatest correlation over delays of up to half a second, in spans of two seconds,
    weighted by energy. The user's speech over a voice that is cancelled, or comes back at half its
    loudness, scores up to 0.17. The assistant's voice itself, while the canceller is still
    adapting, scores 0.3 to 1 through a sound server and 0.2 to 0.5 in a reverberant room.

    Args:
        heard: 16 kHz, after the canceller.
        played: same length; zeros where the loudspeaker was silent.

    Returns:
        In [0, 1].
    """
    heard, played = heard[-LIKENESS_LONGEST:], played[-LIKENESS_LONGEST:]
    if not played.any():
        return 0.0
    weighted, energy = 0.0, 0.0
    for start in range(0, len(heard), LIKENESS_SPAN):
        part = heard[start : start + LIKENESS_SPAN].astype(np.float32)
        before = played[max(0, start - LONGEST_DELAY) : start + len(part)].astype(np.float32)
        before = np.pad(before, (LONGEST_DELAY - min(start, LONGEST_DELAY), 0))
        own = float(np.dot(part, part))
        weighted += own * _greatest_correlation(part, before)
        energy += own
    return weighted / energy if energy else 0.0


def _greatest_correlation(part: Wave, before: Wave) -> float:
    """The correlation of `part` (n samples) with the best n-sample window of `before`, which is
    LONGEST_DELAY samples longer."""
    size = 1 << (len(before) - 1).bit_length()  # circular, but the delays in question don't wrap
    products = np.fft.irfft(np.fft.rfft(before, size) * np.conj(np.fft.rfft(part, size)), size)
    sums = np.concatenate([[0.0], np.cumsum(before.astype(np.float64) ** 2)])
    runs = sums[len(part) :] - sums[: -len(part)]
    scale = np.sqrt(np.maximum(runs, sums[-1] / 100) * float(np.dot(part, part)))
    correlations = np.abs(products[: LONGEST_DELAY + 1]) / np.maximum(scale, 1e-9)
    return min(1.0, float(correlations.max()))
