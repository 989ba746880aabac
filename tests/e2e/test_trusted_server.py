"""Three hospitals, one person in two of them, and a trusted server: real processes over TLS."""

import contextlib
import csv
import io
import json
import shutil
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from neuroveil.cli.app import run
from neuroveil.keys import create_key, sealing
from neuroveil.linkage.encoded_list import read_encoded
from neuroveil.simulate import CohortSpec, simulate_cohort

pytestmark = pytest.mark.slow

CANARY = "CANARY7f3a"
SPEC = CohortSpec(n_patients=12, n_hospitals=1, n_sessions=1, seconds=12.0, seed=5)
HOSPITALS = {"North": range(5), "South": range(5, 9), "West": range(9, 12)}
NUMBERS = [f"{100000 + row}" for row in range(12)]
NUMBERS[9] = NUMBERS[0]  # West's first patient is North's first one
N_PEOPLE = 11
PEOPLE = {
    "North admin": ("site-administrator", "North"),
    "South admin": ("site-administrator", "South"),
    "West admin": ("site-administrator", "West"),
    "investigator": ("principal-investigator", None),
    "reviewer": ("reviewer", None),
    "auditor": ("auditor", None),
}
SCHEMA = """\
name = "three hospitals"
[identifier]
column = "number"
scheme = "project"
pattern = "[0-9]{6}"
"""
STUDY = """\
[input]
layout = "bids"
folder = "cohort"
population = "adults"
[montage]
channels = ["Cz", "Pz", "Oz"]
[features]
names = ["alpha_power", "beta_power"]
"""
SERVER = """\
[server]
address = "https://127.0.0.1:{port}"
key = "../{hospital}.key"
ca = "../server/ca.pem"
server_key = "../server.pub"
study = "three"
encoded = "encoded"
"""


@dataclass
class World:
    """A server, three hospitals' folders, and everybody's keys."""

    root: Path
    port: int

    @property
    def server(self) -> Path:
        return self.root / "server"

    def way(self, who: str) -> tuple[str, ...]:
        key, ca = self.root / f"{who}.key", self.server / "ca.pem"
        return ("--to", f"https://127.0.0.1:{self.port}", "--key", str(key), "--ca", str(ca))


def start(world: World, log: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "neuroveil", "serve", "run", str(world.server)]
    with log.open("ab") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=stream)
    context = ssl.create_default_context(cafile=world.server / "ca.pem")
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            with closing(
                HTTPSConnection("127.0.0.1", world.port, timeout=10, context=context)
            ) as c:
                c.request("GET", "/healthz")
                if c.getresponse().status == 200:
                    return process
        except OSError:
            time.sleep(0.1)
    process.kill()
    raise AssertionError("the server did not start")


