"""The weights of f1 and f2, what Adam and the average keep of them, and how they grow."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from river_ineural.features.scaling import Scaling
from river_ineural.features.validation import warn
from river_ineural.networks.batch import rows_of
from river_ineural.networks.layout import Shape, Weights
from river_ineural.networks.loops import Loops
from river_ineural.networks.modules import Modules
from river_ineural.networks.part import ALL, TRAINED, Part, score_few

Floats = NDArray[np.floating[Any]]
Values = NDArray[np.float64]
Columns = slice | NDArray[np.int64]  # columns of features in a first layer
Stored = tuple[NDArray[np.float64], Floats, Floats]  # x (rows, d), targets (rows, 2, k), weight

WEIGHTS, AVERAGE, MEAN, SQUARE = range(4)  # rows of the block; the last two are Adam's
MOST_WEIGHTS = 25_000_000  # of both networks; with optimiser and average 0.4 GB in float32
FIRST_LAYERS = 0.3  # factor on first-layer weights: the initial functions are smoother
AT_ONCE = 8  # steps in one call, which Ctrl-C cannot stop
EVERY = 8  # steps between two iterates that enter the average, after the first ones
LARGEST = 0.15  # radius by which examples are moved, at most; the norm of an example is 1
FIRST_RADIUS = LARGEST / 3

compiles = True  # whether the CPU uses compiled loops; tests set this


class Recipe(NamedTuple):
    """Constants in which the training of `INeurAL` and `NeurONAL` differs.

    Parameters
    ----------
    exploration_lr
        Learning rate η2 of f2.
    balance
        The error at the class of an example weighs (k - 1)^balance times as much as the error at
        each other class. With 0, f1 estimates P(y = i | x), else a monotone function of it.
    span
        Steps of the average of the weights.
    """

    exploration_lr: float
    balance: float
    span: int


class Networks:
    """Both networks: they score, take steps and grow.

    One block (4, P) holds four numbers for each weight: the weight that is trained, the average
    that predicts, and Adam's means of its gradient and of the gradient's square. The average takes
    the place of the uniform draw from all iterates (lines 27, 28, 2.7 and 2.8). It is the mean of
    the first `span` iterates, then an exponential average of the later ones.

    Parameters
    ----------
    shape
        Shape of the networks, without any class or feature at first.
    recipe
        How they are trained.
    rng
        Generator of the initial weights, owned by this object.
    like
        A tensor of the dtype and device to work in.
    """

    def __init__(self, shape: Shape, recipe: Recipe, rng: np.random.Generator, like: Tensor):
        check_size(shape, 0)
        self.shape, self.recipe, self.rng = shape, recipe, rng
        self.n_features = 0  # columns in use; there is room for shape.n_features
        self.n_steps = 0
        self.warned = False
        self.dtype: Any = np.float32 if like.dtype is torch.float32 else np.float64
        self.block = like.new_zeros(4, shape.n_parameters)
        self.n_updates = torch.zeros(2, dtype=torch.float32, device=like.device)  # of f1, of f2
        self.radius = like.new_full((), FIRST_RADIUS)
        self.bind()

    def bind(self) -> None:
        """Make the loops or modules that work on the memory of the block."""
        self.passes = self._passes(self.shape, self.block)
        self.loops = self.passes if isinstance(self.passes, Loops) else None

    def _passes(self, shape: Shape, block: Tensor) -> Loops | Modules:
        form = Loops if block.device.type == "cpu" and compiles else Modules
        return form(shape, block, self.n_updates, self.radius)

    def __getstate__(self) -> dict[str, Any]:
        """Arrays, which a process without this device can read, without columns not in use."""
        state = {
            name: part for name, part in self.__dict__.items() if name not in ("passes", "loops")
        }
        used = self.shape._replace(n_features=self.n_features)
        state["block"] = overlaid(self.block, self.shape, used, self.n_features)
        for name in ("block", "n_updates", "radius"):
            state[name] = state[name].cpu().numpy()
        return state

    @torch.inference_mode(False)
    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in ("block", "n_updates", "radius"):  # a pickle's buffers may be read-only
            setattr(self, name, torch.from_numpy(state[name].copy()))
        used = self.shape._replace(n_features=self.n_features)
        self.block = overlaid(self.block, used, self.shape, self.n_features)
        self.bind()

    def __sizeof__(self) -> int:
        """Bytes with those of the tensors, which River does not count, less those of their views,
        which it does.
        """
        tensors = [self.block, self.n_updates, self.radius]
        views = 0
        if self.loops:
            tensors.append(self.loops.gradient)
            views = sum(view.nbytes for view in self.loops.views)
        held = sum(tensor.nbytes for tensor in tensors)
        return object.__sizeof__(self) + max(0, held - views)

    @torch.inference_mode(False)
    def to(self, device: torch.device) -> None:
        """Move to a device."""
        moved = [part.to(device) for part in (self.block, self.n_updates, self.radius)]
        self.block, self.n_updates, self.radius = moved
        self.bind()

    # Scores and steps

    def score(self, x: Values, scaling: Scaling, exploring: bool) -> Floats:
        """f1 and f2 of each class under the weights that predict: raw x (B, d) → (2, B, k).

        Without an f2, or without `exploring`, f2 is 0 and is not computed.
        """
        exploring = exploring and self.shape.explores
        if not (scaling.sparse and len(x)):
            return self.passes.score(x, scaling.scaling, exploring)
        rows = [self._score_few(x[i : i + 1], scaling, exploring) for i in range(len(x))]
        return np.concatenate(rows, axis=1)

    def _score_few(self, x: Values, scaling: Scaling, exploring: bool) -> Floats:
        """f1 and f2 (2, 1, k) of an example (1, d) that has few of the features."""
        columns, x, scale = scaling.there(x)
        if self.loops:
            found = np.empty((2, 1, self.shape.n_classes), self.dtype)
            given = self.loops.predicting, x, scale, columns, exploring, found
            score_few(*given)
            return found
        part = Part(self.shape, columns, exploring)
        return self._passes(part.shape, part.of(self.block, ALL)).score(x, scale, exploring)

    def train(
        self,
        stored: Stored,
        draws: Values,
        drawn_from: tuple[int, int, int, int],
        scaling: Scaling,
        lr: float,
        exploring: NDArray[np.bool_],
    ) -> None:
        """Steps of f1, and where `exploring` of f2 (lines 2.1 to 2.8).

        Both networks learn from one batch, so one pass of f1 serves the update of f1 and the
        embedding of f2. Above 256 features its examples are moved to where f1 errs. Where examples
        have few of many features, only the weights of the features in the batch are moved.

        Parameters
        ----------
        stored
            The history.
        draws, drawn_from
            Draws (n, B) of the examples of each step, as `History.draws` makes them.
        lr
            Learning rate η1 of f1.
        exploring
            Whether f2 takes part, (n,).
        """
        given = float(max(1, self.shape.n_classes - 1)) ** self.recipe.balance
        most = None if scaling.narrow else LARGEST
        how: Any = given, most, lr, self.recipe.exploration_lr
        shares = self._shares(len(draws))
        fine = True
        if self.loops and not scaling.sparse:
            for at in range(0, len(draws), AT_ONCE):
                some = slice(at, at + AT_ONCE)
                batch = stored, draws[some], drawn_from, scaling.scaling
                fine &= self.loops.train(*batch, *how, exploring[some], shares[some])
        else:
            rows = np.empty(draws.shape[1], np.int64)
            for drawn, explores, share in zip(draws, exploring, shares, strict=True):
                rows_of(drawn, drawn_from, rows)
                fine &= self._step(stored, rows, drawn_from[3], scaling, (*how, bool(explores)))
                if share:
                    sparse = scaling.sparse
                    whole = Weights(self.block, self.shape).shared if sparse else [self.block]
                    for layer in whole:
                        layer[AVERAGE].lerp_(layer[WEIGHTS], float(share))
        if not (fine or self.warned):
            self.warned = True
            text = "a step was not finite and was not taken: lower lr, or the weights of examples."
            warn(text, RuntimeWarning)

    def _shares(self, n: int) -> Values:
        """By which part of the distance the average moves after each of n steps: line 2.7."""
        span, steps = self.recipe.span, range(self.n_steps + 1, self.n_steps + n + 1)
        self.n_steps += n
        return np.array([1 / t if t <= span else (t % EVERY == 0) * EVERY / span for t in steps])

    def _step(
        self,
        stored: Stored,
        rows: NDArray[np.int64],
        n_labelled: int,
        scaling: Scaling,
        how: tuple[Any, ...],
    ) -> bool:
        """One step, on another device or of a part of the weights."""
        if not scaling.sparse:
            return self.passes.step(stored, rows, n_labelled, scaling.scaling, *how)
        x, targets, weight = stored[0][rows], stored[1][rows], stored[2][rows]
        columns, x, scale = scaling.there(x)
        part = Part(self.shape, columns, how[-1])
        some, n_given = part.of(self.block, TRAINED), int(np.count_nonzero(rows < n_labelled))
        batch = (x, targets, weight), np.arange(len(rows)), n_given
        taken = self._passes(part.shape, some).step(*batch, scale, *how)
        part.put(some, self.block)
        return taken

    # Growth

    @torch.inference_mode(False)
    def grow(self, columns: Columns, n_features: int, n_classes: int) -> None:
        """Make room for features and classes; what is learned does not change.

        Room for features grows by a quarter at a time, so that weights are rarely copied.

        Parameters
        ----------
        columns
            Columns of the new features, whose earlier weights are forgotten.
        n_features
            Columns in use, the new ones included.
        """
        old, new = self.shape, self.room_for(n_features, n_classes)
        block = self.block if new == old else overlaid(self.block, old, new, self.n_features)
        draw(block, new, old.n_classes, columns, n_features, self.rng)
        self.shape, self.n_features, self.block = new, n_features, block
        if new != old:
            self.bind()

    def room_for(self, n_features: int, n_classes: int) -> Shape:
        """The shape with so many features, and room for more, and classes.

        Raises
        ------
        ValueError
            If it has too many weights.
        """
        old, room = self.shape, self.shape.n_features
        if n_features > room:
            room = max(n_features, room + room // 4)
        new = old._replace(n_classes=n_classes, n_features=room)
        if new.n_parameters > MOST_WEIGHTS:
            new = new._replace(n_features=max(n_features, old.n_features))
        check_size(new, n_features - 1)
        return new

    @torch.inference_mode(False)
    def renewed(self) -> Networks:
        """New networks of this shape, which have learned nothing; these stay as they are."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, rng=copy.deepcopy(self.rng), n_steps=0)
        other.block = torch.zeros_like(self.block)
        other.n_updates = torch.zeros_like(self.n_updates)
        other.radius = torch.full_like(self.radius, FIRST_RADIUS)
        draw(other.block, self.shape, 0, slice(self.n_features), self.n_features, other.rng)
        other.bind()
        return other


