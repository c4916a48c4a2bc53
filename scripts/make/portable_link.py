#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Links library and program of the release build once more, so that they run on every C library from glibc 2.31 on.

usage: portable_link.py SYSROOT DIRECTORY     after `make build-swift`; SYSROOT is of scripts/make/sysroot.sh

Leaves in DIRECTORY libpushwake.so.1, pushwake, what the linker has to say for scripts/make/sbom.py, and openssl/: the parts of
OpenSSL 3 that the two use, for hosts that have none.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIST = ROOT / ".build/dist"
GLIBC = (2, 31)
# Where scripts/make/install.sh puts OpenSSL's libraries on a host without.
RUNPATH = {"libpushwake.so.1": "$ORIGIN/pushwake-openssl", "pushwake": "$ORIGIN/../lib/pushwake-openssl"}


def run(*command):
    done = subprocess.run([*map(str, command)], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"portable_link: {pathlib.Path(str(command[0])).name} failed\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def libraries_of(sysroot):
    return next((sysroot / "usr/lib").glob("*-linux-gnu"))


def planned(product):
    """The command by which the release build links a product."""
    for found in re.finditer(r"^ +args: (\[.*\])$", (DIST / "release.yaml").read_text(), re.M):
        words = json.loads(found[1])
        if "-o" in words and words[words.index("-o") + 1].endswith(f"/release/{product}"):
            if "-emit-library" in words or "-emit-executable" in words:
                return words
    sys.exit(f"portable_link: {DIST}/release.yaml does not link {product}: run make build-swift")


def clang(*words):
    """The compiler that belongs to Swift."""
    run(pathlib.Path(shutil.which("swiftc")).resolve().parent / "clang", *words)


def portable(words, sysroot, made, shim):
    """The same command for the C library in the sysroot."""
    words = list(words)
    words[words.index("-o") + 1] = str(made)
    libraries = libraries_of(sysroot)
    # Only loaders from glibc 2.36 on read packed relocations.
    packed = words.index("pack-relative-relocs")
    del words[packed - 3:packed + 1]
    linker = [shim, "-L", libraries, "--allow-shlib-undefined", "-rpath", RUNPATH[made.name], f"--print-archive-stats={made}.archives"]
    words = [word for word in words if not word.startswith("--print-archive-stats=")]
    words = [word for index, word in enumerate(words) if word != "-Xlinker" or words[index + 1:index + 2] != ["-Xlinker"]]
    if "-nodefaultlibs" not in words:
        words += ["-Xclang-linker", "-nodefaultlibs"]
        linker += ["-lm", "-l:libgcc_s.so.1", "-lgcc", "-l:libc.so.6", "-l:libc_nonshared.a"]
    for word in linker:
        words += ["-Xlinker", word]
    return words + ["-Xclang-linker", f"--sysroot={sysroot}", "-Xclang-linker", "-Wl,--as-needed"]


def symbols(file, *options):
    """Names and versions in the table of a shared object; without what it can do without."""
    rows = [row.split() for row in run("nm", "-D", "--with-symbol-versions", *options, file).splitlines()]
    return [tuple(row[-1].replace("@@", "@").partition("@")[::2]) for row in rows if row[-2] != "w"]


def openssl(sysroot, directory, users):
    """Links the parts of OpenSSL that the users of it need, from its archives."""
    libraries = libraries_of(sysroot)
    archives = pathlib.Path("/usr/lib") / libraries.name
    directory.mkdir()
    # The one library has copies of a few functions that the other does not offer.
    for name, needs in (("ssl", ["-lcrypto", archives / "libcrypto.a"]), ("crypto", ["-lpthread", "-ldl"])):
        offered = dict(symbols(libraries / f"lib{name}.so", "--defined-only"))
        wanted = {symbol for user in users for symbol, _ in symbols(user, "--undefined-only") if symbol in offered}
        nodes = {}
        for symbol in sorted(wanted):
            nodes.setdefault(offered[symbol], []).append(symbol)
        script = directory / f"{name}.map"
        script.write_text("".join(f"{node} {{ global: {'; '.join(found)}; local: *; }};\n" for node, found in sorted(nodes.items())))
        made = directory / f"lib{name}.so.3"
        clang("-shared", "-o", made, "-fuse-ld=lld", f"--sysroot={sysroot}", "-nodefaultlibs",
            f"-Wl,-soname,{made.name},--version-script={script},--gc-sections,--allow-shlib-undefined,-z,now,-z,relro,-s",
            f"-Wl,-rpath,$ORIGIN,--print-archive-stats={directory}.{name}.archives", "-L", libraries, *(f"-Wl,-u,{symbol}" for symbol in sorted(wanted)), archives / f"lib{name}.a", *needs,
            "-l:libc.so.6", "-l:libc_nonshared.a")
        script.unlink()
        users = [*users, made]


def check(file, sysroot):
    """Fails when a file asks for more than the oldest C library has, or for a C++ library."""
    libraries = [*libraries_of(sysroot).glob("lib*.so"), *(sysroot / "lib" / libraries_of(sysroot).name).glob("ld-*.so*")]
    offered = {name for library in libraries for name, _ in symbols(library, "--defined-only")}
    for name, version in symbols(file, "--undefined-only"):
        if name not in offered and "GCC" not in version:
            sys.exit(f"portable_link: {file.name} needs {name}, which glibc {GLIBC[0]}.{GLIBC[1]} and the other libraries do not have")
        number = re.fullmatch(r"GLIBC_([0-9.]+)", version)
        if number and tuple(map(int, number[1].split("."))) > GLIBC or re.match(r"GLIBCXX|CXXABI|GLIBC_ABI", version):
            sys.exit(f"portable_link: {file.name} needs {name} of {version}")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    sysroot, directory = (pathlib.Path(name).resolve() for name in sys.argv[1:])
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    made = {"libPushWakeABI.so": directory / "libpushwake.so.1", "pushwake": directory / "pushwake"}
    shim = directory / "portable.o"
    clang("-c", "-O2", "-fPIC", "-o", shim, ROOT / "scripts/make/portable.c")
    for product, file in made.items():
        run(*portable(planned(product), sysroot, file, shim))
    openssl(sysroot, directory / "openssl", list(made.values()))
    for file in [*made.values(), *(directory / "openssl").iterdir()]:
        check(file, sysroot)


if __name__ == "__main__":
    main()
