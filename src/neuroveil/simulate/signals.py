"""Put the parts of one recording together."""

from __future__ import annotations

import numpy as np

from neuroveil.simulate import background, events
from neuroveil.simulate.truth import PatientTruth, SessionTruth
from neuroveil.types.recording import SignalArray


def render_session(
    rng: np.random.Generator, patient: PatientTruth, session: SessionTruth
) -> SignalArray:
    """Make the signals of one recording.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of random numbers; the same state gives the same recording.
    patient : PatientTruth
        Whose recording it is.
    session : SessionTruth
        What to plant.

    Returns
    -------
    ndarray of float32, shape (n_channels, n_times)
        In microvolts, one row for each of ``session.labels``.
    """
    scalp = background.ongoing_activity(rng, patient, session)
    blinks, eyes = events.blinks(rng, session)
    scalp += blinks
    scalp += events.epileptic_activity(rng, patient, session)
    scalp += events.muscle(rng, session)
    scalp += background.mains(rng, session)
    rows = [scalp]
    if "EOG" in session.kinds:
        # The eye electrodes also see the forehead's brain activity, but less of it.
        rows.append(eyes + 0.3 * (scalp[:2] - blinks[:2]))
    if "ECG" in session.kinds:
        rows.append(events.heartbeats(rng, session))
    signals = np.concatenate(rows)
    for label in session.flat_channels:
        signals[session.labels.index(label)] = 0.0
    return signals
