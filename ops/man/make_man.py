#!/usr/bin/env python3
"""Writes a man page from a program's own --help, so that the two cannot differ.

make_man.py PROGRAM SECTION [commands] > PAGE; commands: also the --help of each subcommand."""
import os
import sys

from help_tree import help_of, tree, version_of

SEE_ALSO = {"larder": "larderd(8)", "larderd": "larder(1)"}
FILES = [
    ("/etc/larder/larder.toml", "Configuration of the packaged daemon."),
    ("/run/larder/larderd.sock", "Its socket, for root and members of the group larder."),
    ("/dev/shm/larder", "Its slabs."),
]


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.splitlines())


def section(title, text):
    return f".SH {title}\n.nf\n{roff(text)}\n.fi\n"


def page(program, number, with_commands):
    name = os.path.basename(program)
    summary, rest = help_of([program]).split("\n", 1)
    out = f'.TH {name.upper()} {number} "" "{version_of(program)}" "Larder"\n'
    out += f".SH NAME\n{name} \\- {roff(summary.split(': ', 1)[1])}\n"
    out += section("SYNOPSIS AND OPTIONS", rest.strip("\n"))
    if with_commands:
        for words, text in tree(program):
            out += section(" ".join([name, *words]).upper(), text.strip("\n"))
    out += ".SH FILES\n" + "".join(f".TP\n{path}\n{what}\n" for path, what in FILES)
    return out + f".SH SEE ALSO\n{SEE_ALSO[name]}\n"


if __name__ == "__main__":
    sys.stdout.write(page(sys.argv[1], sys.argv[2], len(sys.argv) > 3))
