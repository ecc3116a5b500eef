"""linad as a tool of GradBench: answers its messages, one JSON object a line, until they end.

    gradbench run --eval "..." --tool "python examples/gradbench/tool.py"

A module of this folder per benchmark has a table of functions, each in three parts: `prepare`
makes arguments of the input, `compute` is what is timed, `present` makes JSON of its result.
"""

import importlib
import json
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

MODULES = (
    *("ba", "det", "gmm", "hello", "ht", "kmeans"),
    *("llsq", "lse", "lstm", "ode", "particle", "saddle"),
)


def functions_of(module):
    return importlib.import_module(f"gradbench_{module}").FUNCTIONS


def evaluate(module, function, data):
    """The output of a function, and what each of its runs took."""
    prepare, compute, present = functions_of(module)[function]
    given = data if isinstance(data, dict) else {}  # `hello` sends a bare number
    runs, seconds = given.get("min_runs", 1), given.get("min_seconds", 0)
    args = prepare(data)
    timings, spent = [], 0
    while len(timings) < runs or spent < 1e9 * seconds:
        begun = time.perf_counter_ns()
        result = compute(*args)
        took = time.perf_counter_ns() - begun
        timings.append({"name": "evaluate", "nanoseconds": took})
        spent += took
    return present(result), timings


def answer(message):
    """The response to a message."""
    response = {"id": message["id"]}
    match message["kind"]:
        case "start":
            response["tool"] = "linad"
        case "define":
            response["success"] = message["module"] in MODULES
        case "evaluate":
            try:
                output, timings = evaluate(message["module"], message["function"], message["input"])
                response |= {"success": True, "output": output, "timings": timings}
            except Exception:  # of whatever a module raises; GradBench gets all of its text
                response |= {"success": False, "error": traceback.format_exc()}
    return response


def main():
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
