"""Which of the keys that bear on positions a configuration class of transformers reads, by its source.

A name counts as read where the class or one that it inherits from declares it, has it as a parameter or says it as a
text, and where the modeling files beside the class read it of a config, by getattr too. What all classes share is not
scanned: a class that has rope_parameters takes what it moves into them, and who asks for a causal mask, of windows or
chunks, is asked for what those functions read. per_layer_config is every class's.
"""

import ast
import dataclasses
import functools
import inspect
import re
import textwrap
from pathlib import Path

from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

CONFIG_KEYS = Path(__file__).resolve().parent.parent / "src/plan/keys/config_keys.inc"
# Where a class has the first and moves all others into it, as its base class does, the table has the first alone.
ROPE = "rope_parameters"
MOVED = {"rope_theta", "partial_rotary_factor", "rope_scaling"}
MOVE = "convert_rope_params_to_dict"
MASKS = {
    "create_causal_mask": {"is_causal"},
    "create_sliding_window_causal_mask": {"is_causal", "sliding_window"},
    "create_bidirectional_sliding_window_mask": {"sliding_window"},
    "create_chunked_causal_mask": {"attention_chunk_size"},
}

@functools.cache
def key_names():
    """All names of config_keys.inc."""
    rows = re.findall(r'POSENC_KEY\(k\w+,\s*((?:"[^"]*"\s*)+)', CONFIG_KEYS.read_text(encoding="ascii"))
    return {name for row in rows for text in re.findall(r'"([^"]*)"', row) for name in text.split()} | MOVED


def is_config(node):
    """Whether an expression looks like a config: config, self.config, text_config, config.get_text_config()."""
    match node:
        case ast.Call(func=called):
            return is_config(called)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return "config" in name or name == "cfg"
    return False


def is_nested(node):
    """Whether an expression is a config's attn_config."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name == "attn_config"
    return False


def texts(tree):
    """The texts of a tree but docstrings, and keys of dictionaries that are not what the class is made with."""
    others = set()
    for node in ast.walk(tree):
        match node:
            case ast.Module(body=[ast.Expr(value=doc), *_]) | ast.ClassDef(body=[ast.Expr(value=doc), *_]):
                others.add(id(doc))
            case ast.FunctionDef(body=[ast.Expr(value=doc), *_]):
                others.add(id(doc))
            case ast.Dict(keys=keys):
                others |= {id(key) for key in keys}
            case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()]):
                others.add(id(key))
            case ast.Subscript(value=owner, slice=key) if not is_kwargs(owner):
                others.add(id(key))
            case ast.Call(func=ast.Attribute(value=owner, attr="get" | "pop" | "setdefault"), args=[key, *_]) if (
                not is_kwargs(owner)
            ):
                others.add(id(key))
    return {node.value for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in others}


def is_kwargs(node):
    return isinstance(node, ast.Name) and node.id == "kwargs"


def moved_names(cls):
    """What a class moves into its rope_parameters."""
    of = next(ancestor for ancestor in cls.__mro__ if MOVE in vars(ancestor))
    if not of.__module__.startswith("transformers.models."):
        return MOVED
    tree = ast.parse(textwrap.dedent(inspect.getsource(vars(of)[MOVE])))
    calls = {node.func.attr for node in ast.walk(tree)
             if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)}
    found = texts(tree) & MOVED
    if MOVE in calls:
        found |= moved_names(of.__mro__[1])
    return found


def config_said(node):
    """The configuration class by which a module says what it is made with; empty where it says none, or several."""
    for inner in node.body:
        match inner:
            case ast.FunctionDef(name="__init__", args=ast.arguments(args=taken)):
                for arg in taken:
                    match arg:
                        case ast.arg(arg="config", annotation=ast.Name(id=name)):
                            return name
            case ast.AnnAssign(target=ast.Name(id="config"), annotation=ast.Name(id=name)):
                return name
    return ""


def is_own_config(node):
    """config, or self.config: what a module is made with, and no part of it."""
    match node:
        case ast.Name(id="config") | ast.Attribute(value=ast.Name(id="self"), attr="config"):
            return True
    return False


def is_read_of_whole(node):
    """Whether a node reads a name of the very config that a module is made with."""
    match node:
        case ast.Attribute(value=owner) | ast.Call(func=ast.Name(id="getattr" | "hasattr"), args=[owner, *_]):
            return is_own_config(owner)
    return False


@functools.cache
def names_of_modeling(path, of_nested, own, beside):
    """What the code of a model reads of configs, else of their attn_config. Not of those of the classes `beside`, but
    in modules that modules of the class `own` use; a class that has others as its parts is True in `beside`, and what
    is read of the parts counts."""
    source = path.read_text(encoding="utf-8")
    found = set() if of_nested else set().union(*(names for call, names in MASKS.items() if call in source))
    beside = dict(beside)
    body = ast.parse(source).body
    used = used_by(own, [node for node in body if isinstance(node, ast.ClassDef)])
    for module in body:
        said = config_said(module) if isinstance(module, ast.ClassDef) and module.name not in used else ""
        if said not in beside:
            found |= names_read(module, of_nested)
        elif beside[said]:
            found |= names_read(module, of_nested, is_read_of_whole)
    return found


def made_by(module):
    """Names of what a module calls, and of what it inherits from."""
    called = {node.func.id for node in ast.walk(module) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    return called | {base.id for base in module.bases if isinstance(base, ast.Name)}


def used_by(own, modules):
    """Names of the modules that say that they are made with the configuration class `own`, and of all that those make.
    The class of all models of a file, which initialises what it finds, makes none."""
    uses = {module.name: made_by(module) for module in modules if not module.name.endswith("PreTrainedModel")}
    open_names = [module.name for module in modules if config_said(module) == own]
    used = set()
    while open_names:
        name = open_names.pop()
        if name not in used:
            used.add(name)
            open_names += uses.get(name, set()) & uses.keys()
    return used


def names_read(tree, of_nested, is_left_out=lambda node: False):
    found = set()
    for node in ast.walk(tree):
        if is_left_out(node):
            continue
        match node:
            case ast.Attribute(value=owner, attr=name) if is_config(owner) and is_nested(owner) == of_nested:
                found.add(name)
            case ast.Call(func=ast.Name(id="getattr" | "hasattr"), args=[owner, ast.Constant(value=str(name)), *_]) if (
                is_nested(owner) == of_nested
            ):
                found.add(name)
    return found


def names_of_class(cls):
    """What a configuration class itself declares, takes and says."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    found = texts(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) | ast.arg(arg=name):
                found.add(name)
    for node in tree.body[0].body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                found.add(name)
    return found


