"""A model of transformers whole, every width and every layer of its configuration, with weights that cost nothing.

A linear layer's weight is one number for each output, r, repeated along the inputs (a view that takes no memory), and
its output is r times the root mean square of what comes in. An embedding has one row for all tokens. So all tokens
have the same hidden states through all layers, whatever attention does: what differs between the queries of two tokens
is what the class does with their positions. Buffers (frequencies, sines, masks) are what the class's own code makes.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import math
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from transformers import initialization
from transformers.models.auto import modeling_auto
from transformers.pytorch_utils import Conv1D

# Of more elements no memory is taken while a model is made, and no product is computed.
LARGE = 2**20
_LARGEST = 8.0
# Tables whose rows must differ, as scores tell which row was taken.
_DISTANCES = re.compile(r"rel|distance|bias_table|pairwise")
_OF_DISTANCES = re.compile(r"position_bias_mlp|rel_pos\w*_bias")  # a perceptron of distances, or their table
# Of object queries, which differ in these alone; of tables that layers add, and not the input alone.
_ADDED = re.compile(r"quer(y|ies)_(pos|embed)|refpoint|reference_point_embed|mid_position|(mask|iou|hf)_token")
# Of sines alone: they have one size wherever they are, so that these project as they do in a model.
_OF_SINES = re.compile(
    r"(pos\w*_proj|ref_point_head\.layers\.\d|aifi\S*\.[qk]_proj)\.weight$"
    r"|query_transformer\S*multihead_attn\.in_proj_weight$"
)
_IN_PLACE = re.compile(r"^(normal|uniform|zero|fill|copy|mul|add|div|trunc_normal|clamp)_$")


class NoModel(Exception):
    """A configuration that is part of others': its layers are run, and judged, where they are a part."""


class _Cheap(TorchFunctionMode):
    """Large tensors whose numbers are overwritten anyway are one number repeated."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in (torch.empty, torch.randn, torch.rand, torch.zeros, torch.ones):
            most = LARGE if func in (torch.empty, torch.randn, torch.rand) else 64 * LARGE  # masks are filled in place
            sizes = kwargs.get("size", args[0] if len(args) == 1 and not isinstance(args[0], int) else args)
            sizes = tuple(sizes) if isinstance(sizes, (tuple, list)) else (sizes,)
            sizes = tuple(int(of) if isinstance(of, Tensor) and of.dim() == 0 else of for of in sizes)
            if all(isinstance(of, int) for of in sizes) and math.prod(sizes) > most and kwargs.get("out") is None:
                return torch.zeros(1, dtype=kwargs.get("dtype")).expand(sizes)
        if _IN_PLACE.match(getattr(func, "__name__", "")) and isinstance(args[0], Tensor) and _is_repeated(args[0]):
            return args[0]
        return func(*args, **kwargs)


def _is_repeated(x: Tensor) -> bool:
    return x.numel() > LARGE and 0 in x.stride()


# Where AutoModel's is for another configuration.
_CLASSES = {
    "kyutai_speech_to_text": "KyutaiSpeechToTextForConditionalGeneration",
    "musicgen": "MusicgenForConditionalGeneration",
    "speecht5": "SpeechT5ForSpeechToText",
    "musicgen_melody": "MusicgenMelodyForConditionalGeneration",
}


def model_class(config: Any) -> type[nn.Module] | None:
    """The class that AutoModel takes, or another that has this configuration; None where transformers has no model."""
    kind = type(config)
    if config.model_type in _CLASSES:
        return getattr(transformers, _CLASSES[config.model_type])  # type: ignore[no-any-return]
    mappings = [name for name in vars(modeling_auto) if re.match(r"^MODEL_(FOR_\w+_|WITH_LM_HEAD_)?MAPPING$", name)]
    for name in sorted(mappings, key=lambda name: name != "MODEL_MAPPING"):
        mapping = getattr(modeling_auto, name)
        if kind in mapping:
            try:
                found = mapping[kind]
            except ValueError:  # a class that is named there, and not among the names of its package
                continue
            return found[0] if isinstance(found, (tuple, list)) else found
    classes = [of for file in _modeling_files(kind) for of in vars(file).values() if _is_model_of(of, kind)]
    return min(classes, key=lambda of: ("For" in of.__name__, len(of.__name__)), default=None)


def _modeling_files(kind: type) -> Iterator[Any]:
    package = importlib.import_module(kind.__module__.rpartition(".")[0])
    for found in pkgutil.iter_modules(package.__path__):
        if found.name.startswith("modeling_"):
            with contextlib.suppress(ImportError):
                yield importlib.import_module(f"{package.__name__}.{found.name}")


def _is_model_of(value: Any, kind: type) -> bool:
    """A model of just this configuration: by its own word, or by the annotation of its first argument."""
    if not isinstance(value, type) or not issubclass(value, transformers.PreTrainedModel):
        return False
    if value.__name__.endswith("PreTrainedModel") or not value.__module__.startswith(
        kind.__module__.rpartition(".")[0]
    ):
        return False
    return getattr(value, "config_class", None) is kind or getattr(value, "config", None) is kind


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    before = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity(logging.CRITICAL)
    try:
        yield
    finally:
        transformers.logging.set_verbosity(before)


def build(config: Any, attention: str = "eager") -> nn.Module:
    """In eval mode and float32, with eager attention: its scores are what the class's own code computes."""
    of = model_class(config)
    if of is None:
        raise NoModel("transformers has no model class of its own for it")
    config._attn_implementation = attention
    config._experts_implementation = "eager"
    with _quiet(), initialization.no_init_weights(), _Cheap():
        model = of(config)
    model.eval()
    _stand_in(model)
    return model


