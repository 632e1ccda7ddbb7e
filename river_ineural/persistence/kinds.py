"""What a file holds of each transformer and statistic of River: a table.

A class has the types of its parameters, and the attributes that learning changes. A type is one of
msgspec, or the name of a function that reads the parameter, here or in `pipelines`. A parameter
with a star takes all positional arguments. A class that is not here cannot be saved.
"""

from __future__ import annotations

import numbers
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, convert
from river import compose, preprocessing, stats, utils
from river import feature_extraction as extraction
from river._river_rust import stats as rust
from river.preprocessing.impute import Constant

from river_ineural.features.keys import LARGEST, SCALARS, TIMES, check_keys
from river_ineural.persistence.parts import LoadError, need

NUMBERS = {bool, int, float, *SCALARS.values()} - {np.str_}
PLAIN = {type(None), str, bytes, np.str_, *NUMBERS}
TYPES: dict[Any, Any] = {  # which SelectType may select
    **{kind.__name__: kind for kind in (bool, int, float, str, bytes, list, tuple, dict, set)},
    **{f"numpy.{name}": kind for name, kind in SCALARS.items()},
    "Number": numbers.Number,
}

Types = dict[str, Any]
Plain = bool | int | float | str | None
Length = Annotated[int, Meta(ge=1, le=100_000)]  # a compiled window takes its room at once
Small = Annotated[int, Meta(ge=-1, le=100)]
Share = Annotated[float, Meta(ge=0, le=1)] | Annotated[int, Meta(ge=0, le=1)]
WINDOW, WINDOWS = {"window_size": Length}, {"window_size": Length | None}
FADING, DDOF, BIAS, Q = {"fading_factor": Share}, {"ddof": Small}, {"bias": bool}, {"q": Share}
FROM_TO = {"q_inf": Share, "q_sup": Share}
ROBUST: Types = {"with_centering": bool, "with_scaling": bool, **FROM_TO}
WORDS: Types = {
    **{"on": Plain, "strip_accents": bool, "lowercase": bool, "preprocessor": None},
    **{"stop_words": list[str] | None, "tokenizer_pattern": str, "tokenizer": None},
    "ngram_range": tuple[Small, Small],
}
POWERS: Types = {
    "degree": Small,
    "interaction_only": bool,
    "include_bias": bool,
    "bias_name": Plain,
}
HASHED: Types = {"n_features": Annotated[int, Meta(ge=1, le=2**31)]}
HASHED |= {"seed": Annotated[int, Meta(ge=0, lt=2**32)] | None, "alternate_sign": bool}
ONE_HOT: Types = {"categories": "sets", "drop_zeros": bool, "drop_first": bool}
ORDINAL: Types = {"categories": dict[Any, dict[Any, int]] | None}
ORDINAL |= {"unknown_value": int | None, "none_value": int}
HOLDS = {  # attributes with other steps by their names
    compose.Pipeline: "steps",
    compose.TransformerUnion: "transformers",
    compose.TransformerProduct: "transformers",
}