def overwritten(cls):
    """Fields that a class sets to a value of other keys, whatever was given for them."""
    found, read = set(), set()
    for node in own_body(cls, "__post_init__"):
        read |= {other.attr for other in ast.walk(node) if isinstance(other, ast.Attribute) and is_loaded(other)}
        read |= texts(node)
        match node:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)]) if name not in read:
                found.add(name)
    return found & fields(cls)


def fields(cls):
    """What a class and those that it inherits from declare; what else is given is set after all of it."""
    return {field.name for field in dataclasses.fields(cls)}


def is_loaded(node):
    return isinstance(node.ctx, ast.Load)


def own_body(cls, name):
    """The statements of a method that the class itself has."""
    if name not in vars(cls):
        return []
    return ast.parse(textwrap.dedent(inspect.getsource(vars(cls)[name]))).body[0].body


def aliases(cls):
    """{alias: key} of the names of config_keys.inc under which a class takes other keys."""
    return {alias: key for alias, key in cls.attribute_map.items() if alias in key_names() and key in key_names()}


def siblings(cls):
    """(name, whether it has parts) of the configuration classes beside a class that do not share its code. One that is
    nothing but its parts is not among them: modules of a part say that they are made with it."""
    module = inspect.getmodule(cls)
    beside = [of for of in vars(module).values() if inspect.isclass(of) and of.__module__ == module.__name__]
    return frozenset(
        (of.__name__, bool(of.sub_configs)) for of in beside
        if hasattr(of, "sub_configs") and not issubclass(cls, of) and not issubclass(of, cls)
        and (not of.sub_configs or hasattr(of, "num_attention_heads"))
    )


def modeling_files(cls):
    """The code of the models that are made of a configuration class: beside it, or another type's (InternLM3's)."""
    beside = sorted(Path(inspect.getsourcefile(cls)).parent.glob("modeling_*.py"))
    name = MODEL_MAPPING_NAMES.get(cls.model_type)
    if beside or not isinstance(name, str):
        return beside
    all_models = Path(inspect.getsourcefile(cls)).parent.parent.glob("*/modeling_*.py")
    return sorted(path for path in all_models if f"class {name}(" in path.read_text(encoding="utf-8"))


def keys_that_are_read(cls, is_attn_config=False):
    """The names of config_keys.inc that a configuration class, or the models that are made of it, read."""
    found = set(cls.attribute_map) | set(cls.attribute_map.values())
    for ancestor in cls.__mro__:
        if ancestor.__module__.startswith("transformers.models."):
            found |= names_of_class(ancestor)
    for path in modeling_files(cls):
        found |= names_of_modeling(path, is_attn_config, cls.__name__, siblings(cls))
    if ROPE in found:
        found = found - {ROPE} | moved_names(cls)
        found -= {"rope_scaling"} & fields(cls)  # a field is not moved
        found = found - MOVED | {ROPE} if found >= MOVED else found
    if not hasattr(cls, "layer_types"):
        found.discard("layer_types")  # of a class beside it
    return found & key_names() - overwritten(cls)
