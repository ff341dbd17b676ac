"""Checks what `python -m build` wrote: the wheel has every file of the packages and every licence,
and the description has no relative link. Run as `python .ci/build_check.py FOLDER`."""

import re
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("shared/structrag", "langchain_structrag", "llama_index_structrag")

folder = Path(sys.argv[1])
(wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
expected = {
    file.relative_to((ROOT / package).parent).as_posix()
    for package in PACKAGES
    for file in (ROOT / package).rglob("*")
    if file.is_file() and "__pycache__" not in file.parts
}
with zipfile.ZipFile(wheel) as archive:
    names = set(archive.namelist())
    (description,) = [name for name in names if name.endswith(".dist-info/METADATA")]
    metadata = archive.read(description).decode()
missing = sorted(expected - names)
if missing:
    sys.exit(f"the wheel lacks {missing}")
surplus = sorted(name for name in names - expected if ".dist-info/" not in name)
if surplus:
    sys.exit(f"the wheel has more than the packages: {surplus}")
data = [name for name in expected if name.endswith((".gz", ".json"))]
licences = {f"{name.partition('.')[0]}_LICENSE.txt" for name in data} | {"LICENSE"}
unlicensed = sorted(
    licence
    for licence in licences
    if not any(".dist-info/" in name and name.endswith(licence) for name in names)
)
if unlicensed:
    sys.exit(f"the wheel lacks the licences {unlicensed}")
relative = re.findall(r"\]\((?!https?:|#)[^)]+\)", metadata)
if relative:
    sys.exit(f"the description links inside the repository: {relative}")
with tarfile.open(sdist) as archive:
    tops = {name.split("/")[1] for name in archive.getnames() if "/" in name}
if {"tests", "benchmarks", "docs"} & tops:
    sys.exit(f"the source archive has more than the packages: {sorted(tops)}")
sys.stdout.write(f"{wheel.name}: {len(names)} files; {sdist.name}: {sorted(tops)}\n")