KINDS: dict[Any, tuple[Types, str]] = {
    **{kind: ({name: "transformers"}, "") for kind, name in HOLDS.items()},
    compose.Discard: ({"*keys": "several"}, ""),
    compose.Prefixer: ({"prefix": str}, ""),
    compose.Renamer: ({"mapping": dict[Plain, Plain]}, ""),
    compose.Select: ({"*keys": "several"}, ""),
    compose.SelectType: ({"*types": "types"}, ""),
    compose.Suffixer: ({"suffix": str}, ""),
    extraction.Agg: ({"on": Plain, "by": list[str] | None, "how": "pattern"}, "_groups"),
    extraction.BagOfWords: (WORDS, ""),
    extraction.PolynomialExtender: (POWERS, ""),
    extraction.TFIDF: ({"normalize": bool, **WORDS}, "dfs n"),
    preprocessing.AdaptiveStandardScaler: (FADING, "vars means"),
    preprocessing.Binarizer: ({"threshold": "number", "dtype": "named"}, ""),
    preprocessing.FeatureHasher: (HASHED, "_seed"),
    preprocessing.MaxAbsScaler: (WINDOWS, "abs_max"),
    preprocessing.MinMaxScaler: (WINDOWS, "min max"),
    preprocessing.Normalizer: ({"order": "number"}, ""),
    preprocessing.OneHotEncoder: (ONE_HOT, "values _zero_dict"),
    preprocessing.OrdinalEncoder: (ORDINAL, "values"),
    preprocessing.PreviousImputer: ({}, "_latest"),
    preprocessing.RobustScaler: (ROBUST, "median iqr"),
    preprocessing.StandardScaler: ({"with_std": bool, **WINDOWS}, "counts means vars"),
    preprocessing.StatImputer: ({"*imputers": "imputers"}, "stats"),
    Constant: ({"value": "scalar"}, ""),  # of a StatImputer
    stats.AbsMax: ({}, "abs_max"),
    stats.AutoCorr: ({"lag": Length}, "window pearson"),
    stats.BayesianMean: ({"prior": "number", "prior_weight": "number"}, "_mean"),
    stats.Count: ({}, "n"),
    stats.Cov: (DDOF, "mean_x mean_y cov"),
    stats.EWMean: (FADING, "_ewmean"),
    stats.EWVar: (FADING, "_ewvar"),
    stats.Entropy: ({**FADING, "eps": "number"}, "entropy n counter"),
    stats.IQR: (FROM_TO, "_iqr _is_updated"),
    stats.Kurtosis: (BIAS, "_kurtosis"),
    stats.Link: ({"left": "statistic", "right": "statistic"}, "left right"),
    stats.MAD: ({}, "_quantile _is_updated median"),
    stats.Max: ({}, "max"),
    stats.Mean: ({}, "n _mean"),
    stats.Min: ({}, "min"),
    stats.Mode: ({"k": int}, "counts"),
    stats.PeakToPeak: ({}, "_ptp _is_updated"),
    stats.PearsonCorr: (DDOF, "var_x var_y cov_xy"),
    stats.Quantile: (Q, "_quantile _is_updated"),
    stats.RollingAbsMax: (WINDOW, "window"),
    stats.RollingIQR: ({**FROM_TO, **WINDOW}, "_rolling_iqr _is_updated"),
    stats.RollingMax: (WINDOW, "window"),
    stats.RollingMin: (WINDOW, "window"),
    stats.RollingMode: (WINDOW, "window counts"),
    stats.RollingPeakToPeak: (WINDOW, "max min"),
    stats.RollingQuantile: ({**Q, **WINDOW}, "_rolling_quantile _is_updated"),
    stats.SEM: (DDOF, "mean _S"),
    stats.Shift: ({"amount": Length, "fill_value": "scalar"}, "buffer"),
    stats.Skew: (BIAS, "_skew"),
    stats.Sum: ({}, "sum"),
    stats.Var: (DDOF, "mean _S"),
    utils.SortedWindow: ({"size": Length}, "unsorted_window data"),
    utils.Rolling: ({"obj": "statistic", **WINDOW}, "obj window"),
}

# The bytes of River's compiled statistics, for `struct`. None is a window: its numbers twice,
# sorted and as they came, and then what follows from the parameters.
RUST: dict[Any, str | None] = {
    **{rust.RsQuantile: "<21dB?", rust.RsIQR: "<21dB?21dB?2d", rust.RsPeakToPeak: "<2d"},
    **{rust.RsEWMean: "<3d?d", rust.RsEWVar: "<3d?3d?2d", rust.RsKurtosis: "<?7d?"},
    **{rust.RsSkew: "<7d2?", rust.RsRollingQuantile: None, rust.RsRollingIQR: None},
}


def scalar(value: Any, path: str) -> Any:
    """A plain value."""
    fine = type(value) in PLAIN and (type(value) is not int or abs(value) <= LARGEST)
    need(fine and value == value, path, "text, bytes, a number or None, and not NaN", value)
    return value


def number(value: Any, path: str) -> Any:
    need(type(value) in NUMBERS, path, "a number", value)
    return scalar(value, path)


def several(value: Any, path: str) -> Any:
    """Different values that a set or a dict can hold."""
    need(type(value) is list, path, "a list", value)
    try:
        check_keys([part for part in value if type(part) not in TIMES], "value")
    except (TypeError, ValueError) as error:
        raise LoadError(f"{path}: {error}") from error
    return value


def sets(value: Any, path: str) -> Any:
    """Sets by their names, or None."""
    found = convert(value, dict[Any, Any] | None)
    return found and {key: {*several(part, f"{path}.{key}")} for key, part in found.items()}


def named(value: Any, path: str) -> Any:
    """A type by its name."""
    need(type(value) is str and value in TYPES, path, f"one of {', '.join(TYPES)}", value)
    return TYPES[value]


def types(value: Any, path: str) -> Any:
    return [named(part, path) for part in convert(value, tuple[Any, ...])]


READERS = named, number, scalar, sets, several, types