def command(*words: object) -> tuple[int, str]:
    """Run one command in this process; what it says on both streams."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run([*map(str, words), "--json"])
    return code, out.getvalue() + err.getvalue()


def must(*words: object) -> dict:
    code, text = command(*words)
    assert code == 0, text
    return json.loads(text.splitlines()[0])


@pytest.fixture(scope="module")
def world(tmp_path_factory, free_port) -> World:
    """Hospitals with cohort, encoded list and key; a server that knows all keys."""
    world = World(tmp_path_factory.mktemp("trusted"), free_port())
    root = world.root
    simulate_cohort(root / "cohort", SPEC)
    names = sorted(path.name for path in (root / "cohort").glob("sub-*"))
    (root / "linkage.toml").write_text(SCHEMA)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sealing, "SCRYPT_COST", 1 << 10)
        patch.setenv("NEUROVEIL_KEY_PASSPHRASE", "three hospitals trust one server")
        must("link", "keygen", root / "linkage.keystore")
        for hospital, rows in HOSPITALS.items():
            numbers = [NUMBERS[row] for row in rows]
            keep_hospital(world, hospital, [names[row] for row in rows], numbers)
            folder = root / hospital
            must("link", "encode", folder / "list.csv", "--schema", root / "linkage.toml", "--key",
                 root / "linkage.keystore", "--out", folder / "encoded")  # fmt: skip
            must("extract", folder / "study.toml", "--workers", 1)
        patch.delenv("NEUROVEIL_KEY_PASSPHRASE")
        made = must(
            "serve", "init", world.server, "--study", root / "North" / "study.toml", "--name",
            "three", "--port", world.port, "--trusted", "--budget-epsilon", "4",
            "--budget-delta", "1e-3", "--smallest", "8",
        )  # fmt: skip
    (root / "server.pub").write_text(made["public_key"])
    # Keys are made without a passphrase: the tests are about what they sign.
    for who in (*HOSPITALS, *PEOPLE):
        public = root / f"{who}.pub"
        public.write_text(create_key(root / f"{who}.key").public_key)
        if who in HOSPITALS:
            must("serve", "hospital", "add", world.server, "--name", who, "--public-key", public)
            continue
        role, site = PEOPLE[who]
        extra = ("--hospital", site) if site else ()
        must("serve", "person", "add", world.server, "--name", who, "--role", role,
             "--public-key", public, *extra)  # fmt: skip
    return world


def keep_hospital(world: World, hospital: str, names: list[str], numbers: list[str]) -> None:
    """Give a hospital its patients, under keys that cannot be overlooked."""
    folder = world.root / hospital
    cohort = folder / "cohort"
    cohort.mkdir(parents=True)
    for name in names:
        shutil.copytree(world.root / "cohort" / name, cohort / name)
    for path in sorted(cohort.rglob("*sub-*"), key=lambda path: -len(path.parts)):
        path.rename(path.with_name(path.name.replace("sub-", f"sub-{CANARY}")))
    keys = [name.replace("sub-", f"sub-{CANARY}") for name in names]
    table = pd.read_csv(world.root / "cohort" / "participants.tsv", sep="\t", dtype=str)
    table = table[table.participant_id.isin(names)].assign(participant_id=keys)
    table.to_csv(cohort / "participants.tsv", sep="\t", index=False)
    with (folder / "list.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("patient", "number"), *zip(keys, numbers, strict=True)])
    way = SERVER.format(port=world.port, hospital=hospital)
    (folder / "study.toml").write_text(STUDY + way)


@pytest.fixture(scope="module")
def log(world) -> Path:
    return world.root / "log"


@pytest.fixture(scope="module")
def running(world, log) -> Iterator[None]:
    process = start(world, log)
    yield
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=120)


def rows(world: World, hospital: str, kind: str) -> tuple[object, ...]:
    # The study file says the way to the server.
    return ("submit", world.root / hospital / "study.toml", "--rows", kind)


def start_sending(world: World, hospital: str) -> subprocess.Popen[str]:
    words = map(str, rows(world, hospital, "features"))
    return subprocess.Popen(
        [sys.executable, "-m", "neuroveil", *words, "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def everything_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


@pytest.mark.usefixtures("running")
def test_from_a_proposal_to_a_published_release(world, log):  # noqa: PLR0915
    """All roles, step by step; then everything is searched for what must not be in it."""
    root, said = world.root, []

    def act(who: str, *words: object, code: int = 0) -> dict:
        ended, text = command("consortium", *words, *world.way(who))
        said.append(text)
        assert ended == code, text
        return json.loads(text.splitlines()[0])

    def send(hospital: str, kind: str, code: int = 0) -> dict:
        ended, text = command(*rows(world, hospital, kind))
        said.append(text)
        assert ended == code, text
        return json.loads(text.splitlines()[0])

    study = root / "North" / "study.toml"
    proposal = ("propose", "three", "--study-file", study, "--title", "Alpha and beta power")
    sites = [word for hospital in HOSPITALS for word in ("--hospital", hospital)]
    act("reviewer", *proposal, *sites, code=2)
    act("investigator", *proposal, *sites, "--smallest", "7", code=4)
    act("investigator", *proposal, *sites)
    send("North", "roster", code=2)  # a site that has not approved blocks all
    for hospital in HOSPITALS:
        status = act(f"{hospital} admin", "approve", "three")
    assert status["state"] == "collecting"

    shown = must(*rows(world, "North", "features"), "--dry-run")
    names = [each["name"] for each in shown["fields"]]
    assert names[:3] == ["global_id", "n_windows", "seconds"]
    assert (len(names), shown["rows"], shown["sent"]) == (9, 5, False)
    send("North", "features", code=2)  # no feature before all rosters are closed
    for hospital in HOSPITALS:
        send(hospital, "roster")
    status = act("investigator", "status", "three")
    assert status["linked"] == {"n_patients": N_PEOPLE, "n_hospitals": 3}
    act("investigator", "request", "three", "--epsilon", "1", code=2)  # rows are missing
    sent = [start_sending(world, hospital) for hospital in HOSPITALS]  # three processes at once
    for process in sent:
        out, err = process.communicate(timeout=600)
        said.append(f"{out}{err}")
        assert process.returncode == 0, err
        assert json.loads(out)["receipt"]["kind"] == "features"

    act("investigator", "request", "three", "--epsilon", "99", code=4)
    asked = act("investigator", "request", "three", "--epsilon", "1")
    assert asked["n_patients"] == N_PEOPLE
    assert asked["trust_model"] in ("central", "shuffled")
    act("investigator", "review", "three", "--approve", code=2)
    shown = act("reviewer", "review", "three")
    assert shown["releases"][-1]["state"] == "requested"
    act("reviewer", "review", "three", "--approve", "--decline", code=2)
    act("reviewer", "review", "three", "--approve")
    deadline = time.monotonic() + 600
    while (status := act("auditor", "status", "three"))["holds_rows"]:
        assert time.monotonic() < deadline, log.read_text()
        assert status["releases"][-1]["state"] != "failed", status
        time.sleep(0.5)
    assert status["state"] == "published"

    out = root / "fetched"
    act("West", "fetch", "three", "--out", out, "--server-key", root / "server.pub")
    act("auditor", "fetch", "three", "--out", root / "not", code=2)
    must("verify", out)
    certificate = json.loads((out / "certificate.json").read_text())
    facts = {
        name: certificate["chain"][link][part]["value"]
        for name, link, part in (
            ("trust", "model", "trust"), ("dedup", "unit", "dedup"), ("n", "domain", "n"),
        )
    }  # fmt: skip
    assert facts == {"trust": asked["trust_model"], "dedup": "linked_pool", "n": N_PEOPLE}
    act("auditor", "audit-log", "--out", root / "audit.json", "--server-key", root / "server.pub")
    events = [each["event"] for each in json.loads((root / "audit.json").read_text())["entries"]]
    steps = ["study.proposed", "study.approved", "study.linked", "study.complete",
             "release.requested", "release.reviewed", "release.charged", "release.published",
             "rows.deleted"]  # fmt: skip
    assert [each for each in events if each in steps] == steps

    searched = "".join(said).encode() + log.read_bytes() + everything_of(out)
    searched += everything_of(world.server) + (root / "audit.json").read_bytes()
    ids = [
        each
        for hospital in HOSPITALS
        for each in read_encoded(root / hospital / "encoded" / "encoded.parquet").global_ids or ()
    ]
    assert len(ids) == 12
    words = [CANARY, *(each.rpartition(":")[2] for each in ids)]
    assert not [word for word in words if word.encode() in searched]
    values = np.concatenate([
        pd.read_parquet(path).select_dtypes("float").to_numpy().ravel()
        for path in root.rglob("features.parquet")
    ])  # fmt: skip
    assert values.size >= 60
    for number in values[~np.isin(values, [0.0, 12.0])]:
        assert np.float64(number).tobytes() not in searched


def learns(world: World, hospital: str) -> Path:
    """The same study of a hospital, under another name, with a label."""
    folder = world.root / hospital
    text = (folder / "study.toml").read_text()
    text = text.replace('study = "three"', 'study = "four"\nwith_label = true')
    (folder / "learn.toml").write_text(
        text + '[evaluation]\nlabel = "diagnosis"\npositive = ["epilepsy"]\n'
    )
    return folder / "learn.toml"


@pytest.mark.usefixtures("running")
def test_a_model_is_learned_from_all_hospitals_and_verified(world, log):
    """A study with a label on the same server, to a model whose chain and signature hold."""
    root = world.root
    studies = {hospital: learns(world, hospital) for hospital in HOSPITALS}

    def act(who: str, *words: object) -> dict:
        return must("consortium", *words, *world.way(who))

    sites = [word for hospital in HOSPITALS for word in ("--hospital", hospital)]
    act("investigator", "propose", "four", "--study-file", studies["North"], "--title", "Epilepsy",
        *sites, "--with-label")  # fmt: skip
    for hospital in HOSPITALS:
        status = act(f"{hospital} admin", "approve", "four")
    assert status["label"] == {"label": "diagnosis", "rule": "values", "positive": ["epilepsy"]}
    without = ("submit", root / "North" / "study.toml", "--rows", "roster", "--study", "four")
    code, text = command(*without)
    assert code != 0
    assert "label_digest" in text
    for kind in ("roster", "features"):
        for study in studies.values():
            must("submit", study, "--rows", kind)
    shown = must("submit", studies["North"], "--rows", "features", "--dry-run")
    assert [each["name"] for each in shown["fields"]][3] == "label"

    asked = act("investigator", "request", "four", "--epsilon", "1", "--mechanism", "dp_training")
    assert asked["n_patients"] == N_PEOPLE
    act("reviewer", "review", "four", "--approve")
    deadline = time.monotonic() + 600
    while (status := act("auditor", "status", "four"))["holds_rows"]:
        assert time.monotonic() < deadline, log.read_text()
        assert status["releases"][-1]["state"] != "failed", status
        time.sleep(0.5)
    assert status["state"] == "published"

    out, other = root / "model", root / "North.pub"
    fetch = ("consortium", "fetch", "four", *world.way("West"), "--out")
    assert command(*fetch, root / "not", "--server-key", other)[0] != 0
    assert not (root / "not").exists()
    must(*fetch, out, "--server-key", root / "server.pub")
    must("verify", out, "--public-key", root / "server.pub")
    must("federate", "verify", out)
    assert command("verify", out, "--public-key", other)[0] == 4
    result = json.loads((out / "result.json").read_text())
    assert result["plan_digest"] == asked["plan"]
    published = everything_of(out)
    for hospital in HOSPITALS:
        encoded = read_encoded(root / hospital / "encoded" / "encoded.parquet")
        for each in encoded.global_ids or ():
            assert each.rpartition(":")[2].encode() not in published
    assert CANARY.encode() not in published
    model = out / "model.safetensors"
    content = bytearray(model.read_bytes())
    content[-1] ^= 1  # one bit of one parameter
    model.write_bytes(content)
    assert command("verify", out, "--public-key", root / "server.pub")[0] == 4
