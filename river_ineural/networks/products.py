"""Matrix products for compiled loops, in tiles that stay in a processor's registers.

The products of a step are small: 200 times 23 times 32 multiplications are usual. Where OpenBLAS,
which Numba would call, does not know a processor, it uses half of its vectors: on a Zen 5 these
tiles took 0.27 to 0.75 of its time and 0.45 to 0.9 of PyTorch's. They wake no threads.

Each sum adds its terms in their order, whatever the shape, so that no blocking changes a bit.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.codegen import get_host_cpu_features
from numba.extending import intrinsic
from numpy.typing import NDArray

from river_ineural.features.jit import allocating, loop

Array = NDArray[Any]

FEW = 4  # rows or columns up to which a sum of its own for each number is faster than tiles
# Bytes of a vector, and rows of a tile of two: its sums fill half of 32 registers, or 12 of 16.
# A tile of one or two rows has more vectors, or each sum would wait for the one before.
MANY = 4
BYTES, ROWS = (64, 8) if "+avx512f" in cast(Any, get_host_cpu_features)() else (32, 6)

# What of a product is turned: for each literal Numba would compile anew.
NEITHER, LEFT, RIGHT = np.int64(0), np.int64(1), np.int64(2)
A, B, OUT, N, APART = 0, 4, 7, 10, 11  # of the arguments of a tile


def tile(rows: int, vectors: int) -> Any:
    """A function that writes a tile of a product, of so many rows and vectors.

    Numba has no vectors, and loops in it keep sums in memory, which takes three times as long.
    """

    @intrinsic
    def write(
        typing_context: Any,
        a: Any,
        a_at: Any,  # where it begins in the array; this and distances are in numbers
        a_row: Any,  # distance of two rows
        a_term: Any,  # distance of two terms of a sum
        b: Any,
        b_at: Any,
        b_term: Any,
        out: Any,
        out_at: Any,
        out_row: Any,
        n: Any,  # terms of a sum
        apart: Any,  # distance of two vectors
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            size, number = a.dtype.bitwidth // 8, ir.IntType(64)
            width, lane, held = BYTES // size, ir.IntType(32), cast(Any, cgutils.alloca_once_value)
            vector = ir.VectorType(context.get_value_type(a.dtype), width)
            unknown = ir.Constant(vector, ir.Undefined)
            zeros, first = ir.Constant(vector, None), ir.Constant(ir.VectorType(lane, width), None)

            def pointer(array: int, *terms: tuple[Any, Any]) -> Any:
                """Behind the place of an array in `given` by the sum of distance times number."""
                made = context.make_array(signature.args[array])(context, builder, given[array])
                at = given[array + 1]
                for distance, n in terms:
                    at = builder.add(at, builder.mul(distance, n))
                return builder.gep(made.data, [at])

            def whole(pointer: Any) -> Any:
                return builder.bitcast(pointer, vector.as_pointer())

            sums = [[held(builder, zeros) for _ in range(vectors)] for _ in range(rows)]
            with cgutils.for_range(builder, given[N]) as terms:
                right = []
                for v in range(vectors):
                    at = pointer(B, (given[B + 2], terms.index), (given[APART], number(v)))
                    right.append(builder.load(whole(at), align=size))
                for i, row in enumerate(sums):
                    at = pointer(A, (given[A + 3], terms.index), (given[A + 2], number(i)))
                    left = builder.insert_element(unknown, builder.load(at), lane(0))
                    left = builder.shuffle_vector(left, unknown, first)  # in all lanes
                    for total, each in zip(row, right, strict=True):
                        product = builder.fmul(left, each, flags=("contract",))
                        more = builder.fadd(product, builder.load(total), flags=("contract",))
                        builder.store(more, total)
            for i, row in enumerate(sums):
                for v, total in enumerate(row):
                    at = pointer(OUT, (given[OUT + 2], number(i)), (given[APART], number(v)))
                    builder.store(builder.load(total), whole(at), align=size)
            return context.get_dummy_value()

        i = types.int64
        if any(each.layout != "C" for each in (a, b, out)):
            raise TypeError("tiles are parts of contiguous arrays")
        return types.void(a, i, i, i, b, i, i, out, i, i, i, i), generate

    return write


wide, narrow, wide_pair, narrow_pair, wide_row, narrow_row = (
    tile(rows, vectors) for rows, most in ((ROWS, 2), (2, MANY), (1, MANY)) for vectors in (most, 1)
)


@loop
def strip(
    a: Array, turned: bool, b: Array, at: Any, inner: int, out: Array, to: Any, apart: Any
) -> None:
    """Write columns of out from `to` on, a times those of b from `at`: a vector of them, or as many
    as a tile has, so far `apart`, if that is not 0.

    The last tile begins before the others end, where rows are left over.
    """
    n_rows, i = out.shape[0], 0
    row, term = (1, n_rows) if turned else (inner, 1)
    while i < n_rows:
        rows = ROWS if n_rows >= ROWS else min(2, n_rows)
        i = min(i, n_rows - rows)
        a_at, out_at, of_b, of_out = i * row, i * out.shape[1] + to, b.shape[1], out.shape[1]
        if rows == 1 and apart:
            wide_row(a, a_at, row, term, b, at, of_b, out, out_at, of_out, inner, apart)
        elif rows == 1:
            narrow_row(a, a_at, row, term, b, at, of_b, out, out_at, of_out, inner, apart)
        elif rows == 2 and apart:
            wide_pair(a, a_at, row, term, b, at, of_b, out, out_at, of_out, inner, apart)
        elif rows == 2:
            narrow_pair(a, a_at, row, term, b, at, of_b, out, out_at, of_out, inner, apart)
        elif apart:
            wide(a, a_at, row, term, b, at, of_b, out, out_at, of_out, inner, apart)
        else:
            narrow(a, a_at, row, term, b, at, of_b, out, out_at, of_out, inner, apart)
        i += rows


@loop
def sums(a: Array, b: Array, out: Array) -> None:
    """Write out (M, N) = a (M, K) times b (N, K) turned: one sum after the other."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            total = out.dtype.type(0)
            for q in range(a.shape[1]):
                total += a[i, q] * b[j, q]
            out[i, j] = total


