"""The worker as a process beside the server: started with it, and again where it has ended."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from neuroveil.deploy.server.consortium.vault import open_vault
from neuroveil.deploy.server.consortium.worker import Worker
from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.logs import log
from neuroveil.deploy.server.settings import load_settings
from neuroveil.deploy.server.setup import server_key

_SECONDS_BEFORE_ANOTHER = 1.0
_SECONDS_TO_END = 60.0


def work(folder: Path) -> None:
    """Do a server's jobs in this process until the one that started it has ended.

    Parameters
    ----------
    folder : Path
        The server's folder.

    Raises
    ------
    StudyError
        If settings or keys cannot be used.
    """
    settings = load_settings(folder)
    database = Database(settings.database_location)
    database.create()
    Worker(settings, database, open_vault(settings), server_key(folder)).run()


@contextmanager
def background_worker(folder: Path) -> Iterator[None]:
    """Keep one worker process running while a block runs.

    Parameters
    ----------
    folder : Path
        The server's folder.

    Yields
    ------
    None
        The worker ends by itself when this process does, however it does; a job that it was
        doing is finished first.
    """
    is_over = threading.Event()
    command = [sys.executable, "-m", "neuroveil", "serve", "work", str(folder)]
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL)]

    def watch() -> None:
        while not is_over.is_set():
            running[0].wait()
            if is_over.wait(_SECONDS_BEFORE_ANOTHER):
                return
            log("worker.ended", code=str(running[0].returncode))
            running[0] = subprocess.Popen(command, stdout=subprocess.DEVNULL)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        is_over.set()
        running[0].terminate()
        try:
            running[0].wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            running[0].kill()
