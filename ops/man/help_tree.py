"""What the programs say of themselves: the --help of a program and of every subcommand."""
import os
import re
import subprocess


def help_of(words):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LARDER_")}
    return subprocess.run(words + ["--help"], env=environment, text=True, check=True, stdout=subprocess.PIPE).stdout


def version_of(program):
    return subprocess.run([program, "--version"], text=True, check=True, stdout=subprocess.PIPE).stdout.strip()


def subcommands(text):
    """Names under "Subcommands:": indented by two, their help further right."""
    block = re.search(r"^Subcommands:\n((?:  .*\n?)+)", text, re.M)
    return re.findall(r"^  (\S+)", block.group(1), re.M) if block else []


def flags(text):
    """Long flags, as they stand at the beginning of a line of options."""
    found = re.findall(r"^  (?:-\w,)?(--[a-z][a-z0-9-]*)", text, re.M)
    return list(dict.fromkeys(found))


def tree(program, words=()):
    """Every subcommand, those below it too, as (words, help)."""
    for name in subcommands(help_of([program, *words])):
        path = [*words, name]
        yield path, help_of([program, *path])
        yield from tree(program, path)
