#!/usr/bin/env python3
"""Holds the #include lines of src/ and include/ against the table of layers.

A folder may include itself and what its row names; base, digest and work are
open to all rows below them. Prints each line that breaks the table.
"""

import pathlib
import re
import sys

# In the order of docs/architecture.md; a row never includes a later one.
MAY_INCLUDE = {
    "base": [],
    "digest": ["base"],
    "files": ["base"],
    "work": ["base"],
    "codec": ["base"],
    "readpool": ["digest", "files", "work"],
    "store": ["digest", "files", "work", "codec"],
    "rpc": ["proto"],
    "proto": [],
    "tree": ["files", "readpool", "store", "proto"],
    "actions": ["files", "store", "tree", "proto"],
    "transfer": ["files", "readpool", "store", "tree"],
    "reapi/wire": ["proto"],
    "reapi/server": ["store", "codec", "tree", "actions", "rpc", "proto",
                     "reapi/wire"],
    "config": ["base"],
    "assemble": ["files", "store", "actions", "config"],
    "cli": ["files", "store", "tree", "actions", "transfer", "assemble",
            "reapi/server", "rpc", "config"],
}
OPEN_TO_LATER_ROWS = ["base", "digest", "work"]

# Each public header counts as part of the folder that implements it.
PUBLIC = {
    "blob.h": "digest",
    "blob_store.h": "store",
    "bytes.h": "base",
    "context.h": "base",
    "digest.h": "digest",
    "io.h": "base",
    "progress.h": "base",
    "pull.h": "transfer",
    "push.h": "transfer",
    "resources.h": "transfer",
    "result.h": "base",
    "stores.h": "store",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')


def folder_of(include):
    """The folder that an included file belongs to; None if it is not ours."""
    first, _, rest = include.partition("/")
    if first == "casemate":
        return PUBLIC[rest]
    if include.endswith(".pb.h"):  # Generated from proto/.
        return "proto"
    if first == "reapi":
        first += "/" + rest.partition("/")[0]
    return first if first in MAY_INCLUDE or first == "testing" else None


def allowed(folder):
    rows = list(MAY_INCLUDE)
    opened = [each for each in OPEN_TO_LATER_ROWS
              if rows.index(each) < rows.index(folder)]
    return {folder, *MAY_INCLUDE[folder], *opened}


def breaches(path, folder, may):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        other = folder_of(match.group(1))
        if other and other not in may:
            yield f"{path}:{number}: {folder}/ may not include {other}/"


def main():
    root = pathlib.Path(sys.argv[1])
    found = []
    for folder in MAY_INCLUDE:
        for path in sorted((root / "src" / folder).rglob("*.[hc]*")):
            if path.suffix not in (".h", ".cc"):
                continue
            may = allowed(folder)
            if path.stem.endswith(("_test", "attack_scene")):  # Tests alone.
                may |= {"testing", "files"}  # Fakes, and faults of the disk.
            found += breaches(path, folder, may)
    for name, folder in PUBLIC.items():
        path = root / "include" / "casemate" / name
        found += breaches(path, folder, allowed(folder))
    known = {path.name for path in (root / "include/casemate").glob("*.h")}
    found += [f"{each}: unknown public header" for each in known - set(PUBLIC)]
    strangers = {path.name for path in (root / "src").iterdir()}
    strangers -= {*(row.partition("/")[0] for row in MAY_INCLUDE), "testing"}
    found += [f"src/{each}: not in the table" for each in strangers]
    print("\n".join(found) or "every #include keeps to the table")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
