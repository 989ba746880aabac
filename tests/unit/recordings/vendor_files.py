"""Writers of minimal files in recorders' own formats, from the descriptions of the formats.

Every writer takes channels x samples in microvolts with the names of :data:`NAMES` at 250 Hz,
gives the path, and puts :data:`CANARY` wherever a patient's name could stand.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

import numpy as np

NAMES = ("Fp1", "T3", "ECG")
SFREQ = 250
STEP = 0.1
CANARY = "CANARYNAME7F3A"

_STEPS = 32767


def counts(values: np.ndarray, step: float = STEP) -> np.ndarray:
    """Whole steps of the converter."""
    return np.round(values / step).astype(np.int64)


def write_gdf(
    folder: Path,
    values: np.ndarray,
    unit: str | int = "uV",
    version: str = "1.25",
    segments: Sequence[int] = (),
    samples: Sequence[int] | None = None,
) -> Path:
    """GDF 1.25 or 2.20 with records of one second; ``segments`` are starts, from one."""
    n = len(values)
    per_record = list(samples or [SFREQ] * n)
    n_records = values.shape[1] // SFREQ
    modern = version >= "2"
    limit = _STEPS * STEP
    data = f"GDF {version}".encode()
    if modern:
        data += f"X {CANARY}".encode().ljust(66) + bytes(10 + 4)
        data += CANARY.encode().ljust(64) + bytes(4 + 12 + 8 + 8)
        data += struct.pack("<H", n + 1) + bytes(6 + 8 + 6 + 6 + 12 + 12)
    else:
        data += f"X {CANARY}".encode().ljust(80) + CANARY.encode().ljust(80)
        data += b"2020010100000000" + struct.pack("<q", 256 * (n + 1)) + bytes(24 + 20)
    data += struct.pack("<qII", n_records, 1, 1)
    data += struct.pack("<HH", n, 0) if modern else struct.pack("<I", n)
    data += b"".join(name.encode().ljust(16) for name in NAMES[:n]) + bytes(80 * n)
    if modern:
        data += bytes(6 * n) + struct.pack(f"<{n}H", *[unit] * n)
    else:
        data += str(unit).encode().ljust(8) * n
    kind = "d" if modern else "q"
    data += struct.pack(f"<{n}d", *[-limit] * n) + struct.pack(f"<{n}d", *[limit] * n)
    data += struct.pack(f"<{n}{kind}", *[-_STEPS] * n) + struct.pack(f"<{n}{kind}", *[_STEPS] * n)
    data += bytes((68 + 12) * n) if modern else bytes(80 * n)
    data += struct.pack(f"<{n}i", *per_record) + struct.pack(f"<{n}i", *[3] * n)  # int16
    data += bytes((12 + 20) * n) if modern else bytes(32 * n)
    assert len(data) == 256 * (n + 1)
    steps = counts(values).astype("<i2")
    for record in range(n_records):
        for channel, length in zip(steps, per_record, strict=True):
            piece = channel[record * SFREQ : (record + 1) * SFREQ]
            data += np.resize(piece, length).tobytes()
    count = len(segments)
    if modern:
        data += b"\x01" + struct.pack("<I", count)[:3] + struct.pack("<f", SFREQ)
    else:
        data += b"\x01" + struct.pack("<I", SFREQ)[:3] + struct.pack("<I", count)
    data += struct.pack(f"<{count}I", *segments) + struct.pack(f"<{count}H", *[0x7FFE] * count)
    path = folder / "a.gdf"
    path.write_bytes(data)
    return path


def write_neuroscan(folder: Path, values: np.ndarray, dtype: str = "<i2") -> Path:
    """Neuroscan continuous file: SETUP, ELECTLOC a channel, samples, an empty event table."""
    n, n_times = values.shape
    setup = bytearray(900)
    setup[0:12] = b"Version 3.0\x00"
    setup[121 : 121 + len(CANARY)] = CANARY.encode()
    start = 900 + 75 * n
    width = np.dtype(dtype).itemsize
    for position, layout, value in (
        (370, "<H", n), (376, "<H", SFREQ), (864, "<i", n_times),
        (886, "<i", start + n * n_times * width),
    ):  # fmt: skip
        struct.pack_into(layout, setup, position, value)
    data = bytes(setup)
    for name in NAMES[:n]:
        electrode = bytearray(75)
        electrode[: len(name)] = name.encode()
        struct.pack_into("<f", electrode, 59, STEP * 204.8)
        struct.pack_into("<f", electrode, 71, 1.0)
        data += electrode
    data += counts(values).T.astype(dtype).tobytes()
    path = folder / "a.cnt"
    path.write_bytes(data + struct.pack("<Bii", 1, 0, 0))
    return path


def write_persyst(
    folder: Path,
    values: np.ndarray,
    times: Sequence[tuple[int, float]] = ((0, 3600.0),),
    kind: int = 0,
    patient: str = f"[Patient]\nFirst={CANARY}\nBirthDate=01/02/70\nSex=M\nHand=R\n"
    "TestDate=01/01/2020\nTestTime=10:00:00\n",
) -> Path:
    """Persyst header and samples; ``times`` is the table of sample times."""
    names = "\n".join(f"{name}-Ref={i}" for i, name in enumerate(NAMES[: len(values)], start=1))
    table = "\n".join(f"{sample}={seconds:.6f}" for sample, seconds in times)
    (folder / "a.lay").write_text(
        f"[FileInfo]\nFile=C:\\somewhere\\a.dat\nFileType=Interleaved\nSamplingRate={SFREQ}\n"
        f"HeaderLength=0\nCalibration={STEP}\nWaveformCount={len(values)}\nDataType={kind}\n"
        f"[ChannelMap]\n{names}\n{patient}[SampleTimes]\n{table}\n[Comments]\n"
        f"1.0,0.0,0,0,{CANARY}\n"
    )
    dtype = "<i2" if kind == 0 else "<i4"
    (folder / "a.dat").write_bytes(counts(values).T.astype(dtype).tobytes())
    return folder / "a.lay"


def write_micromed(
    folder: Path, values: np.ndarray, unit: int = 0, gaps: Sequence[tuple[int, int]] = ()
) -> Path:
    """Micromed System Plus file, header type 4; ``gaps`` are (time, sample) of stretches."""
    n, _ = values.shape
    areas = (
        "ORDER", "LABCOD", "NOTE", "FLAGS", "TRONCA", "IMPED_B", "IMPED_E", "MONTAGE", "COMPRESS",
        "AVERAGE", "HISTORY", "DVIDEO", "EVENT A", "EVENT B", "TRIGGER",
    )  # fmt: skip
    lengths = {"ORDER": 512, "LABCOD": 128 * 16, "TRONCA": 808}
    data = bytearray(640)
    data[0:31] = b"* MICROMED  Brain-Quick file *\x00"
    data[64 : 64 + len(CANARY)] = CANARY.encode()
    data[128:134] = bytes((1, 1, 120, 10, 0, 0))
    data[175] = 4
    position = 640
    where = {}
    for number, name in enumerate(areas):
        length = lengths.get(name, 64)
        struct.pack_into("<8sII", data, 176 + 16 * number, name.encode().ljust(8), position, length)
        where[name] = position
        position += length
    struct.pack_into("<IHHHH", data, 138, position, n, n * 2, SFREQ, 2)
    data += bytes(position - 640)
    ground = 32768
    for channel, name in enumerate(NAMES[:n]):
        struct.pack_into("<H", data, where["ORDER"] + 2 * channel, channel + 1)
        start = where["LABCOD"] + 128 * (channel + 1)
        data[start + 2 : start + 2 + len(name)] = name.encode()
        data[start + 8 : start + 11] = b"G2\x00"
        struct.pack_into("<5i", data, start + 14, 0, 65535, ground, 0, round(65536 * STEP))
        struct.pack_into("<h", data, start + 34, unit)
        struct.pack_into("<H", data, start + 44, 1)
    for row, pair in enumerate(gaps):
        struct.pack_into("<II", data, where["TRONCA"] + 8 * row, *pair)
    steps = counts(values, micromed_step()) + ground
    path = folder / "a.TRC"
    path.write_bytes(bytes(data) + steps.T.astype("<u2").tobytes())
    return path


def write_brainvision(
    folder: Path,
    values: np.ndarray,
    *,
    names: tuple[str, str, str] = ("a.vhdr", "a.eeg", "a.vmrk"),
    stated: tuple[str, str] | None = None,
    unit: str = "µV",
    resolution: float = STEP,
    markers: Sequence[tuple[str, int]] = (),
    encoding: str = "utf-8",
) -> Path:
    """BrainVision header, samples and markers, as the core format 1.0 words them.

    ``names`` are those of the files, ``stated`` what the header says instead of the last two.
    """
    data_file, marker_file = stated or names[1:]
    channels = "\n".join(
        f"Ch{i}={name},,{resolution},{unit}" for i, name in enumerate(NAMES[: len(values)], start=1)
    )
    (folder / names[0]).write_text(
        "Brain Vision Data Exchange Header File Version 1.0\n\n[Common Infos]\n"
        f"Codepage={encoding.upper()}\nDataFile={data_file}\nMarkerFile={marker_file}\n"
        "DataFormat=BINARY\nDataOrientation=MULTIPLEXED\n"
        f"NumberOfChannels={len(values)}\nSamplingInterval={1e6 / SFREQ:g}\n\n"
        f"[Binary Infos]\nBinaryFormat=INT_16\n\n[Channel Infos]\n{channels}\n",
        encoding=encoding,
    )
    lines = "\n".join(
        f"Mk{i}={kind},,{position},1,0" for i, (kind, position) in enumerate(markers, start=1)
    )
    (folder / names[2]).write_text(
        "Brain Vision Data Exchange Marker File, Version 1.0\n\n[Common Infos]\n"
        f"Codepage=UTF-8\nDataFile={data_file}\n\n[Marker Infos]\n{lines}\n",
        encoding="utf-8",
    )
    counts(values).T.astype("<i2").tofile(folder / names[1])
    return folder / names[0]


def write_curry(
    folder: Path, values: np.ndarray, *, unit: str = "uV", trials: int = 1, ending: str = ".dpa"
) -> Path:
    """Curry 8 samples in single precision, with the file of parameters and labels."""
    n, n_times = values.shape

    def section(name: str, lines: Sequence[str]) -> str:
        body = "\n".join(lines)
        return f"{name} START\n{name} END\n\n{name} START_LIST\n{body}\n{name} END_LIST\n\n"

    (folder / f"a.cdt{ending}").write_text(
        f"DATA_PARAMETERS START\n FileVersion = 804\n NumSamples = {n_times // trials}\n"
        f" NumChannels = {n}\n NumTrials = {trials}\n SampleFreqHz = {SFREQ}\n"
        f" TriggerOffsetUsec = 0\n SampleTimeUsec = {1e6 / SFREQ:g}\n"
        " DataFormat = FLOAT\n DataSampOrder = SAMP\n DataByteOrder = INTEL\n"
        " StartYear = 2020\n StartMonth = 1\n StartDay = 1\n StartHour = 0\n StartMin = 0\n"
        f" StartSec = 0\n StartMillisec = 0\n AmplifierInfo = {CANARY}\nDATA_PARAMETERS END\n\n"
        f"DEVICE_PARAMETERS START\n DataUnit = {unit}\n NumChanThisGroup = {n}\n"
        "DEVICE_PARAMETERS END\n\n"
        + section("LABELS", NAMES[:n])
        + section("SENSORS", [f"{i}.0\t50.0\t80.0" for i in range(n)])
        + (section("EPOCH_LABELS", [f"e{i}" for i in range(trials)]) if trials > 1 else "")
        + (section("EPOCH_INFORMATION", ["1 1 1 1 1 0 0"] * trials) if trials > 1 else "")
    )
    (folder / "a.cdt").write_bytes(np.ascontiguousarray(values.T, "<f4").tobytes())
    return folder / "a.cdt"


def write_mff(folder: Path, values: np.ndarray, epochs: Sequence[tuple[int, int]] = ()) -> Path:
    """EGI folder, version 3; ``epochs`` are first and last sample on the recorder's clock."""
    n, n_times = values.shape
    target = folder / "a.mff"
    target.mkdir()
    sensors = "".join(
        f"<sensor><name/><number>{i + 1}</number><type>0</type></sensor>" for i in range(n)
    )
    listed, block = "", 1
    for first, last in epochs or [(0, n_times)]:
        times = [1_000_000 * sample // SFREQ for sample in (first, last)]
        listed += (
            f"<epoch><beginTime>{times[0]}</beginTime><endTime>{times[1]}</endTime>"
            f"<firstBlock>{block}</firstBlock><lastBlock>{block}</lastBlock></epoch>"
        )
        block += 1
    for name, kind, namespace, content in (
        ("info", "fileInfo", "info_mff", "<mffVersion>3</mffVersion>"
         "<recordTime>2020-01-01T00:00:00.000000+00:00</recordTime>"),
        ("info1", "dataInfo", "info_n_mff", "<generalInformation><fileDataType><EEG/>"
         "</fileDataType></generalInformation><filters/><calibrations/>"),
        ("epochs", "epochs", "epochs_mff", listed),
        ("sensorLayout", "sensorLayout", "sensorLayout_mff",
         f"<name>net</name><sensors>{sensors}</sensors>"),
        ("subject", "patient", "subject_mff", f"<fields><field><name>{CANARY}</name></field>"
         "</fields>"),
    ):  # fmt: skip
        (target / f"{name}.xml").write_text(
            f'<?xml version="1.0" encoding="UTF-8"?>\n<{kind} xmlns="http://www.egi.com/'
            f'{namespace}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">{content}</{kind}>'
        )
    data, start = b"", 0
    for first, last in epochs or [(0, n_times)]:
        samples = values[:, start : start + last - first].astype("<f4")
        start += last - first
        offsets = [4 * samples.shape[1] * i for i in range(n)]
        head = (1, 4 * (5 + 2 * n), samples.nbytes, n, *offsets, *[SFREQ << 8 | 32] * n, 0)
        data += struct.pack(f"<{len(head)}i", *head) + samples.tobytes()
    (target / "signal1.bin").write_bytes(data)
    return target


def write_ant(folder: Path, values: np.ndarray) -> Path:
    """ANT Neuro file, written by the maker's own library, which antio brings along."""
    library = next(Path(str(import_module("antio.libeep").__file__)).parent.glob("libEep.*"))
    eep = ctypes.CDLL(str(library))
    eep.libeep_init()
    channels, info = eep.libeep_create_channel_info(), eep.libeep_create_recinfo()
    eep.libeep_set_patient_name(info, CANARY.encode())
    for name in NAMES[: len(values)]:
        eep.libeep_add_channel(channels, name.encode(), b"ref", b"uV")
    path = folder / "a.cnt"
    file = eep.libeep_write_cnt(str(path).encode(), SFREQ, channels, 0)
    eep.libeep_add_recording_info(file, info)
    samples = np.ascontiguousarray(values.T, np.float32)
    eep.libeep_add_samples(
        file, samples.ctypes.data_as(ctypes.POINTER(ctypes.c_float)), len(samples)
    )
    eep.libeep_close(file)
    return path


def micromed_step() -> float:
    """Microvolts a step that the writer's whole physical numbers give."""
    return round(65536 * STEP) / 65536


def write_egi(folder: Path, values: np.ndarray, kind: int = 4) -> Path:
    """EGI simple binary: version 4 holds microvolts, version 2 steps of a range."""
    n, n_times = values.shape
    bits, span = (0, 0) if kind == 4 else (14, round(2**14 * STEP))
    data = struct.pack(">i6hi", kind, 2020, 1, 1, 0, 0, 0, 0)
    data += struct.pack(">5hih", SFREQ, n, 1, bits, span, n_times, 0)
    stored = values if kind == 4 else counts(values, span / 2**14)
    path = folder / "a.raw"
    path.write_bytes(data + stored.T.astype(">f4" if kind == 4 else ">i2").tobytes())
    return path


def write_nicolet(folder: Path, values: np.ndarray) -> Path:
    """Nicolet samples with a header of text."""
    n, n_times = values.shape
    (folder / "a.head").write_text(
        f"start_ts=2020-01-01 00:00:00.000000\nnum_samples={n_times}\nsample_freq={SFREQ}\n"
        f"conversion_factor={STEP}\nnum_channels={n}\nelec_names=[{','.join(NAMES[:n])}]\n"
        f"pat_id=1\nadm_id=1\nrec_id=1\nduration_in_sec={n_times / SFREQ}\n"
    )
    (folder / "a.data").write_bytes(counts(values).T.astype("<i2").tobytes())
    return folder / "a.data"


def write_nihon_kohden(
    folder: Path, values: np.ndarray, blocks: Sequence[int] = (), names: str = "a.21E"
) -> Path:
    """Nihon Kohden waveform file; ``blocks`` are lengths in samples, ``names`` the label file."""
    n, n_times = values.shape
    version, lengths = b"EEG-1100A V01.00", list(blocks or [n_times])
    data = bytearray(0x1800)
    data[0:16] = data[0x81:0x91] = version
    data[0x17FE] = 1
    data[0x91] = 1
    control = 0x400
    struct.pack_into("<I", data, 0x92, control)
    data[control + 17] = len(lengths)
    step = 6399.902 / 65535
    offset = -3200 + 32768 * step
    start = 0
    for number, length in enumerate(lengths):
        address = len(data)
        struct.pack_into("<I", data, control + 18 + 20 * number, address)
        head = bytearray(0x27 + 10 * n)
        struct.pack_into("<HI", head, 0x1A, 0xC000 | SFREQ, length * 10 // SFREQ)
        head[0x26] = n
        for channel in range(n):
            head[0x27 + 10 * channel] = 2 + channel
        steps = np.round((values[:, start : start + length] - offset) / step).astype(np.int64)
        stored = np.vstack([steps + 0x8000, np.zeros((1, length), np.int64)])
        data += head + stored.T.astype("<u2").tobytes()
        start += length
    (folder / names).write_text(
        "[ELECTRODE]\n" + "".join(f"{2 + i:04}={name}\n" for i, name in enumerate(NAMES[:n]))
    )
    path = folder / "a.EEG"
    path.write_bytes(bytes(data))
    return path


WRITERS: dict[str, Callable[..., Path]] = {
    "gdf": write_gdf, "neuroscan": write_neuroscan, "persyst": write_persyst,
    "micromed": write_micromed, "egi": write_egi, "nicolet": write_nicolet,
    "nihon_kohden": write_nihon_kohden, "brainvision": write_brainvision,
    "curry": write_curry, "ant": write_ant,
}  # fmt: skip
