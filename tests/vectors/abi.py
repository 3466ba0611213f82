"""Runs every vector through the module as any other runtime would embed it: Python's wasmtime and the C ABI only.

    pip install wasmtime
    python3 tests/vectors/abi.py [js/engine/tillgate_bg.wasm]
"""

import base64
import json
import pathlib
import sys

import wasmtime

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Engine:
    """The module, called through its C ABI. Its imports serve its JavaScript face and are defined as traps."""

    def __init__(self, path):
        self.store = wasmtime.Store()
        module = wasmtime.Module.from_file(self.store.engine, str(path))
        linker = wasmtime.Linker(self.store.engine)
        linker.define_unknown_imports_as_traps(module)
        self.exports = linker.instantiate(self.store, module).exports(self.store)

    def call(self, name, data, *handle):
        memory, function = self.exports["memory"], self.exports["tillgate_" + name]
        memory.write(self.store, data, self.exports["tillgate_input"](self.store, len(data)))
        at, length = divmod(function(self.store, *handle, len(data)) & (1 << 64) - 1, 1 << 32)
        answer = bytes(memory.read(self.store, at, at + length))
        return answer[:1] == b"0", answer[1:]

    def release(self, handle):
        self.exports["tillgate_release"](self.store, handle)


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def sent(call, member):
    """The bytes of a member of a call, in any of its forms (`vectors/README.md`)."""
    if member + "Base64" in call:
        return base64.b64decode(call[member + "Base64"])
    if member + "Text" in call:
        return call[member + "Text"].encode()
    return compact(call[member])


def run(engine, call):
    for name in ("rates", "signature", "findings", "compare", "tests"):
        if any(member.startswith(name) for member in call):
            return engine.call(name, sent(call, name))
    ok, answer = engine.call("prepare", call["prepare"].encode() + b"\n" + sent(call, "document"))
    if not ok:
        return ok, answer
    handle = int(answer)
    try:
        for member, name in (("evaluate", "evaluate"), ("evaluateMany", "evaluate_many")):
            if member in call:
                return engine.call(name, call[member].encode() + b"\n" + sent(call, "request"), handle)
        return True, b"null"
    finally:
        engine.release(handle)


def main(path=ROOT / "js/engine/tillgate_bg.wasm"):
    engine, passed, failed = Engine(path), 0, 0
    for file in sorted((ROOT / "tests/vectors").rglob("*.json")):
        for vector in json.loads(file.read_text(encoding="utf-8"))["vectors"]:
            [(kind, answer)] = vector["answer"].items()
            expected, actual = (kind == "ok", compact(answer)), run(engine, vector["call"])
            if actual == expected:
                passed += 1
                continue
            failed += 1
            print(f"FAILED: {file.relative_to(ROOT)}: {vector['name']}\n  expected {expected}\n  actual   {actual}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
