"""Removes the assistant's own voice from the microphone's signal.

The echo canceller is WebRTC's AEC3, in the binding by LiveKit. It was chosen because the voice
detector works best with it while both the user and the assistant speak. At equal loudness, in a
room with 250 ms of reverberation, the detector found 60 to 80 of 110 windows of the user's speech.
With `pywebrtc-audio` it found 6 to 55. With neither, it mistook the echo for speech.
LiveKit's binding costs 0.12 s at start, 23 MB, and 0.1 ms of CPU per 10 ms of sound.

Noise suppression and automatic gain control are off. They produce sound that the recogniser was not
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
"""Number of samples in a frame of AEC3 (10 ms)."""
QUIET_AFTER_S = 1.0
"""Seconds of silence from the loudspeaker after which there is no echo left to cancel."""
RESERVE = 0.4
"""Fraction of the devices' latency by which the reference is delayed to absorb jitter."""
SURPLUS = 4 * FRAME
"""Maximum number of samples (40 ms) queued beyond the reserve. Silence above that is dropped."""
LIMIT = 20 * FRAME
"""Maximum number of samples queued (200 ms). Only a stalled microphone leads to more."""
FEW_LAPSES = 2
"""Number of times per second that the reference may be late. Above that, its delay is adjusted."""
LATEST = 10 * FRAME
"""If the reference is late by more than this number of samples (100 ms), playback has stopped."""
HANGOVER_S = 0.15
"""Seconds for which an echo goes on after the device's last sample, because of the room and
buffers."""


class EchoCanceller(Protocol):
    """Removes the loudspeaker's sound (`far`) from the microphone's signal (`near`)."""

    @property
    def played(self) -> Samples | None:
        """What the loudspeaker played during the last block given to `near`; None if it was
        silent."""

    def far(self, samples: Samples, rate: int) -> None:
        """Receive the samples that the loudspeaker plays, including zeros, at `rate` Hz. Called on
        the audio thread."""

    def near(self, block: Samples) -> Samples:
        """Remove the echo from a block of BLOCK samples at 16 kHz. Return a block of the same
        length."""


class NoEcho:
    """Leaves the microphone's signal unchanged, for use with headphones."""

    played = None

    def far(self, samples: Samples, rate: int) -> None:
        """Ignore the samples."""

    def near(self, block: Samples) -> Samples:
        return block


class HalfDuplex:
    """Mutes the microphone while the loudspeaker is playing.

    Args:
        latency_s: the seconds from a call of `far` until its echo arrives in `near`.
        clock: returns monotonic seconds.
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
    """The reference signal for echo cancellation: what the loudspeaker played, aligned with the
    microphone's blocks.

    AEC3 needs a second or two to adapt whenever the delay between the two signals jumps. But audio
    threads deliver samples late and in bursts. So the reference is delayed by part of the devices'
    latency. (With a longer delay, it would arrive after its own echo.) Gaps are filled with zeros,
    and the same number of samples is cut from the sound that arrives late. Surplus samples are
    dropped only if they are silent.
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
        """Whether the loudspeaker has been silent for QUIET_AFTER_S."""
        return self._clock() - self._sounded_at > QUIET_AFTER_S

    @property
    def waiting_s(self) -> float:
        """Seconds of sound that are queued for `take`."""
        return len(self._waiting) / MIC_RATE

    def put(self, samples: Samples, rate: int) -> None:
        """Add the samples that the loudspeaker plays. Called on the audio thread. Needs no lock,
        because a deque's `append` is atomic."""
        if samples.any():
            self._sounded_at = self._clock()
        self._arrived.append((samples, rate))

    def take(self) -> Samples:
        """Remove and return the next BLOCK samples at 16 kHz. Samples that have not arrived are
        zeros."""
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
        """Cut samples that arrived late, to restore the alignment. If samples are often late, keep
        the new alignment instead."""
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
        """Measure the excess delay of the reference, and reset the counts of late samples. Called
        once per second."""
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
    """Cancels echo with AEC3 and its high-pass filter. Idle while the loudspeaker is silent.

    Args:
        latency_s: the sum of both devices' latency, in seconds. AEC3 refines this estimate.
        clock: returns monotonic seconds.

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
"""Number of samples per comparison. The delay between the devices hardly changes in so short a
time."""
LIKENESS_LONGEST = 6 * MIC_RATE
"""Maximum number of samples that are compared."""
LONGEST_DELAY = MIC_RATE // 2
"""Maximum delay between playing and hearing a sound, in samples."""


def echo_similarity(heard: Samples, played: Samples) -> float:
    """Estimate how much of the sound in `heard` is an echo of `played`. Only the last six seconds
    are compared.

    The estimate is in [0, 1]. It is the greatest correlation over delays of up to half a second. It
    is computed for spans of two seconds and averaged, weighted by energy. The user's speech scores
    up to 0.17, even if the assistant's voice is heard at half its loudness. While the canceller is
    still adapting, the assistant's voice alone scores 0.3 to 1 through a sound server and 0.2 to
    0.5 in a reverberant room.

    Args:
        heard: 16 kHz sound from the microphone, after echo cancellation.
        played: the loudspeaker's sound, of the same length; zeros where it was silent.
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
    """Return the greatest correlation of `part` with any window of the same length in `before`.
    `before` is LONGEST_DELAY samples longer than `part`."""
    size = 1 << (len(before) - 1).bit_length()  # circular, but delays up to LONGEST_DELAY fit
    products = np.fft.irfft(np.fft.rfft(before, size) * np.conj(np.fft.rfft(part, size)), size)
    sums = np.concatenate([[0.0], np.cumsum(before.astype(np.float64) ** 2)])
    runs = sums[len(part) :] - sums[: -len(part)]
    scale = np.sqrt(np.maximum(runs, sums[-1] / 100) * float(np.dot(part, part)))
    correlations = np.abs(products[: LONGEST_DELAY + 1]) / np.maximum(scale, 1e-9)
    return min(1.0, float(correlations.max()))
