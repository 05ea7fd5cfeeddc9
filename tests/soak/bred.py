"""States bred by atheris: it watches which lines of the reader a state reaches, and changes those that reach new ones.

It runs in a process of its own, since it ends that process when it is done, and it does not come with "make venv": it
has no wheels for every machine. `pip install -e '.[fuzz]'` gets it.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests import damage
from tests.house import ROOT
from tests.soak.hunt import Caught

PROGRAM = """
import sys
import atheris
with atheris.instrument_imports(include=["eddy"]):
    import eddy
    from eddy.engine.snapshot import FORMAT, Snapshot, unpack
    from tests.damage import sealed

def one(data):
    given = atheris.FuzzedDataProvider(data)
    right = given.ConsumeBool()
    meta = given.ConsumeUnicodeNoSurrogates(given.ConsumeIntInRange(0, 2_000))
    blob = given.ConsumeBytes(1 << 20)
    try:
        unpack(sealed(meta, blob) if right else Snapshot(FORMAT, meta, blob))
    except eddy.CheckpointError:
        pass

atheris.Setup(sys.argv, one)
atheris.Fuzz()
"""

LONGEST = 20_000
"""Bytes of an input."""


def run(seed: int, runs: int) -> Caught:
    """Try so many; none, and a word for it, where atheris is not installed."""
    if importlib.util.find_spec("atheris") is None:
        return Caught(name="atheris", words=Counter(), told="not installed")
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        whole = damage.saved("content")
        (place / "whole").write_bytes(b"\1" + damage.written_in(whole).encode() + whole.blob)
        options = (f"-runs={runs}", f"-seed={seed + 1}", f"-max_len={LONGEST}", "-rss_limit_mb=4000", str(place))
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *options], cwd=ROOT, capture_output=True, text=True, check=False
        )
    tried = re.search(r"Done (\d+) runs", done.stderr)
    words = Counter({"read or refused": int(tried[1]) if tried else 0})
    failures = {} if done.returncode == 0 and tried else {0: done.stderr[-4_000:]}
    return Caught(name="atheris", words=words, failures=failures, seconds=time.perf_counter() - began)
