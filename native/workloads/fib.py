#!/usr/bin/env python3
"""fib: a workload function that needs CPU time only.

Evaluates the doubly recursive Fibonacci number `n`, `repeat` times. One evaluation of the default n = 15 takes a few hundred
microseconds, so that `repeat` sets the CPU time finely; a single evaluation with n from 20 to 36 spans the range of the SFS paper's own
fib (section VII).

Standard input: {"n": 15, "repeat": 1}, both optional, or nothing. Standard output: one JSON object with the value.
Exit 2: the input is not valid, and standard error says why.
"""

import json
import sys

N_MAX = 45
REPEAT_MAX = 100_000_000


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def integer(request, name, default, least, most):
    value = request.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name} is not an integer from {least} to {most}")
    return value


def main():
    try:
        request = json.loads(sys.stdin.read() or "{}")
        if not isinstance(request, dict):
            raise ValueError("the input is not a JSON object")
        n = integer(request, "n", 15, 0, N_MAX)
        repeat = integer(request, "repeat", 1, 1, REPEAT_MAX)
    except ValueError as error:
        print(f"fib: {error}", file=sys.stderr)
        return 2
    value = 0
    for _ in range(repeat):
        value = fibonacci(n)
    print(json.dumps({"application": "fib", "n": n, "repeat": repeat, "value": value}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