def check_size(shape: Shape, n_named: int) -> None:
    """Raise ValueError if so many features, and all else, make too many weights."""
    if shape.n_parameters > MOST_WEIGHTS:
        raise ValueError(
            f"{n_named:,} features, {shape.n_classes:,} classes and hidden_dim="
            f"{shape.hidden_dim:,} make {shape.n_parameters:,} weights, more than "
            f"{MOST_WEIGHTS:,}: lower hidden_dim, max_features or max_classes."
        )


def overlaid(block: Tensor, old: Shape, new: Shape, n_features: int) -> Tensor:
    """A block of shape `new`, with the first `n_features` columns of one of shape `old` in it."""
    onto = block.new_zeros(4, new.n_parameters)
    source, target = Weights(block, old), Weights(onto, new)
    for layer, known in zip(target.first_layers, source.first_layers, strict=True):
        layer[:, :, : known.shape[2], :n_features] = known[..., :n_features]
    for layer, known in zip(target.deep, source.deep, strict=True):
        layer.copy_(known)
    for layer, known in zip(target.outputs, source.outputs, strict=True):
        layer[:, : known.shape[1]] = known
    return onto


def draw(
    block: Tensor,
    shape: Shape,
    n_known: int,
    columns: Columns,
    n_features: int,
    rng: np.random.Generator,
) -> None:
    """Draw new weights: hidden layers from N(0, 2/m), output layers from N(0, 1/m) (Algorithm 1,
    line 1). First layers are multiplied by 0.3, and the output layer of f2 is 0.

    They are deep layers, if no class was known; the blocks and rows of new classes; and `columns`,
    those of new features, for the blocks that already existed. Columns reserved beyond the features
    in use stay 0 and have no effect. f2 outputs 0 until it has learned something.

    Parameters
    ----------
    n_known
        Number of classes known before.
    n_features
        Features in use, including the new ones.
    """
    std = (2 / shape.hidden_dim) ** 0.5
    weights = Weights(block, shape)

    def write(layer: Tensor, std: float) -> None:
        drawn = torch.from_numpy(rng.normal(0.0, std, layer.shape[1:])).to(layer)
        layer[:MEAN] = drawn
        layer[MEAN:] = 0

    if n_known == 0 < shape.n_classes:
        for layer in weights.deep:
            write(layer, std)
    for layer in weights.outputs:
        write(layer[:, n_known:], std * 0.5**0.5)
    weights.f2.output[:, n_known:] = 0
    for first in weights.first_layers:
        fresh = rng.normal(0.0, std * FIRST_LAYERS, first[0, :, :n_known, columns].shape)
        first[:MEAN, :, :n_known, columns] = torch.from_numpy(fresh).to(first)
        first[MEAN:, :, :n_known, columns] = 0
        write(first[:, :, n_known:, :n_features], std * FIRST_LAYERS)
