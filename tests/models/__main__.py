"""Write the stored files that are missing, and what must come of them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

from lowregret.store.kinds import load
from tests.models.arithmetic import arithmetic
from tests.models.examples import EXAMPLES, figures, numbers

FOLDER = Path(__file__).parent
RECORDED = FOLDER / "recorded.json"


def main() -> None:
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    warnings.simplefilter("ignore")
    for name, example in EXAMPLES.items():
        path = FOLDER / f"{name}.lr"
        if not path.exists():
            example.write(path)
            thing = load(path)
            thing.compiled = False
            recorded[name] = figures(thing) | {"more": numbers(example.more(thing)), "arithmetic": arithmetic()}
            print(f"{path.name}: {path.stat().st_size:,} bytes")
    RECORDED.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
