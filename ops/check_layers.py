#!/usr/bin/env python3
"""Fails when a file stands outside its layer: what it includes, its name, its length, its README; and
when the headers that are installed are not those that the public ones need.

Run from the root of the repository: by ops/test.sh and by `ctest -R layers`."""
import pathlib
import re
import sys

FOLDERS = ["store", "policies", "gpu", "transport", "client", "actors", "ops", "tests"]
MAY_INCLUDE = {  # folder -> our folders it may include, besides itself
    "store": set(),
    "policies": {"store"},
    "gpu": {"store"},
    "transport": {"store"},
    "client": {"store", "transport"},
    "actors": {"store", "policies", "gpu", "transport", "client"},
    "ops": {"store", "policies", "gpu", "transport", "client", "actors", "tests"},
    "tests": set(FOLDERS),
}
# In the other direction than the star's: one header, for one reason.
NARROW = [
    ("actors", "client", r"client/client\.h$", "only for default_server()"),
    ("ops", "tests", r"tests/bench/limits/", "only the limits that larder bench measures"),
    ("ops", "actors", r"actors/(config|config_files|config_keys|machine|memory_room|standard_streams)\.h$", "only what both programs need"),
]
CAF = r"actors/(\w+_actor\.(h|cc)|messages\.h|caf_status\.h|main\.cc)$"
ONLY_IN = [  # third-party header -> the files that may include it
    (r"caf/", CAF + r"|tests/actors/"),
    (r"cuda", r"gpu/"),
    (r"infiniband/|rdma/", r"transport/verbs_|ops/"),
    (r"spdlog/", r"actors/|ops/"),
    (r"liburing", r"store/disk_|tests/"),
    (r"boost/(asio|beast|system)", r"actors/http_server\.cc$|tests/"),
    (r"toml\+\+/", r"actors/config|tests/"),
    (r"CLI/", r"actors/config|ops/(main\.cc|(\w+_)?flags\.(h|cc))$|tests/"),
    (r"openssl/", r"store/chain\.cc$|transport/tls\.cc$|actors/|tests/"),
    (r"nlohmann/", r"actors/|ops/|tests/"),
]
NOWHERE = {  # text that does not belong in a folder's code
    "store": [(r"\bstd::j?thread\b", "a thread")],
    "policies": [(r"\bstd::j?thread\b|\bstd::mutex\b", "a thread or a mutex"), (r"random_device", "chance")],
}
CLOCK = re.compile(r"\b(steady_clock|system_clock|high_resolution_clock)::now\b")
CLOCK_FILES = re.compile(r"(actors|client|ops)/clock\.h$|actors/main\.cc$|^tests/")
BAD_NAMES = re.compile(r"^(utils?|common|helpers?|misc)\.(h|cc)$")
SNAKE = re.compile(r"^[a-z0-9_]+\.(h|cc|cu|cuh)$")
LINES_MAX = 500
README_LINES_MAX = 40
PUBLIC_HEADERS = ["client/client.h", "store/chain.h", "store/limits.h"]  # what an author of workers includes
INSTALL = pathlib.Path("client/install.cmake")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)


def include_errors(path: pathlib.Path, text: str):
    folder = path.parts[0]
    for target in INCLUDE.findall(text):
        other = target.split("/")[0]
        if other in MAY_INCLUDE and "/" in target and other != folder:
            if other not in MAY_INCLUDE[folder]:
                yield f"{path}: {folder}/ may not include {other}/ ({target})"
            for from_folder, to_folder, allowed, why in NARROW:
                if (folder, other) == (from_folder, to_folder) and not re.match(allowed, target):
                    yield f"{path}: {target} is not allowed here: {why}"
        for header, allowed in ONLY_IN:
            if re.match(header, target) and not re.match(allowed, path.as_posix()):
                yield f"{path}: <{target}> is not allowed here"


def text_errors(path: pathlib.Path, text: str):
    for pattern, what in NOWHERE.get(path.parts[0], []):
        if re.search(pattern, text):
            yield f"{path}: {what} does not belong in {path.parts[0]}/"
    if CLOCK.search(text) and not CLOCK_FILES.search(path.as_posix()):
        yield f"{path}: reads a clock: time is an argument (see the folder's clock.h)"
    if path.suffix == ".h" and "#pragma once" not in text:
        yield f"{path}: no #pragma once"
    lines = text.count("\n")
    if lines > LINES_MAX:
        yield f"{path}: {lines} lines, the wall is {LINES_MAX}"


def name_errors(path: pathlib.Path):
    if BAD_NAMES.match(path.name):
        yield f"{path}: such a name means that the noun was not found"
    if not SNAKE.match(path.name):
        yield f"{path}: file names are snake_case"


def readme_errors(folder: str):
    readme = pathlib.Path(folder, "README.md")
    if not readme.exists():
        yield f"{folder}/: has no README.md"
    elif readme.read_text().count("\n") > README_LINES_MAX:
        yield f"{readme}: more than {README_LINES_MAX} lines"


def needed_headers(roots: list) -> set:
    """Our headers that `roots` include, directly or not, and themselves."""
    needed, to_read = set(), list(roots)
    while to_read:
        header = to_read.pop()
        if header not in needed:
            needed.add(header)
            included = INCLUDE.findall(pathlib.Path(header).read_text())
            to_read += [h for h in included if h.split("/")[0] in FOLDERS and pathlib.Path(h).exists()]
    return needed


def install_errors():
    listed = re.search(r"set\(installed_headers([^)]*)\)", INSTALL.read_text())
    installed = set(re.findall(r"[\w/]+\.h\b", re.sub(r"#.*", "", listed[1]))) if listed else set()
    needed = needed_headers(PUBLIC_HEADERS)
    for header in sorted(needed - installed):
        yield f"{INSTALL}: {header} is not installed, but an installed header includes it"
    for header in sorted(installed - needed):
        yield f"{INSTALL}: {header} is installed, but no public header includes it"


def main() -> int:
    suffixes = {".h", ".cc", ".cu", ".cuh"}
    files = [p for d in FOLDERS for p in sorted(pathlib.Path(d).rglob("*")) if p.suffix in suffixes]
    found = [e for d in FOLDERS if pathlib.Path(d).is_dir() for e in readme_errors(d)]
    found += install_errors()
    for path in files:
        text = path.read_text()
        found += [*include_errors(path, text), *text_errors(path, text), *name_errors(path)]
    print("\n".join(found) or f"{len(files)} files in their layers")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
