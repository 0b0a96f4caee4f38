"""Which rules there are, by the numbers that tests carry in their names.

The rules restate the Remote Execution API, version 2.12, ByteStream and gRPC
health for a server (R), and where deployed peers disagree (D). What each asks
is said by the names of its tests; docs/conformance.md says how to read them.
"""


def _numbers(letter, width, text):
    found = []
    for part in text.split():
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return [f"{letter}{number:0{width}}" for number in found]


# By subject, as the list is printed.
SERVER = {
    "Digests": _numbers("R", 3, "1-6 8 12"),
    "Empty blob": _numbers("R", 3, "13-16 18-20"),
    "Digest functions": _numbers("R", 3, "21 22 24 25 27 28"),
    "Instance names": _numbers("R", 3, "30-32 35 36"),
    "ByteStream Read": _numbers("R", 3, "37-46 50 52"),
    "ByteStream Read, compressed": _numbers("R", 3, "53-62"),
    "ByteStream Write": _numbers(
        "R", 3, "63-66 68-72 74-76 80-83 85 87-90"),
    "ByteStream Write, compressed": _numbers("R", 3, "91-95 97-99"),
    "QueryWriteStatus": _numbers("R", 3, "101-104 107"),
    "FindMissingBlobs": _numbers("R", 3, "108-111"),
    "BatchUpdateBlobs": _numbers("R", 3, "114-122 125"),
    "BatchReadBlobs": _numbers("R", 3, "126-132"),
    "GetTree": _numbers("R", 3, "134-142 144 145"),
    "Directory and Tree": _numbers("R", 3, "151-154 156 160-162"),
    "ActionCache": _numbers("R", 3, "163-171 173 174 176-182 185-187"),
    "Missing blobs": _numbers("R", 3, "188"),
    "Capabilities": _numbers("R", 3, "190 191 193-198"),
    "Calls in general": _numbers("R", 3, "230-235"),
    "Health": _numbers("R", 3, "272-275"),
    "Where peers disagree": _numbers("D", 2, "1-35"),
}

LATER = "with the operating features: eviction, TLS, read-only instances"
NO_PRODUCER = "the server makes no trees; push does, and is tested for it"

# Why a rule has no test here.
NOT_HERE = {
    "R109": LATER,
    "R179": LATER,
    "R180": LATER,
    "R234": LATER,
    "R046": "a permission: the server sends no empty message",
    "R059": "a permission: the level is a setting",
    "R153": "a permission: what is not canonical is read all the same",
    "R160": NO_PRODUCER,
    "R161": NO_PRODUCER,
    "R162": NO_PRODUCER,
    "D33": "Remote Asset is not served yet",
}
