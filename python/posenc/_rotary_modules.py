"""The rotary modules of a model of transformers, and the functions that apply RoPE with them, replaced by posenc.

A model has a module that makes cos and sin of positions once a forward pass, XRotaryEmbedding, and its attention gives
them with queries and keys to a function of its file, apply_rotary_pos_emb or the like. The arrangement of cos and sin
differs (a number a pair, both halves, each number twice, complex), and so does the pairing, which only the function
knows. Rotary gives posenc's numbers in the model's arrangement; they carry a Rotation, by which the function that stands
in for the model's rotates queries and keys by the plan's pairing, and which knows nothing of arrangements. What rotates
clockwise has negative sines, which nanochat's own function would negate again: it is not given them.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from . import _operators, _posenc
from ._composed.rotation import Pairs
from ._composed.rotation import Rotation as OfRope
from ._forward_mode import has_duals, is_transformed, one_at_a_time
from ._handed.angles_now import AnglesAtEntry
from ._handed.own_functions import require_own, stands_in
from ._handed.positions import whole
from ._held import NotCopied
from ._strides import adjacent, dense

# What rotates; what makes the numbers is found by its class.
_APPLY = re.compile(r"apply_.*rotary")
_ANGLES = ("cos", "sin", "freqs_cis", "freqs_cos", "freqs_sin")
_QUERIES = ("q", "xq", "x", "tensor", "query")
_KEYS = ("k", "xk", "key")


def cos_sin_by_torch(rope: _posenc.Rope, places: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """What posenc.cos_sin gives, [tokens, pairs] in float32, where places, [axes, tokens], are: nothing is copied from there."""
    rotation = OfRope(_posenc.Rotate(scheme=rope))
    cos, sin = rotation.angles([axis[None] for axis in places], rotation.frequencies(length, None, places.device))
    return cos[0].to(torch.float32), sin[0].to(torch.float32)


class NoRotation:
    """Of a layer that the plan gives no RoPE, in a model that has it."""

    def queries(self, x: Tensor, token_axis: int) -> Tensor:
        return x

    def keys(self, x: Tensor, token_axis: int) -> Tensor:
        return x


class Rotation:
    """cos and sin of the tokens of one forward pass, and whatever rotates by them."""

    def __init__(self, rope: _posenc.Rope, cos: Tensor, sin: Tensor, batch: int, composed: bool = False) -> None:
        self.rope = rope
        self.composed = composed  # of operations of torch, on any device
        self.cos = cos  # [batch * tokens, pairs], as sin
        self.sin = sin
        self.batch = batch
        self.tokens = cos.shape[0] // batch
        self._tables: dict[int, _posenc.RotaryTable] = {}
        self.calls = 0  # of functions that rotate by it

    def _first_channel(self, width: int) -> int:
        """Of heads of `width` channels: models with a part that is not rotated may give the other alone."""
        if width < self.rope.dim:
            raise ValueError(
                f"[use] plan must have a rotation of at most {width} channels, which is what the model lets rotate, but has "
                f"one of {self.rope.dim}"
            )
        return 0 if width == self.rope.dim else self.rope.first_channel

    def _table(self, width: int) -> _posenc.RotaryTable:
        if width not in self._tables:
            first = self._first_channel(width)
            layout = _posenc.RotaryLayout(
                pairing=self.rope.pairing, head_dim=width, first_channel=first, dim=self.rope.dim
            )
            self._tables[width] = _posenc.table_from_cos_sin(layout, self.cos, self.sin)
        return self._tables[width]

    def queries(self, x: Tensor, token_axis: int) -> Tensor:
        """x: [batch, heads, tokens, channels] or [batch, tokens, heads, channels], as token_axis says."""
        self.calls += 1
        by_head = x if token_axis == 2 else x.transpose(1, 2)
        rotated = self._composed(by_head) if self.composed else self._by_kernel(by_head)
        return rotated if token_axis == 2 else rotated.transpose(1, 2)

    def _by_kernel(self, x: Tensor) -> Tensor:
        rows = torch.arange(self.cos.shape[0]).view(self.batch, -1)
        places = rows.expand(x.shape[0], -1).reshape(1, -1).contiguous()
        rotate = _Rotated.apply if has_gradient(x) or is_transformed() else _rotated
        rotated: Tensor = rotate(x, self._table(x.shape[-1]), places, "forward")
        return rotated

    def _composed(self, x: Tensor) -> Tensor:
        pairs = Pairs(self.rope.pairing, self._first_channel(x.shape[-1]), self.rope.dim, [])
        cos, sin = (of.view(self.batch, self.tokens, -1) for of in (self.cos, self.sin))
        return pairs.rotate(x.float(), cos, sin).to(x.dtype)

    def keys(self, x: Tensor, token_axis: int) -> Tensor:
        return self.queries(x, token_axis)


def has_gradient(*read: Tensor | None) -> bool:
    """Whether torch wants to know what was read, for a backward pass."""
    return torch.is_grad_enabled() and any(of is not None and of.requires_grad for of in read)


def _rotated(x: Tensor, table: _posenc.RotaryTable, places: Tensor, direction: str) -> Tensor:
    return _posenc.rotate(adjacent(x.detach()), table=table, positions=places, direction=direction)


class _Rotated(torch.autograd.Function):
    """_rotated with its derivatives: backward rotates by the transpose, and forward a tangent as x."""

    @staticmethod
    def forward(x: Tensor, table: _posenc.RotaryTable, places: Tensor, direction: str) -> Tensor:
        return _rotated(forward_ad.unpack_dual(x).primal if has_duals() else x, table, places, direction)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, *ctx.by = inputs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        table, places, direction = ctx.by
        back = "transpose" if direction == "forward" else "forward"
        return _Rotated.apply(dense(grads[0]), table, places, back), None, None, None

    @staticmethod
    def jvp(ctx: Any, x: Tensor, *others: None) -> Any:  # type: ignore[override]
        return _Rotated.apply(dense(x), *ctx.by)

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, *others: Any) -> tuple[Tensor, int]:
        return one_at_a_time(_Rotated.apply, info, in_dims, x, *others)


def _arranged(rows: Tensor, like: Tensor, in_halves: Callable[[], bool]) -> Tensor:
    """rows, [.., pairs], as the model's module arranges them: as they are, or each number twice, where it is asked in_halves
    beside or behind all others."""
    if like.shape[-1] == rows.shape[-1]:
        return rows
    return torch.cat((rows, rows), -1) if in_halves() else rows.repeat_interleave(2, -1)


_HOOKS = ("_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called")
_HOOKS += ("_forward_pre_hooks", "_forward_pre_hooks_with_kwargs")
# Of a Rotary itself, whatever attributes the original has.
_OWN = ("composed", "forward", "original", "ropes", "angles", "length", "made_in_graph", "halves", "in_words", "at_entry")
_OWN += ("training",)


class Rotary(NotCopied, nn.Module):
    """In place of a rotary module: the same call, posenc's numbers."""

    def __init__(
        self,
        original: nn.Module,
        ropes: Mapping[str | None, _posenc.Rope | None],
        angles: str,
        length: int | None,
        composed: bool,
    ) -> None:
        super().__init__()
        # Hooks before and behind a call are of this one, which is called in its place.
        vars(self).update({name: vars(original)[name] for name in _HOOKS})
        self.composed = composed
        self.original = original
        self.ropes = ropes  # by layer type; None where the model has one kind
        self.angles = angles
        self.length = length
        self.made_in_graph = False
        self.halves: dict[_posenc.Rope, bool] = {}
        # For graphs, which do not look into plans: words, pairs, arrangement.
        self.in_words: dict[str | None, tuple[str, int, str] | None] = {}
        for kind, rope in ropes.items():
            words = None if rope is None else _operators.words_of_rope(rope)
            self.in_words[kind] = None if words is None else (words, rope.pairs, self._arrangement(rope, kind))
        self.at_entry = AnglesAtEntry(original)

    def __getattr__(self, name: str) -> Any:
        """What else models ask of a rotary module (its configuration, its layer types): the original's."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "original":
                raise
            return getattr(self.original, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """What is written over something that the original has is the original's, which is compared with what it was."""
        original = vars(self).get("_modules", {}).get("original")
        is_theirs = original is not None and name not in _OWN and hasattr(original, name)
        setattr(original, name, value) if is_theirs else super().__setattr__(name, value)

    def _arrangement(self, rope: _posenc.Rope, layer_type: str | None) -> str:
        named = {"layer_type": layer_type} if "layer_type" in inspect.signature(self.original.forward).parameters else {}
        device = next((of.device for of in self.original.buffers()), None)
        shape = (len(rope.axes.names), 1, 1) if len(rope.axes.names) > 1 else (1, 1)
        ones = torch.ones(shape, dtype=torch.int64, device=device)
        try:
            probe = self.original.forward(torch.zeros(1, device=device), ones, **named)
        except Exception:
            return "unknown"
        self._require_width(rope, probe)
        if isinstance(probe, Tensor):
            return "complex"
        if probe[0].shape[-1] == rope.pairs:
            return "pairs"
        return "halves" if bool((probe[0][..., : rope.pairs] == probe[0][..., rope.pairs :]).all()) else "each twice"

    def _require_width(self, rope: _posenc.Rope, probe: Any) -> None:
        """ValueError for a rotation of other channels than the module makes angles of: one for a pair, or one for each."""
        is_complex = isinstance(probe, Tensor)
        width = (probe if is_complex else probe[0]).shape[-1]
        if width == rope.pairs or (width == rope.dim and not is_complex):
            return
        made = 2 * width if is_complex else width
        raise ValueError(
            f"[use] plan must have a rotation of {made} channels, as {type(self.original).__name__} makes, but has one of "
            f"{rope.dim}"
        )

    def _in_graph(self, x: Tensor, position_ids: Tensor, layer_type: str | None) -> Any:
        """What a graph can have: angles in float32, of one rope for each type of layer."""
        if position_ids.is_floating_point() or position_ids.is_complex():
            raise NotImplementedError(f"[use] position_ids must be of whole numbers in a graph, but are of {position_ids.dtype}")
        made = self.in_words[layer_type if layer_type in self.in_words else None]
        if made is None or made[2] == "unknown":
            raise NotImplementedError("[use] angles of this model are not known in a graph")
        words, pairs, arrangement = made
        self.made_in_graph = True  # where a graph ends before the layers do, what they are given says nothing of it
        batch = position_ids.shape[-2]
        axes = position_ids.reshape(-1, batch * position_ids.shape[-1])
        cos, sin = _operators.model_angles(axes, words, pairs, self.length or 0, self.angles)
        cos, sin = cos.view(batch, -1, pairs), sin.view(batch, -1, pairs)
        if arrangement == "complex":
            return torch.complex(cos, sin)
        if arrangement == "halves":
            return torch.cat((cos, cos), -1), torch.cat((sin, sin), -1)
        if arrangement == "each twice":
            return cos.repeat_interleave(2, -1), sin.repeat_interleave(2, -1)
        return cos, sin

    def forward(self, x: Tensor, position_ids: Tensor, layer_type: str | None = None) -> Any:
        if torch.compiler.is_compiling():
            return self._in_graph(x, position_ids, layer_type)
        rope = self.ropes[layer_type] if layer_type in self.ropes else self.ropes[None]
        named = {} if layer_type is None else {"layer_type": layer_type}
        probe = self.original.forward(x, torch.ones_like(position_ids[..., :1]), **named)
        self.at_entry.compare(self.original)  # the probe is what its rule of length, if any, has for position 1
        places = whole(position_ids)
        made: dict[_posenc.Rope | None, Any] = {}

        def of_rope(rope: _posenc.Rope | None) -> Any:
            """What this forward pass gives a layer that rotates by `rope`, made once."""
            if rope not in made:
                made[rope] = self._rotated(rope, probe, places)
                _carry(made[rope], "posenc_of_rope", of_rope)
            return made[rope]

        return of_rope(rope)

    def _rotated(self, rope: _posenc.Rope | None, probe: Any, position_ids: Tensor) -> Any:
        batch = position_ids.shape[-2]
        if rope is None:
            return self._unrotated(probe, batch, position_ids.shape[-1])
        axes = position_ids.reshape(-1, *position_ids.shape[-2:]).shape[0]
        length = self.length or max(1, int(position_ids.max()) + 1)  # positions may all be negative
        places = position_ids.reshape(axes, -1)[: len(rope.axes.names)]
        if self.composed and places.device.type != "cpu":  # where they are
            cos, sin = cos_sin_by_torch(rope, places, length)
        else:
            places = places.to("cpu").contiguous()
            made = _posenc.cos_sin(rope, places, length=length, angles=self.angles)
            cos, sin = (torch.as_tensor(rows).to(position_ids.device) for rows in made)
        shaped = [rows.view(batch, -1, rows.shape[-1]) for rows in (cos, sin)]
        if isinstance(probe, Tensor):
            given: Any = torch.complex(*shaped)
        else:
            in_halves = lambda: self._in_halves(rope, probe[0])  # noqa: E731
            given = tuple(_arranged(rows, seen, in_halves).to(seen.dtype) for rows, seen in zip(shaped, probe))
        _carry(given, "posenc_rotation", Rotation(rope, cos, sin, batch, self.composed))
        return given

    def _in_halves(self, rope: _posenc.Rope, probe: Tensor) -> bool:
        """Whether the model has each number of cos again behind all of them, by its answer for a token at position 1. Found once:
        another device would be waited for each time."""
        if rope not in self.halves:
            pairs = probe.shape[-1] // 2
            self.halves[rope] = bool((probe[..., :pairs] == probe[..., pairs:]).all())
        return self.halves[rope]

    def _unrotated(self, probe: Any, batch: int, tokens: int) -> Any:
        device = (probe if isinstance(probe, Tensor) else probe[0]).device
        ones, zeros = torch.ones(batch, tokens, 1, device=device), torch.zeros(batch, tokens, 1, device=device)
        if isinstance(probe, Tensor):
            given: Any = torch.complex(ones, zeros).expand(-1, -1, probe.shape[-1]).clone()
        else:
            rows = zip((ones, zeros), probe)
            given = tuple(of.to(seen.dtype).expand(-1, -1, seen.shape[-1]).clone() for of, seen in rows)
        _carry(given, "posenc_rotation", NoRotation())
        return given