def _stand_in(model: nn.Module) -> None:
    generator = torch.Generator().manual_seed(1)
    for path, module in model.named_modules():
        for name, parameter in list(module._parameters.items()):
            if parameter is not None:
                weight = _weight(module, f"{path}.{name}", parameter, generator)
                module._parameters[name] = nn.Parameter(weight.to(torch.float32), requires_grad=False)
        for name, buffer in list(module._buffers.items()):
            if buffer is not None and buffer.dtype in (torch.float16, torch.bfloat16):
                module._buffers[name] = buffer.float()
            elif buffer is not None and type(module).__name__.endswith("FrozenBatchNorm2d"):  # was never filled
                # As many channels as are summed up by the next convolution: features must not outgrow positions.
                of_channels = {"weight": 1.0, "running_var": float(len(buffer))}
                module._buffers[name] = torch.full(buffer.shape, of_channels.get(name, 0.0))
            elif buffer is not None and buffer.dim() == 2 and "embed" in name and not bool(buffer.any()):
                module._buffers[name] = torch.randn(buffer.shape[-1], generator=generator).expand(buffer.shape)


def _weight(module: nn.Module, path: str, parameter: Tensor, generator: torch.Generator) -> Tensor:
    shape, kind, name = parameter.shape, type(module).__name__, path.rpartition(".")[2]

    def drawn(*sizes: int) -> Tensor:
        return torch.randn(sizes, generator=generator)

    if kind == "RoFormerSinusoidalPositionalEmbedding":  # no input of the first layer: what it rotates by
        return module.create_weight()  # type: ignore[operator, no-any-return]
    if name == "original0":  # the length of a normalised weight (torch.nn.utils.parametrizations)
        return torch.zeros(shape)
    if name == "original1":
        return torch.ones(1).expand(shape)
    if name in ("scaling", "per_dim_scale") and parameter.dim() == 1:  # of channels of q: softplus of it is 1
        return torch.full(shape, math.log(math.e - 1))
    if "sink" in name:  # far below every score, so that hidden states stay as they are
        return torch.full(shape, -1e4)
    if "Norm" in kind and parameter.dim() <= 1:
        return torch.zeros(shape) if "bias" in name else torch.ones(shape)
    if parameter.dim() == 0:
        return torch.ones(())
    if parameter.dim() == 1:
        of_convolution = isinstance(module, nn.modules.conv._ConvNd)
        return torch.zeros(shape) if "bias" in name and not of_convolution else drawn(*shape)
    if isinstance(module, nn.modules.conv._ConvNd):
        return _convolution(module, drawn(shape[0]), parameter)
    if isinstance(module, Conv1D):
        return drawn(shape[1]).expand(shape)
    is_drawn = _OF_DISTANCES.search(path) or _OF_SINES.search(path)
    if (isinstance(module, nn.Linear) or name == "in_proj_weight") and is_drawn and parameter.numel() <= LARGE:
        return drawn(*shape) / math.sqrt(shape[-1])
    if isinstance(module, nn.Linear) or kind.endswith("Linear") or name == "in_proj_weight":
        return drawn(shape[0]).unsqueeze(1).expand(shape) if parameter.dim() == 2 else drawn(shape[-1]).expand(shape)
    if (_DISTANCES.search(path) or _ADDED.search(path)) and parameter.numel() <= 4 * LARGE:
        return drawn(*shape)
    return drawn(shape[-1]).expand(shape)


def _convolution(module: Any, of_output: Tensor, weight: Tensor) -> Tensor:
    """A constant stays one: at the borders too, where a kernel sees padding."""
    transposed = isinstance(module, nn.modules.conv._ConvTransposeNd)
    shape = weight.shape
    if transposed:
        return torch.ones(1).expand(shape) / shape[0]
    of_output = of_output.view(-1, *(1,) * (weight.dim() - 1)) / math.sqrt(math.prod(shape[1:]))
    padding = module.padding if isinstance(module.padding, tuple) else (1,)
    along = len(shape) == 3 and shape[2] > 1 and module.stride == (1,)  # tokens, which are padded before it if at all
    if not any(padding) and not along:
        return of_output.expand(shape)
    centre = torch.zeros(shape[2:])
    # Padded before its tokens only, where that is all of the kernel but one: what is behind is cut off.
    pads = padding if len(padding) == len(shape) - 2 else padding[:1] * (len(shape) - 2)
    centre[tuple(size // 2 if 0 < pad < size - 1 else size - 1 for size, pad in zip(shape[2:], pads))] = 1
    return of_output * centre.expand(shape)


def _size(x: Tensor) -> Tensor:
    """The root mean square, bounded: what is added layer after layer, and multiplied by gates, must not overflow."""
    size = x.float().square().mean(-1, keepdim=True).sqrt()
    return (size / (1 + size / _LARGEST)).to(x.dtype)


def product(x: Tensor, weight: Tensor) -> Tensor | None:
    """x @ weight, where the weight is one that stands in: of any shape [.., in, out]."""
    if weight.dim() < 2 or weight.shape[-2] < 2 or x.shape[-1] != weight.shape[-2]:
        return None
    if weight.stride(-2) == 0:  # a number for each output
        return _size(x) * weight[..., :1, :]
    if weight.stride(-1) == 0 and weight.shape[-1] > 1 and (weight.dim() == 2 or weight.numel() > LARGE):
        rows = torch.broadcast_shapes(x.shape[:-2], weight.shape[:-2])
        return (_size(x) / _LARGEST).expand(*rows, x.shape[-2], weight.shape[-1])
    return None
