"""Requests to the service of examples/ that nobody sends on purpose, by their path."""

import json


def each(form, values):
    """JSON with each of these values in the place of the star."""
    return [form.replace("*", value) for value in values]


def text(n, letter):
    return json.dumps(n * letter, ensure_ascii=False)


FACE = "\U0001f600"
NUMBERS = ["1", "-0.0", "1e-320", "true", "1e15", "1e16", "1e999", "NaN", "Infinity", "null"]
NUMBERS += ["1" + "0" * 400, "1" + "0" * 5_000, "01", "'1'", "[]", "{}"]
STRINGS = ['"1"', '""', '"?"', r'"\ud800"', r'"\u0000"', text(1_000_000, "t"), text(300, FACE)]
IDS = ["1", "null", "[]", '""', r'"\u0000"', r'"\ud800"', text(200, "é"), text(201, "a")]
NAMES = ['""', '"a=b"', '"a missing"', r'"\u0000"', text(201, "a"), '"1"', '"$dict"', '"__class__"']
XS = ["null", "[]", '"a"', "3", '{"a": 1, "a": 2}', '{"a": [NaN]}']


def wide(letter, n, i):
    """Names of almost 200 characters."""
    return json.dumps(
        {"id": f"{letter} {i}", "x": {f"{i}{j:04}" + letter * 192: 1 for j in range(n)}}
    )


PREDICTED = [  # bodies of /predictions
    *[f'{{"id": "{i}", "x": {{"a": {value}}}}}' for i, value in enumerate(NUMBERS + STRINGS)],
    *each('{"id": *, "x": {}}', IDS),
    *[f'{{"id": "n{i}", "x": {{{name}: 1}}}}' for i, name in enumerate(NAMES)],
    *each('{"id": "m", "x": *}', XS),
    *("", "null", "[]", "{}", '{"id": "z"}', '{"x": {}}', '{"id": "z", "x": {"a": 1}, "y": 2}'),
    *(b"\xff\xfe", b"\x00", b"\xef\xbb\xbf{}", "[" * 50_000, '{"id":' * 20_000, "\x1f\x8b\x08"),
    *(wide("é", 3_100, 0), wide("é", 3_100, 1), wide(FACE, 1_500, 2)),
]
LABELS = [
    '""',
    '" "',
    "null",
    "1.5",
    "[]",
    "{}",
    "NaN",
    r'"\ud800"',
    text(200, FACE),
    text(201, "a"),
]
LABELS += ["1" + "0" * 299, "1" + "0" * 400, '"good"', '"good"', '"other"', "true"]
LABELLED = [  # bodies of /labels, of the first rounds
    *each('{"id": "0", "label": *}', LABELS),
    *each('{"id": "0", "label": *, "correct": true}', ["1", '"good"', "false", '""', r'"\u0000"']),
    *each('{"id": "1", "label": 1, "correct": *}', ["null", "3", '"maybe"', "true"]),
    *each('{"id": *, "label": "bad"}', ['"2"', '"3"', '"99"', '"-1"', '""', r'"\ud800"', "2"]),
]
ANNOTATIONS = [  # the data of a task, and its annotation
    ({"id": "2"}, {"id": 10**30, "result": [{"value": {"choices": ["", " "]}}]}),
    ({"id": "2"}, {"id": 7, "result": [{"value": {"choices": [""]}}]}),
    ({"id": ["2"]}, {"id": -1, "result": [{"value": {}}]}),
    ({"id": "\ud800"}, {"result": [{"value": {"choices": ["\ud800"]}}]}),
    ({"id": "3"}, {"id": 8, "result": [{"value": {"choices": ["a" * 5_000]}}]}),
    ({"id": "3"}, {"id": 9, "result": [{"value": {"choices": ["bad"]}}], "was_cancelled": True}),
    (None, None),
]
ACTIONS = "ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_DELETED", "", None
TASKS = [  # bodies of /label-studio/webhook
    json.dumps({"action": action, "task": {"data": data}, "annotation": annotation})
    for action in ACTIONS
    for data, annotation in ANNOTATIONS
]
NUMBERS_OF_ASKS = ["9" * 30, "-1", "x", "1e3", "", "2" * 5_000, str(2**62), str(2**63), "%00"]
GOT = [
    *each("/asks?after=*", NUMBERS_OF_ASKS),
    *each("/asks?most=*", NUMBERS_OF_ASKS),
    *each("/label-studio/tasks?after=*", NUMBERS_OF_ASKS),
    *("/", "/nothing", "/%2e%2e/etc/passwd", "/docs", "/redoc", "/openapi.json"),
    *("/asks/", "//asks", "/health?x=" + "a" * 5_000),
]
POST = b"POST /labels HTTP/1.1\r\nHost: a\r\n"
RAW = [  # what is no HTTP, or stops amid it
    *(b"", b"\r\n" * 9, b"\x16\x03\x01\x02", b"GET / HTTP/9.9\r\n\r\n", POST + b"\r\n"),
    POST + b"X: " + b"a" * 100_000 + b"\r\n\r\n",
    POST + b"Content-Length: -5\r\n\r\n{}",
    POST + b"Content-Length: 99999999999\r\n\r\n{",
    POST + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n",
]
