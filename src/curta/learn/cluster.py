"""Runs as tasks of a Ray cluster: `python -m curta.learn.cluster FOLDER...`.

This is a process of its own, in which JAX has not begun: Ray forks, and where JAX has threads a
fork may wait for ever. It joins the cluster that RAY_ADDRESS or the last `ray start --head` of the
machine names, or begins one. Ray's token is read as by Ray's own commands, from ~/.ray/auth_token
or RAY_AUTH_TOKEN. A task whose worker ends is begun again, and its run goes on from a checkpoint.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import logging
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from curta.errors import ExperimentError

if TYPE_CHECKING:
    from curta.learn.folder import RunFolder
    from curta.learn.runs import Listener

SECONDS_BETWEEN_LOOKS = 1.0


def check() -> None:
    """Raise an error where Ray is missing."""
    if importlib.util.find_spec("ray") is None:
        raise ExperimentError(
            "--cluster needs Ray: pip install 'curta[cluster]', or leave --cluster out"
        )


def run(folders: Sequence[RunFolder], listener: Listener) -> None:
    """All runs, wherever the cluster has room; the folders lie where all machines see them."""
    words = [sys.executable, "-m", __name__, *(str(one.path.resolve()) for one in folders)]
    shown: dict[Path, int] = {}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while process.poll() is None:
            time.sleep(SECONDS_BETWEEN_LOOKS)
            for folder in folders:
                show(folder, shown, listener)
        failed = process.stdout.read().splitlines()
    if process.returncode:
        raise ExperimentError("; ".join(failed) or f"Ray ended with code {process.returncode}")


def show(folder: RunFolder, shown: dict[Path, int], listener: Listener) -> None:
    """Tell how far a run is, if that is new: its metrics say so."""
    from curta.learn.training.loop import ChunkMetrics

    lines = folder.metrics
    if lines and lines[-1]["step"] != shown.get(folder.path):
        shown[folder.path] = lines[-1]["step"]
        names = [field.name for field in dataclasses.fields(ChunkMetrics)]
        listener.trains(ChunkMetrics(**{name: lines[-1][name] for name in names}), folder)


def run_in_task(path: str) -> None:
    """What a machine of the cluster does."""
    from curta.learn import runs
    from curta.learn.commands.shared import keep_compiled_programs
    from curta.learn.folder import RunFolder

    keep_compiled_programs()
    runs.run(RunFolder.open(Path(path)))


def main(paths: Sequence[str]) -> int:
    """A task for each run; those that fail are named when all others have ended."""
    token = Path.home() / ".ray" / "auth_token"
    if token.is_file() or {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys():
        # Ray itself looks for it where it begins a cluster, not where RAY_ADDRESS names one.
        os.environ.setdefault("RAY_AUTH_MODE", "token")
    import ray

    from curta.learn.cluster import run_in_task as task  # by its name: workers import curta

    try:
        ray.init(log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError) as error:
        print(f"{error}: is it there, and is ~/.ray/auth_token (or RAY_AUTH_TOKEN) its token?")
        return 1
    failed = 0
    waiting = {ray.remote(task).remote(path): path for path in paths}
    for reference, path in waiting.items():
        try:
            ray.get(reference)
        except ray.exceptions.RayError as error:
            failed = 1
            print(f"{path}: {getattr(error, 'cause', None) or error}".splitlines()[0])
    ray.shutdown()
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
