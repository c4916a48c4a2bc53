#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints what library and program are made of, as SPDX 2.3: what the linker took from archives, and what they load.

usage: sbom.py VERSION EPOCH LIBRARY PROGRAM STATISTICS...

STATISTICS are what lld's --print-archive-stats has written. What an archive is part of comes from dpkg; its licence from the table
below, which has to know each.
"""

import datetime
import json
import pathlib
import re
import subprocess
import sys

WITH_EXCEPTION = "GPL-3.0-or-later WITH GCC-exception-3.1"
SWIFT = "Apache-2.0 WITH Swift-exception"
# Archives by the source package of Debian that has them.
LICENCES = {"hiredis": "BSD-3-Clause", "gcc": WITH_EXCEPTION, "glibc": "LGPL-2.1-or-later", "openssl": "Apache-2.0"}
# Libraries that are loaded: theirs is the version of the host.
LOADED = {
    "libcrypto.so.3": ("openssl", "Apache-2.0"), "libssl.so.3": ("openssl", "Apache-2.0"), "libnghttp2.so.14": ("nghttp2", "MIT"),
    "libjansson.so.4": ("jansson", "MIT"), "libsqlite3.so.0": ("sqlite", "blessing"), "libstdc++.so.6": ("gcc", WITH_EXCEPTION),
    "libgcc_s.so.1": ("gcc", WITH_EXCEPTION), "libc.so.6": ("glibc", "LGPL-2.1-or-later"), "libm.so.6": ("glibc", "LGPL-2.1-or-later"),
    "libpthread.so.0": ("glibc", "LGPL-2.1-or-later"), "libdl.so.2": ("glibc", "LGPL-2.1-or-later"),
    "libutil.so.1": ("glibc", "LGPL-2.1-or-later"), "ld-linux": ("glibc", "LGPL-2.1-or-later")}


def said(*command):
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=True).stdout


def linked_archives(statistics):
    """Files of which at least one member was linked."""
    for line in statistics.read_text().splitlines()[1:]:
        _, extracted, path = line.split(None, 2)
        if extracted != "0":
            yield pathlib.Path(path)


def swift_version():
    return re.search(r"Swift version ([0-9.]+)", said("swift", "--version"))[1]


def debian_source(archive):
    """Name and version of the source package that a file is from."""
    sysroot = re.match(r"(.*/sysroot-[^/]*)/", str(archive))
    if sysroot and (versions := pathlib.Path(sysroot[1]) / "versions").exists():
        rows = dict(line.split(None, 1) for line in versions.read_text().splitlines())
        if archive.name in rows:
            return rows[archive.name].split()
    package = said("dpkg", "-S", archive.resolve()).split(": ")[0]
    name, version = said("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}", package).split()
    return re.sub(r"-[0-9.]+$", "", name), version


def static_parts(statistics):
    """Name, version, licence and package URL of what is in the two files."""
    parts = {("swift-argument-parser", argument_parser(), SWIFT): "pkg:swift/github.com/apple/swift-argument-parser"}
    for archive in sorted({path for file in statistics for path in linked_archives(file)}):
        if "/swift_static/" in str(archive) or "/lib/swift/" in str(archive):
            foundation = "Foundation" in archive.name
            if "ICU" in archive.name:
                parts["swift-foundation-icu", swift_version(), f"{SWIFT} AND Unicode-3.0"] = "pkg:swift/github.com/swiftlang/swift-foundation-icu"
            elif "dispatch" in archive.name or "Blocks" in archive.name:
                parts["swift-corelibs-libdispatch", swift_version(), SWIFT] = "pkg:swift/github.com/swiftlang/swift-corelibs-libdispatch"
            else:
                name = "swift-foundation" if foundation else "swift"
                parts[name, swift_version(), SWIFT] = f"pkg:swift/github.com/swiftlang/{name}"
            continue
        if "clang_rt" in archive.name:
            parts["compiler-rt", swift_version(), "Apache-2.0 WITH LLVM-exception"] = "pkg:github/swiftlang/llvm-project"
            continue
        name, version = debian_source(archive)
        if name not in LICENCES:
            sys.exit(f"sbom: {archive} of {name} is linked, and its licence is not known: add it to LICENCES and to debian/copyright")
        parts[name, version, LICENCES[name]] = f"pkg:deb/debian/{name}"
    return parts


def argument_parser():
    manifest = pathlib.Path(__file__).resolve().parents[2] / "Package.swift"
    return re.search(r'swift-argument-parser", exact: "([0-9.]+)"', manifest.read_text())[1]


def loaded_parts(files):
    """Sonames that the files ask for."""
    names = set()
    for file in files:
        names |= set(re.findall(r"\(NEEDED\).*\[(.*)\]", said("readelf", "-d", file)))
    for name in sorted(names):
        key = "ld-linux" if name.startswith("ld-linux") else name
        if key not in LOADED:
            sys.exit(f"sbom: {name} is loaded, and its licence is not known: add it to LOADED")
        yield name, *LOADED[key]


def package(name, version, licence, purl="", comment=""):
    row = {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "name": name, "downloadLocation": "NOASSERTION",
           "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION"}
    if version:
        row["versionInfo"] = version
    if purl:
        row["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": f"{purl}@{version}"}]
    if comment:
        row["comment"] = comment
    return row


def main():
    if len(sys.argv) < 6:
        sys.exit(__doc__.split("\n\n")[1])
    version, epoch = sys.argv[1], int(sys.argv[2])
    files = sys.argv[3:5]
    own = package("pushwake", version, "MIT")
    packages, relations = [own], [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    for (name, number, licence), purl in sorted(static_parts([pathlib.Path(name) for name in sys.argv[5:]]).items()):
        packages.append(package(name, number, licence, purl))
        relations.append((own["SPDXID"], "STATIC_LINK", packages[-1]["SPDXID"]))
    for soname, name, licence in loaded_parts(files):
        packages.append(package(soname, "", licence, comment=f"The host's, of {name}."))
        relations.append((own["SPDXID"], "DYNAMIC_LINK", packages[-1]["SPDXID"]))
    when = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc)
    print(json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"pushwake-{version}",
        "documentNamespace": f"https://pushwake.invalid/spdx/pushwake-{version}",
        "creationInfo": {"created": f"{when:%Y-%m-%dT%H:%M:%SZ}", "creators": ["Organization: The PushWake authors"]},
        "packages": packages,
        "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other} for one, kind, other in relations],
    }, indent=1))


if __name__ == "__main__":
    main()
