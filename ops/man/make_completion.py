#!/usr/bin/env python3
"""Writes bash's completion of the programs' commands and flags, from their own --help.

make_completion.py PROGRAM... > FILE"""
import os
import sys

from help_tree import flags, help_of, subcommands, tree

HEAD = """# bash completion of larder and larderd, generated from their --help.
_larder_words() { # the words that may follow a command
  case "$1" in
"""
TAIL = """  esac
}
_larder() {
  local current=${COMP_WORDS[COMP_CWORD]} path=${COMP_WORDS[0]##*/} word
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [ -n "$(_larder_words "$path $word")" ]; then path="$path $word"; fi
  done
  mapfile -t COMPREPLY < <(compgen -W "$(_larder_words "$path")" -- "$current")
}
"""


def case(words, text):
    return f'    "{" ".join(words)}") echo "{" ".join(subcommands(text) + flags(text))}" ;;\n'


def main(programs):
    out = HEAD
    for program in programs:
        name = os.path.basename(program)
        out += case([name], help_of([program]))
        for words, text in tree(program):
            out += case([name, *words], text)
    names = " ".join(os.path.basename(program) for program in programs)
    return out + TAIL + f"complete -o default -F _larder {names}\n"


if __name__ == "__main__":
    sys.stdout.write(main(sys.argv[1:]))
