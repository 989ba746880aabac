"""Damaged EDF headers: an error of ours or a recording, nothing else; and nobody's name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuroveil.errors import RecordingError
from neuroveil.recordings import ReadOptions, inspect_recording, opened_recording

HEADER_BYTES = 256 * 4
OPTIONS = ReadOptions(channels=("Fp1", "Cz"))


@pytest.fixture
def plain_bytes(signal, write_edf):
    path = write_edf([signal("EEG Fp1", 512), signal("EEG Cz", 512)], onsets=["+0", "+9"],
                     variant="+D")  # fmt: skip
    return path.read_bytes()


patches = st.lists(
    st.tuples(
        st.integers(0, HEADER_BYTES + 200),
        st.one_of(
            st.binary(min_size=1, max_size=12),
            st.integers(-(10**7), 10**8).map(lambda n: str(n).ljust(8).encode()),
            st.floats(allow_nan=True).map(lambda x: f"{x:.2g}".ljust(8).encode()),
        ),
    ),
    min_size=1, max_size=6,
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(patches=patches, length=st.integers(0, 5000))
def test_no_damage_does_anything_but_refuse(plain_bytes, tmp_path, canary, patches, length):
    data = bytearray(plain_bytes)
    for position, patch in patches:
        data[position : position + len(patch)] = patch
    path = tmp_path / "canarypath.edf"
    path.write_bytes(bytes(data[: max(length, len(data) - length)]))
    refusal = None
    try:
        with opened_recording(path, OPTIONS) as recording:
            for segment in recording.segments:
                values = segment.read(0, segment.n_times)
                assert values.shape == (segment.n_channels, segment.n_times)
                assert values.dtype == np.float32
            assert canary not in repr(recording)
    except RecordingError as error:
        refusal = error
    assert canary not in str(refusal) + repr(refusal)
    assert "canarypath" not in str(refusal)


@pytest.mark.parametrize("variant", ["+C", "+D"])
def test_names_in_the_header_go_nowhere(signal, write_edf, canary, variant, caplog, capfd):
    path = write_edf(
        [signal("EEG Fp1", 512), signal(canary, 512), signal(f"EOG {canary[:8]}", 512)],
        onsets=["+0", "+9"], variant=variant, name=f"{canary}.edf",
    )  # fmt: skip
    with opened_recording(path, OPTIONS) as recording:
        public = {k: v for k, v in vars(recording).items() if k != "segments"}
        assert canary[:8] not in repr(public)
    assert canary[:8] not in repr(inspect_recording(path, OPTIONS))
    assert canary[:8] not in caplog.text + "".join(capfd.readouterr())


@pytest.mark.parametrize(
    "options",
    [ReadOptions(channels=("O1",)), ReadOptions(channels=("Fp1",), unit_override="V")],
)
def test_names_are_not_in_refusals(signal, write_edf, canary, options):
    path = write_edf([signal("EEG Fp1", 512), signal(canary, 512)], name=f"{canary}.edf")
    with pytest.raises(RecordingError) as caught:
        inspect_recording(path, options)
    assert canary not in str(caught.value) + repr(caught.value.as_dict())


@pytest.mark.parametrize(
    "text", ["Müller", "患者".encode("gbk"), "Ø".encode(), b"\xff\xfe\x00\x01", b"\x00" * 40]
)
def test_patient_fields_in_any_encoding_do_not_matter(signal, write_edf, read_all, text):
    field = text.encode("latin-1") if isinstance(text, str) else text
    path = write_edf([signal("Fp1", 512)], header={"patient": field, "recording": field})
    assert read_all(path)[0].ch_names == ("Fp1",)