def _carry(given: Tensor | tuple[Tensor, ...], name: str, value: Any) -> None:
    for role, of in enumerate((given,) if isinstance(given, Tensor) else given):
        setattr(of, name, value)
        of.posenc_made = (role, _written(of))  # type: ignore[attr-defined]


def _written(x: Tensor) -> Tensor | int:
    """What tells whether somebody wrote into it since: torch counts that, but not in inference mode."""
    return x.clone() if x.is_inference() else x._version


def _are_as_made(angles: Sequence[Any]) -> bool:
    """Whether these are cos and sin as a Rotary gave them: all of them, each in its place, and not written to."""
    for role, of in enumerate(angles):
        made, before = getattr(of, "posenc_made", (None, 0))
        if made != role or not (torch.equal(of, before) if isinstance(before, Tensor) else of._version == before):
            return False
    return bool(angles)


def of_layer(given: Any, rope: _posenc.Rope | None) -> Any:
    """What a Rotary gave, for a layer that rotates by `rope`. ValueError for what no Rotary gave."""
    angles = (given,) if isinstance(given, Tensor) else tuple(given or ())
    if not _are_as_made(angles) or not hasattr(angles[0], "posenc_of_rope"):
        raise ValueError("[use] plan must rotate all layers alike: the model hands its layers no angles that posenc made")
    return angles[0].posenc_of_rope(rope)


