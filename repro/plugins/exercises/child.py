"""Run a solution on batches in a process of its own: ``python -I child.py``, with JSON as input and output.

It imports nothing of the suite. The parent compares the outcomes, so a solution cannot change its grade.
"""

import json
import os
import sys
import types
from importlib.util import find_spec

SUITE = ("repro", "papers")
FORBIDDEN = ("os.exec", "os.fork", "os.link", "os.posix_spawn", "os.rename", "os.system", "subprocess.")


def packed(value):
    """Return a value as JSON data, e.g. a tensor as ``{"dtype": "int64", "shape": [1], "values": [2]}``."""
    if hasattr(value, "detach"):
        kind = {"dtype": str(value.dtype).removeprefix("torch."), "shape": list(value.shape)}
        return kind | {"values": packed(value.detach().flatten().tolist())}
    if hasattr(value, "tolist"):  # numpy
        return packed(value.tolist())
    if isinstance(value, dict):
        return {str(key): packed(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [packed(each) for each in value]
    if isinstance(value, float | str | None) or (isinstance(value, int) and value.bit_length() < 1000):
        return value
    return {"other": type(value).__name__}


def unpacked(value):
    """Return the value of packed data. Tuples and arrays have become lists."""
    if isinstance(value, list):
        return [unpacked(each) for each in value]
    if isinstance(value, dict) and "dtype" in value:
        import torch

        return torch.tensor(value["values"], dtype=getattr(torch, value["dtype"])).reshape(value["shape"])
    return {key: unpacked(each) for key, each in value.items()} if isinstance(value, dict) else value


def outcome(function, batch, gradients):
    """Call a function on a packed batch. Returns its packed ``value`` and the ``gradients`` of a weighted
    sum of it, or its ``error``."""
    inputs = unpacked(batch)
    try:
        for name in gradients:
            inputs[name].requires_grad_()
        value = function(**inputs)
        found = {"value": packed(value), "gradients": []}
        if gradients and getattr(value, "requires_grad", False):
            import torch

            weights = torch.linspace(1, 2, value.numel(), dtype=value.dtype).reshape(value.shape)
            tensors = [inputs[name] for name in gradients]
            total = (value * weights).sum()
            found["gradients"] = packed(torch.autograd.grad(total, tensors, materialize_grads=True))
        return found
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:200].strip(": ")}


def _guard(folders, report):
    """Let the process report and end if it imports the suite or opens a file in ``folders``."""
    decode, real = os.fsdecode, os.path.realpath
    own = real(__file__)  # torch reads it while it is imported

    def watch(event, arguments):
        deed = ""
        if event == "import" and arguments[0].partition(".")[0] in SUITE:
            deed = f"imports {arguments[0]}"
        elif event == "open" and not isinstance(arguments[0], int):
            path = real(decode(arguments[0]))
            if path.startswith(folders) and path != own:
                deed = f"opens {path}"
        elif event.startswith(FORBIDDEN):
            raise PermissionError(f"a solution cannot use {event}")
        if deed:
            report({"reason": f"solution.py {deed}. A solution cannot use the suite's code."})
            os._exit(0)

    sys.addaudithook(watch)


def main():
    """Call a solution on a request's batches (standard input) and print the outcomes, or a ``reason``."""
    request, output = json.load(sys.stdin), os.dup(1)
    os.dup2(2, 1)  # prints of the solution

    def report(answer):
        os.write(output, json.dumps(answer).encode() + b"\n")

    specs = [spec for spec in map(find_spec, SUITE) if spec]
    folders = [*request["folders"], *(place for s in specs for place in s.submodule_search_locations or ())]
    _guard(tuple(os.path.realpath(folder) + os.sep for folder in folders), report)
    module = types.ModuleType("solution")
    try:
        exec(compile(request["source"], "solution.py", "exec"), vars(module))
    except Exception as error:
        return report({"reason": f"{type(error).__name__}: {error}"})
    if function := getattr(module, request["function"], None):
        report([outcome(function, batch, request["gradients"]) for batch in request["batches"]])
    else:
        report({"reason": f"solution.py has no function {request['function']}"})


if __name__ == "__main__":
    main()
