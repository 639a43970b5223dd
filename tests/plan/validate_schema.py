"""Validates documents against docs/plan.schema.json or docs/compare.schema.json.

usage: validate_schema.py SCHEMA DOCUMENT.json...
       validate_schema.py SCHEMA --writer PROGRAM    PROGRAM DIRECTORY writes the documents
Beyond that each document is valid: the schema describes every property and closes every object, and a document with one
key too many, or one too few, is refused wherever that key stands.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("skipped: needs the Python module jsonschema, 4.0 or later (Debian: python3-jsonschema)")
    sys.exit(0)

# Keys that a plan may lack.
OPTIONAL = {"attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "short_mscale", "long_mscale",
            "axis_frequencies", "rotation_direction", "offset", "combine", "added", "how", "gated", "weighted_queries",
            "mixing", "begins_apart", "fed_by", "beyond_window", "by_blocks", "by_indexer"}
ALONE = {"axis_frequencies", "rotation_direction", "added", "how", "gated", "weighted_queries", "mixing", "begins_apart",
         "fed_by", "beyond_window", "by_blocks", "by_indexer"}  # wherever they stand
# Those that a scheme states only where it is not as usual: the member that the scheme stands in, its kind, the key.
UNUSUAL = {("score", "alibi", "geometric_slopes"), ("score", "t5", "axis"), ("score", "t5", "scaled"), ("score", "shaw", "by_keys"),
           ("value", "shaw", "sinusoidal"), ("input", "learned", "tokens"), ("input", "axial", "tokens"), ("scheme", "learned", "tokens"),
           ("scheme", "axial", "tokens")}


def schema_faults(schema, where="#"):
    """Objects that are open, and properties without a description of one line."""
    if isinstance(schema, list):
        for at, element in enumerate(schema):
            yield from schema_faults(element, f"{where}/{at}")
    if not isinstance(schema, dict):
        return
    if "properties" in schema:
        if schema.get("additionalProperties") is not False:
            yield f"{where}: open"
        for key, value in schema["properties"].items():
            if "\n" in value.get("description", "\n"):
                yield f"{where}/properties/{key}: not described in one line"
    for key, value in schema.items():
        yield from schema_faults(value, f"{where}/{key}")


def is_free(path):
    """Whether the keys of the object there are not stated: a plan's sources, the values that a comparison quotes."""
    return path == ("sources",) or (path[:1] == ("differences",) and path[2:3] in {("a",), ("b",)})


def objects(value, path=()):
    """Every object whose keys are stated, with its path."""
    if is_free(path):
        return
    if isinstance(value, dict):
        yield path, value
        for key, member in value.items():
            yield from objects(member, (*path, key))
    elif isinstance(value, list):
        for at, element in enumerate(value):
            yield from objects(element, (*path, at))


def mutation_faults(validator, plan, seen):
    """Tries each shape of object (its place in the document and its kind) once."""
    for path, found in objects(plan):
        shape = (tuple(step for step in path if isinstance(step, str)), found.get("kind"), found.get("rule"))
        if shape in seen:
            continue
        seen.add(shape)
        found["no_such_key"] = 1
        if validator.is_valid(plan):
            yield f"{path}: a key too many is accepted"
        del found["no_such_key"]
        is_rule = "rule" in found
        is_rotation = "pairing" in found
        is_row = "embedding_multiplier" in found
        for key in list(found):
            if key in OPTIONAL and (is_rule or key in ALONE or
                                    (key == "offset" and is_rotation) or (key == "combine" and is_row)):
                continue
            if shape[0] and (shape[0][-1], found.get("kind"), key) in UNUSUAL:
                continue
            kept = dict(found)
            del found[key]
            if validator.is_valid(plan):
                yield f"{path}: accepted without {key}"
            found.clear()
            found.update(kept)


def plans(arguments, directory):
    if arguments[0] != "--writer":
        return [pathlib.Path(name) for name in arguments]
    subprocess.run([arguments[1], directory], check=True)
    return sorted(pathlib.Path(directory).iterdir())


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def main(schema_name, *arguments):
    schema = json.loads(pathlib.Path(schema_name).read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    faults = list(schema_faults(schema))
    validator = Draft202012Validator(schema)
    seen = set()
    with tempfile.TemporaryDirectory() as directory:
        paths = plans(arguments, directory)
        for path in paths:
            plan = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse_constant)
            faults += [f"{path.name}: {error.json_path}: {error.message[:200]}"
                       for error in validator.iter_errors(plan)]
            faults += [f"{path.name}: {fault}" for fault in mutation_faults(validator, plan, seen)]
    print("\n".join(faults) or f"{len(paths)} documents are valid; {len(seen)} shapes of objects were mutated")
    return 1 if faults or not paths else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        print(__doc__)
        sys.exit(2)
    sys.exit(main(*sys.argv[1:]))