def _given_rotation(
    given: dict[str, Any], ropes: Mapping[str | None, _posenc.Rope | None], keeps_table: bool
) -> Rotation | NoRotation | None:
    """What cos and sin carry, and nothing where somebody changed one; or cos and sin themselves, where the model keeps a
    table, a number a pair (GPT-J): nothing of theirs says by whom they were made, so that of other models, which may have
    towers, they are not taken."""
    angles = [given[name] for name in _ANGLES if isinstance(given.get(name), Tensor)]
    if any(hasattr(of, "posenc_rotation") for of in angles):
        return angles[0].posenc_rotation if _are_as_made(angles) else None
    cos, sin = given.get("cos"), given.get("sin")
    rope = ropes.get(None)
    if rope is None or not keeps_table or not isinstance(cos, Tensor) or cos.shape[-1] != rope.pairs:
        return None
    rows = [x.reshape(-1, rope.pairs).float().contiguous() for x in (cos, sin)]
    return Rotation(rope, *rows, batch=cos.shape[0], composed=cos.device.type != "cpu")


def _token_axis(original: Callable[..., Any], given: dict[str, Any], tokens: int) -> int:
    """Of queries and keys, which have tokens before heads or heads before tokens."""
    # Where cos gets an axis for the heads.
    if given.get("unsqueeze_dim") is not None:
        return 3 - given["unsqueeze_dim"]
    x = next(given[name] for name in _QUERIES if given.get(name) is not None)
    if x.shape[1] != x.shape[2] or tokens == 1:
        return 2 if x.shape[2] == tokens else 1
    # As many heads as tokens: of one head the function makes one; of one token, as many as there are angles.
    cut = {name: given[name][:, :, :1] for name in (*_QUERIES, *_KEYS) if isinstance(given.get(name), Tensor)}
    made = original(**{**given, **cut})
    return 1 if (made if isinstance(made, Tensor) else made[0]).shape[2] == 1 else 2


