#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes pushwake.1, a pushwake-NAME.1 for each subcommand, and pushwake.conf.5.

All of their text is the program's own: what its argument parser knows of itself, and its table of settings.

usage: scripts/docs/manpages.py PROGRAM DIRECTORY

SOURCE_DATE_EPOCH is the date of the pages.
"""

import datetime
import json
import os
import pathlib
import re
import subprocess
import sys

SOCKET = ("/run/pushwake/engine.sock", "Socket between the engine and who asks it, unless engine_socket says otherwise.")
SETTINGS = ("/etc/pushwake/pushwake.conf", "Settings of an engine that systemd runs (pushwake.service).")
EXITS = [("0", "Done."), ("1", "What was asked for failed."), ("2", "Wrong usage, or a file that cannot be read.")]


def escaped(text):
    """Text as roff takes it literally."""
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace("`", r"\(ga")
    text = text.replace("…", r"\&...").replace("^", r"\(ha").replace("~", r"\(ti")
    return r"\&" + text if text.startswith(".") else text


def bold(text):
    return rf"\fB{escaped(text)}\fR"


def italic(text):
    return rf"\fI{escaped(text)}\fR"


def prose(text):
    """A sentence with `code` in bold."""
    parts = re.split(r"`([^`]*)`", text)
    return "".join(bold(part) if index % 2 else escaped(part) for index, part in enumerate(parts))


class Page:
    def __init__(self, name, section, release, what):
        self.name, self.section = name, section
        version, date = release
        self.lines = [
            r'.\" SPDX-License-Identifier: MIT', r'.\" Made by scripts/docs/manpages.py from the program itself.',
            f'.TH {escaped(name.upper())} {section} "{date}" "PushWake {version}" "PushWake"',
            ".SH NAME", rf"{escaped(name)} \- {escaped(what[0].lower() + what.rstrip('.')[1:])}"]

    def section_of(self, title, *lines):
        self.lines += [f".SH {title}", *lines]

    def items(self, title, rows):
        """A list of terms (roff already) and their meanings (roff already)."""
        self.section_of(title)
        for term, meaning in rows:
            self.lines += [".TP", term, meaning]

    def see_also(self, *others):
        rows = [rf"\fB{escaped(name)}\fR({section})" for name, section in others if name != self.name]
        self.section_of("SEE ALSO", ",\n".join(rows))

    def write(self, directory):
        path = directory / f"{self.name}.{self.section}"
        path.write_text("\n".join(self.lines) + "\n")


def is_own(argument):
    """Whether it is the subcommand's: all of them take --help and --version."""
    return argument.get("shouldDisplay", True) and argument.get("valueName") not in ("help", "version")


def own(command):
    """The subcommands of a subcommand."""
    return [c for c in command.get("subcommands", []) if c["commandName"] != "help" and c.get("shouldDisplay", True)]


def arguments_of(command):
    """Its own, options first."""
    arguments = [argument for argument in command["arguments"] if is_own(argument)]
    return sorted(arguments, key=lambda argument: argument["kind"] == "positional")


def option_names(argument):
    names = sorted(argument["names"], key=lambda name: name["kind"] != "short")
    return [("-" if name["kind"] == "short" else "--") + name["name"] for name in names]


def usage(name, arguments):
    words = [bold(name)]
    for argument in arguments:
        if argument["kind"] == "positional":
            word = italic(argument["valueName"])
        else:
            word = bold(option_names(argument)[-1])
            if argument["kind"] == "option":
                word += r"\~" + italic(argument["valueName"])
        if argument["isOptional"]:
            word = f"[{word}]"
        words.append(word + (r"\&..." if argument["isRepeating"] else ""))
    return ".ad l\n.nh\n.HP\n" + "\n".join(words) + "\n.hy\n.ad b"


def term(argument):
    if argument["kind"] == "positional":
        return italic(argument["valueName"])
    value = rf"\~{italic(argument['valueName'])}" if argument["kind"] == "option" else ""
    return ", ".join(bold(name) for name in option_names(argument)) + value


def meaning(argument):
    text = argument.get("abstract", "").strip()
    if text and text[-1] not in ".…":
        text += "."
    if argument.get("defaultValue") and argument["kind"] != "flag":
        text += f" Default: {argument['defaultValue']}."
    return prose(text)


def discussion(text):
    """Sentences, examples, and what exit codes mean."""
    sentences, examples, exits = [], [], ""
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("pushwake "):
            examples.append(line)
        elif line.startswith("Exit code"):
            exits = line
        elif line:
            # Exit codes may end a line that says something else first.
            before, found, after = line.partition(" Exit code")
            sentences.append(before)
            exits = "Exit code" + after if found else exits
    return sentences, examples, exits


