"""Run a solution on batches in a process of its own, e.g. ``python -I child.py`` with a request as JSON.

It imports nothing of the suite. The parent compares the outcomes, so a solution cannot change its grade.
"""

import json
import os
import sys

SUITE = ("repro", "papers")
FORBIDDEN = ("subprocess.", "os.exec", "os.fork", "os.link", "os.posix_spawn", "os.rename", "os.spawn")
FORBIDDEN += ("os.system", "ctypes.dlopen", "socket.", "sqlite3.")


def packed(value):
    """Return a value as JSON. A tensor has its dtype and shape."""
    if hasattr(value, "detach"):
        kind = {"dtype": str(value.dtype).removeprefix("torch."), "shape": list(value.shape)}
        return kind | {"values": value.detach().flatten().tolist()}
    if hasattr(value, "tolist"):  # numpy
        return value.tolist()
    if isinstance(value, dict):
        return {str(key): packed(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [packed(each) for each in value]
    return value if isinstance(value, int | float | str | None) else {"other": type(value).__name__}


def unpacked(value):
    """Return the value that ``packed`` received, with lists for tuples."""
    if isinstance(value, list):
        return [unpacked(each) for each in value]
    if isinstance(value, dict) and "dtype" in value:
        import torch

        return torch.tensor(value["values"], dtype=getattr(torch, value["dtype"])).reshape(value["shape"])
    return {key: unpacked(each) for key, each in value.items()} if isinstance(value, dict) else value


def outcome(function, batch, gradients):
    """Call a function on a packed batch. Returns its packed ``value`` and ``gradients``, or its ``error``.

    A gradient is that of the output's weighted sum, with weights from 1 to 2.
    """
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
            grads = torch.autograd.grad((value * weights).sum(), tensors, allow_unused=True)
            pairs = zip(grads, tensors, strict=True)
            found["gradients"] = [packed(torch.zeros_like(t) if g is None else g) for g, t in pairs]
        return found
    except Exception as error:
        return {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}


def guard(folders, report):
    """End the process at an import of the suite or at an opened file of its ``folders``."""
    real, separator, text = os.path.realpath, os.sep, os.fspath

    def watch(event, arguments):
        reason = ""
        if event == "import" and arguments[0].partition(".")[0] in SUITE:
            reason = f"imports {arguments[0]}"
        elif event == "open" and not isinstance(arguments[0], int) and arguments[0] is not None:
            path = real(os.fsdecode(text(arguments[0])))
            if path.startswith("/proc/") or any(path.startswith(f"{each}{separator}") for each in folders):
                reason = f"opens {path}"
        elif event.startswith(FORBIDDEN):
            raise PermissionError(f"a solution cannot use {event}")
        if reason:
            report({"cheat": reason})
            os._exit(0)

    sys.addaudithook(watch)


def main():
    """Read a request from standard input and write the outcomes as one line of JSON."""
    import importlib.util
    import types

    request, output = json.load(sys.stdin), os.dup(1)
    os.dup2(2, 1)  # prints of the solution

    def report(answer):
        with open(output, "w", encoding="utf-8", closefd=False) as file:
            file.write(json.dumps(answer) + "\n")

    found = [importlib.util.find_spec(name) for name in SUITE]
    installed = [place for spec in found if spec for place in spec.submodule_search_locations or ()]
    for name in request["modules"]:
        importlib.import_module(name)
    guard(tuple(map(os.path.realpath, [*request["folders"], *installed])), report)
    module = types.ModuleType("solution")
    try:
        exec(compile(request["source"], "solution.py", "exec"), vars(module))
        function = getattr(module, request["function"])
    except Exception as error:
        report({"error": f"{type(error).__name__}: {error}"})
        return
    report([outcome(function, batch, request["gradients"]) for batch in request["batches"]])


if __name__ == "__main__":
    main()
