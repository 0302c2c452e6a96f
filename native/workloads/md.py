#!/usr/bin/env python3
"""md: a workload function that reads and writes local storage.

Reads a JSON document, renders it as Markdown and writes that to a file, `repeat` times; the last write is forced to the disk, so that
the function blocks on real I/O once. The files are removed at the end.

Standard input: {"repeat": 1, "document": "document.json", "directory": "/tmp"}, all optional, or nothing.
Standard output: one JSON object with the bytes read and written. Exit 2: the input is not valid; exit 1: a file is not readable or
writable; standard error says why.
"""

import json
import os
import sys
import tempfile

REPEAT_MAX = 10_000_000
HOME = os.path.dirname(os.path.abspath(__file__))


def table(rows):
    head, *body = rows
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in body:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def block(part):
    """The lines of one part; its kind is the only key it has."""
    ((kind, content),) = part.items()
    if kind == "text":
        yield content
    elif kind == "list":
        yield from (f"- {item}" for item in content)
    elif kind == "steps":
        yield from (f"{number}. {item}" for number, item in enumerate(content, 1))
    elif kind == "quote":
        yield from (f"> {line}" for line in content.split("\n"))
    elif kind == "code":
        yield from ("    " + line for line in content.split("\n"))
    elif kind == "table":
        yield from table(content)
    else:
        raise ValueError(f"unknown part {kind!r}")


def markdown(document):
    lines = [f"# {document['title']}", ""]
    for section in document["sections"]:
        lines += [f"## {section['title']}", ""]
        for part in section["parts"]:
            lines += [*block(part), ""]
    return "\n".join(lines)


def parameters(text):
    request = json.loads(text or "{}")
    if not isinstance(request, dict):
        raise ValueError("the input is not a JSON object")
    repeat = request.get("repeat", 1)
    if isinstance(repeat, bool) or not isinstance(repeat, int) or not 1 <= repeat <= REPEAT_MAX:
        raise ValueError(f"repeat is not an integer from 1 to {REPEAT_MAX}")
    source = request.get("document", "document.json")
    directory = request.get("directory", tempfile.gettempdir())
    if not isinstance(source, str) or not isinstance(directory, str):
        raise ValueError("document and directory are not text")
    return repeat, os.path.join(HOME, source), directory


def convert(repeat, source, directory):
    read = written = 0
    number, target = tempfile.mkstemp(prefix="sfsd-md-", suffix=".md", dir=directory)
    try:
        with open(number, "wb") as output:
            for _ in range(repeat):
                with open(source, "rb") as file:
                    data = file.read()
                page = markdown(json.loads(data)).encode()
                output.seek(0)
                output.write(page)
                output.truncate()
                output.flush()
                read += len(data)
                written += len(page)
            os.fsync(output.fileno())
    finally:
        os.unlink(target)
    return {"application": "md", "repeat": repeat, "readBytes": read, "writtenBytes": written}


def main():
    try:
        request = parameters(sys.stdin.read())
    except ValueError as error:
        print(f"md: {error}", file=sys.stderr)
        return 2
    try:
        print(json.dumps(convert(*request)))
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"md: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