def command_page(command, release, directory):
    name = f"pushwake-{command['commandName']}"
    page = Page(name, 1, release, command["abstract"])
    forms = [(f"{name} {form['commandName']}".replace("-", " ", 1), form) for form in own(command)] or [
        (f"pushwake {command['commandName']}", command)]
    page.section_of("SYNOPSIS", *[usage(words, arguments_of(form)) for words, form in forms])
    # What several forms take is said once.
    arguments = list({(a["valueName"], str(a.get("names"))): a for _, form in reversed(forms) for a in arguments_of(form)}.values())
    arguments.sort(key=lambda argument: argument["kind"] == "positional")
    sentences, examples, exits = discussion(command.get("discussion", ""))
    page.section_of("DESCRIPTION", prose(command["abstract"]))
    for sentence in sentences:
        page.lines += [".PP", prose(sentence)]
    if own(command):
        page.items("COMMANDS", [(bold(form["commandName"]), prose(" ".join(
            [form["abstract"], *discussion(form.get("discussion", ""))[0]]))) for form in own(command)])
    operands = [argument for argument in arguments if argument["kind"] == "positional"]
    if operands:
        page.items("OPERANDS", [(term(argument), meaning(argument)) for argument in operands])
    options = [argument for argument in arguments if argument["kind"] != "positional"]
    page.items("OPTIONS", [*((term(argument), meaning(argument)) for argument in options),
                           (r"\fB\-h\fR, \fB\-\-help\fR", "Help for this command.")])
    if exits:
        page.section_of("EXIT STATUS", prose(exits))
    else:
        page.items("EXIT STATUS", [(bold(code), prose(text)) for code, text in EXITS])
    uses_engine = any("socket" in [n["name"] for n in argument.get("names", [])] for argument in options)
    if uses_engine:
        page.items("ENVIRONMENT", [(bold("PUSHWAKE_SOCKET"), "Socket of the engine, where no option says so.")])
        page.items("FILES", [(italic(path), prose(text)) for path, text in (SOCKET, SETTINGS)])
    if examples:
        page.section_of("EXAMPLES", ".nf", *[escaped(line) for line in examples], ".fi")
    page.see_also(("pushwake", 1), *([("pushwake.conf", 5)] if uses_engine else []))
    page.write(directory)


def main_page(root, commands, release, directory):
    page = Page("pushwake", 1, release, root["abstract"])
    page.section_of("SYNOPSIS", ".nf", rf"{bold('pushwake')} {italic('command')} [{italic('options')}] [{italic('operands')}]",
                    rf"{bold('pushwake help')} [{italic('command')}]", rf"{bold('pushwake --version')}", ".fi")
    page.section_of(
        "DESCRIPTION", prose(
            "PushWake learns push tokens from SIP REGISTERs, sends a push through Apple, Google, a Web Push service or "
            "Acrobits when a call or message arrives, and hands the call to the phone as soon as it has registered again."),
        ".PP", prose(
            "The modules for Kamailio and Asterisk start the engine themselves. This program is the engine, and what "
            "people use to look at it, to try things out and to check a configuration."))
    page.items("COMMANDS", [(rf"\fBpushwake\-{escaped(command['commandName'])}\fR(1)", prose(command["abstract"]))
                            for command in commands])
    page.items("EXIT STATUS", [(bold(code), prose(text)) for code, text in EXITS])
    page.items("FILES", [(italic(path), prose(text)) for path, text in (
        SOCKET, SETTINGS, ("/var/lib/pushwake/bindings.db", "The push bindings, unless store_path says otherwise."))])
    page.see_also(*[(f"pushwake-{command['commandName']}", 1) for command in commands], ("pushwake.conf", 5),
                  ("kamailio", 8), ("asterisk", 8))
    page.write(directory)


def cells(row):
    return [re.sub(r"\\([|<])", r"\1", cell.strip()) for cell in re.split(r"(?<!\\)\|", row)[1:-1]]


def settings_page(table, release, directory):
    page = Page("pushwake.conf", 5, release, "settings of PushWake's engine")
    page.section_of(
        "DESCRIPTION", prose(
            "One setting a line: `name = value`. A `#` or `;` begins a comment, at the start of a line or after a space; a "
            "value that holds one of these stands in double quotes. A wrong value is an error that names the line and the "
            "remedy; `pushwake check FILE` looks for all of them."),
        ".PP", prose(
            "The settings are also parameters of Kamailio's module, under the same names: "
            '`modparam("pushwake", "name", "value")`.'))
    # Rows of settings begin with an anchor; those of names that are gone, and of other products', do not.
    rows = [cells(row) for row in table.splitlines() if row.startswith("| <a id=")]
    assert rows, "the program prints no settings"
    described = []
    for name, values, default, example, counts, what, _ in rows:
        said = f"Values: {values}." + (f" Default: {default}." if default else "") + (f" Example: {example}." if example else "")
        said += " Counts after a restart." if counts == "restart" else ""
        described.append((bold(re.sub(r"<a.*?</a>", "", name).strip("`")), rf"{prose(what)} {prose(said)}"))
    page.items("SETTINGS", described)
    # Paths cannot be broken: lines would be full of gaps.
    page.lines.insert(page.lines.index(".SH SETTINGS") + 1, ".ad l")
    page.section_of("EXAMPLE", ".nf", *[escaped(line) for line in (
        "apns_key = /etc/pushwake/AuthKey_ABC123DEFG.p8", "apns_key_id = ABC123DEFG", "apns_team_id = DEF123GHIJ",
        "fcm_key = /etc/pushwake/service-account.json")], ".fi")
    page.see_also(("pushwake", 1), ("pushwake-check", 1), ("pushwake-engine", 1))
    page.write(directory)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: manpages.py PROGRAM DIRECTORY")
    program, directory = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])

    def said(*words):
        return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout

    directory.mkdir(parents=True, exist_ok=True)
    root = json.loads(said("--experimental-dump-help"))["command"]
    release = said("--version").strip(), datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc).date()
    commands = own(root)
    main_page(root, commands, release, directory)
    for command in commands:
        command_page(command, release, directory)
    settings_page(said("settings"), release, directory)


if __name__ == "__main__":
    main()