def _by_sequence(given: dict[str, Any]) -> bool:
    """Whether angles are [batch, tokens, ..], as those of text are, and of no tower."""
    return all(given[name].dim() == 3 for name in _ANGLES if isinstance(given.get(name), Tensor))


def _standing_in(
    original: Callable[..., Any],
    ropes: Mapping[str | None, _posenc.Rope | None],
    rotaries: list[Rotary],
    keeps_table: bool,
    is_shared: bool,
) -> Callable[..., Any]:
    """What a model's own function to apply RoPE is replaced by while posenc is in use. is_shared: a tower calls it too."""
    signature = inspect.signature(original)
    in_graph = _standing_in_a_graph(signature, ropes, {made[2] for of in rotaries for made in of.in_words.values() if made})

    def apply(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            if is_shared:
                raise NotImplementedError("[use] whether a tower or the text rotates is not known in a graph")
            return in_graph(*args, **kwargs)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        rotation = _given_rotation(given, ropes, keeps_table)
        if rotation is None and any(of.made_in_graph for of in rotaries) and _by_sequence(given):
            if is_shared:
                raise NotImplementedError("[use] whether a tower or the text rotates is not known where a graph ends")
            return in_graph(*args, **kwargs)
        if rotation is None:
            return original(*args, **kwargs)
        token_axis = 2 if isinstance(rotation, NoRotation) else _token_axis(original, given, rotation.tokens)
        rotated = [rotation.queries(given[name], token_axis) for name in _QUERIES if given.get(name) is not None]
        rotated += [rotation.keys(given[name], token_axis) for name in _KEYS if given.get(name) is not None]
        return rotated[0] if len(rotated) == 1 else tuple(rotated)

    return stands_in(apply)


def _standing_in_a_graph(
    signature: inspect.Signature, ropes: Mapping[str | None, _posenc.Rope | None], arrangements: set[str]
) -> Callable[..., Any]:
    """The same for graphs: by rows of cos and sin, as _in_graph arranges them."""
    names = list(signature.parameters)
    defaults = {name: of.default for name, of in signature.parameters.items() if of.default is not of.empty}
    layouts = {None if rope is None else (rope.pairing, rope.first_channel, rope.pairs) for rope in ropes.values()}
    layout = next(iter(layouts)) if len(layouts) == 1 and len(arrangements) < 2 else None
    are_halves = "halves" in arrangements

    def apply(*args: Any, **kwargs: Any) -> Any:
        if layout is None:
            raise NotImplementedError("[use] layers that rotate in several ways are not known in a graph")
        pairing, first_channel, pairs = layout
        given = {**defaults, **dict(zip(names, args)), **kwargs}
        angles = next(given[name] for name in _ANGLES if given.get(name) is not None)
        if angles.is_complex():
            cos, sin, token_axis = angles.real, angles.imag, None
        else:
            cos, sin, token_axis = given["cos"], given["sin"], given.get("unsqueeze_dim")
        if cos.shape[-1] != pairs:
            cos = cos[..., :pairs] if are_halves else cos[..., ::2]
            sin = sin[..., :pairs] if are_halves else sin[..., ::2]
        batch, tokens = cos.shape[0], cos.shape[1]
        rows = [of.reshape(-1, pairs).float() for of in (cos, sin)]
        rotated = []
        for name in (*_QUERIES, *_KEYS):
            x = given.get(name)
            if x is None:
                continue
            if token_axis is None and x.shape[1] == x.shape[2] and tokens != 1:
                raise NotImplementedError("[use] as many heads as tokens cannot be told apart in a graph of this model")
            axis = 3 - token_axis if token_axis is not None else 2 if x.shape[2] == tokens else 1
            by_head = x if axis == 2 else x.transpose(1, 2)
            out = _operators.model_rotate(by_head, rows[0], rows[1], batch, pairing, first_channel, "forward")
            rotated.append(out if axis == 2 else out.transpose(1, 2))
        return rotated[0] if len(rotated) == 1 else tuple(rotated)

    return apply


KEEP_ANGLES = ("GPTJAttention", "CodeGenAttention")


def is_rotary(module: nn.Module) -> bool:
    return type(module).__name__.endswith("RotaryEmbedding")


def rotary_modules(named_modules: Iterable[tuple[str, nn.Module]]) -> Iterator[tuple[str, nn.Module]]:
    """Of these, with their names; also those that a Rotary stands for. Those that take other arguments are not among
    them, as of most towers."""
    modules = list(named_modules)
    replaced = {id(module.original): name for name, module in modules if isinstance(module, Rotary)}
    for name, module in modules:
        name = replaced.get(id(module), name)
        if not is_rotary(module):
            continue
        if list(inspect.signature(module.forward).parameters)[:2] == ["x", "position_ids"]:
            yield name, module


def angle_buffers(
    named_modules: Iterable[tuple[str, nn.Module]], rope_of: Callable[[str], _posenc.Rope | None], angles: str
) -> Iterator[tuple[str, nn.Module, str, Tensor]]:
    """Tables of sin and cos side by side that attention modules of GPT-J and CodeGen keep, as posenc has them."""
    for name, module in named_modules:
        if type(module).__name__ in KEEP_ANGLES:
            before, rope = module.embed_positions, rope_of(name)
            if rope is None:
                cos, sin = (torch.full((before.shape[0], before.shape[1] // 2), at) for at in (1.0, 0.0))
            else:
                cos, sin = _posenc.cos_sin(rope, torch.arange(before.shape[0]), angles=angles)
            if 2 * cos.shape[1] != before.shape[1]:
                raise ValueError(
                    f"[use] plan must have a rotation of {before.shape[1]} channels, as {name} has, but has one of "
                    f"{2 * cos.shape[1]}"
                )
            yield name, module, "embed_positions", torch.cat((sin, cos), -1).to(before)


def apply_functions(
    modules: Iterable[nn.Module], others: Iterable[nn.Module], ropes: Mapping[str | None, _posenc.Rope | None]
) -> Iterator[tuple[Any, str, Callable[..., Any]]]:
    """Of the files that the modules are from: the file's module, the name, what stands in. What only others call, the
    towers of the model, stays; so does what only indexers of sparse attention call, which may pair channels otherwise than
    attention (DeepSeek-V3.2): they rotate by the same angles."""
    modules = list(modules)
    rotaries = [module for module in modules if isinstance(module, Rotary)]
    keeps_table = any(type(module).__name__ in KEEP_ANGLES for module in modules)
    indexers = [module for module in modules if type(module).__name__.endswith("Indexer")]
    attending = [module for module in modules if not type(module).__name__.endswith("Indexer")]
    own, theirs, of_indexers = (_names_in_forward({type(module) for module in of}) for of in (attending, others, indexers))
    for file in sorted({type(module).__module__ for module in modules}):
        if not file.startswith("transformers.models."):
            continue
        for name, value in list(vars(sys.modules[file]).items()):
            called_by = [names.get(file, ()) for names in (own, theirs, of_indexers)]
            is_left = name not in called_by[0] and (name in called_by[1] or name in called_by[2])
            if callable(value) and _APPLY.match(name) and not is_left:
                require_own(f"{file}.{name}", value)
                yield sys.modules[file], name, _standing_in(value, ropes, rotaries, keeps_table, name in called_by[1])


def _names_in_forward(classes: set[type]) -> dict[str, set[str]]:
    """By file, the names that methods of these classes have in their code."""
    names: dict[str, set[str]] = {}
    for of in (base for one in classes for base in one.__mro__):
        for method in vars(of).values():
            code = getattr(inspect.unwrap(method), "__code__", None) if callable(method) else None
            names.setdefault(of.__module__, set()).update(code.co_names if code is not None else ())
    return names