@allocating
def product(a: Array, b: Array, turned: np.int64, out: Array) -> None:
    """Write out (M, N) = a (M, K) times b (K, N); the turned one is transposed first."""
    n_rows, n = out.shape
    inner, width = a.shape[0] if turned == LEFT else a.shape[1], BYTES // out.itemsize
    if (turned == RIGHT and min(n, n_rows) <= FEW) or (turned == NEITHER and n <= FEW):
        rows = b
        if turned == NEITHER:
            rows = np.empty((n, inner), out.dtype)
            for j in range(n):
                for q in range(inner):
                    rows[j, q] = b[q, j]
        sums(a, rows, out)
        return
    few, j, source, target = n < width, 0, b, out
    aside = few or turned == RIGHT  # columns of b are copied, so that they lie side by side
    if aside:
        source = np.zeros((inner, width * min(MANY, -(-n // width))), out.dtype)
    if few:  # a vector of columns, of which some are 0
        target = np.empty((n_rows, width), out.dtype)
    while j < n:
        if n_rows >= ROWS:
            w = min(2 * width, n - j) if n - j > width else width  # two vectors may overlap
            apart = w - width
        else:
            w, apart = (MANY * width, width) if n >= MANY * width else (width, 0)
        j = max(0, min(j, n - w))
        for q in range(inner if aside else 0):
            for i in range(min(w, n)):
                source[q, i] = b[j + i, q] if turned == RIGHT else b[q, j + i]
        strip(a, turned == LEFT, source, 0 if aside else j, inner, target, j, apart)
        j += w
    if few:
        for i in range(n_rows):
            for j in range(n):
                out[i, j] = target[i, j]
