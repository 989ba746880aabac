"""Fifty workers of a trusted server, each killed at a random moment of its job."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time

import pytest
import sqlalchemy as sa

from neuroveil.deploy.server.tables import JOB

pytestmark = [pytest.mark.slow, pytest.mark.long]

N_KILLS = 50

WORKING = """
import sys
from pathlib import Path
from neuroveil.deploy.server.consortium.vault import open_vault
from neuroveil.deploy.server.consortium.worker import Worker
from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.settings import load_settings
from neuroveil.deploy.server.setup import server_key

folder = Path(sys.argv[1])
settings = load_settings(folder)
worker = Worker(
    settings, Database(settings.database_location), open_vault(settings), server_key(folder)
)
print("ready", flush=True)
worker.work_once()
"""


def test_the_ledger_is_never_below_what_was_released(templates, tmp_path, write_down):
    """A job killed by SIGKILL: what is on the disk was paid for, and nothing is paid for twice."""
    seconds = random.Random(8)
    found = {"killed": 0, "charged when killed": 0, "released when killed": 0, "published": 0,
             "failed": 0}  # fmt: skip
    for number in range(N_KILLS):
        place = tmp_path / str(number)
        shutil.copytree(templates["complete"], place)
        world = templates["make"](place / "server")
        world.request()
        release = world.review()
        process = subprocess.Popen(
            [sys.executable, "-c", WORKING, str(world.root)], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(seconds.uniform(0.0, 1.5))
        found["killed"] += process.poll() is None
        process.kill()
        process.wait()
        process.stdout.close()
        is_there = (world.settings.releases / release).exists()
        n_spends = len(world.spends())
        assert is_there <= n_spends <= 1
        found["charged when killed"] += n_spends
        found["released when killed"] += is_there
        with world.database.writing() as connection:
            connection.execute(sa.update(JOB).values(lease=0.0))
        world.worker.work_once()
        state = world.status()["releases"][0]["state"]
        assert len(world.spends()) == 1
        assert state == ("failed" if n_spends and not is_there else "published")
        found[state] += 1
        shutil.rmtree(place)
    assert found["killed"] >= N_KILLS // 2
    assert 0 < found["charged when killed"] < N_KILLS
    write_down("worker-kills", found)
