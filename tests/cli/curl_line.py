"""A printed curl line, sent as curl would: the suite runs where curl is not."""

import shlex
from argparse import ArgumentParser

import httpx


def answer_of(line: str) -> httpx.Response:
    """Return what the server answers *line*, a whole shell command that calls curl.

    Only the options that our documents use are known; another one ends the test.
    """
    command, *words = shlex.split(line.replace("\\\n", " "))
    assert command == "curl", command
    parser = ArgumentParser("curl")
    parser.add_argument("url")
    parser.add_argument("-s", action="store_true")
    parser.add_argument("-H", action="append", default=[], dest="headers")
    parser.add_argument("-d", dest="body")
    asked = parser.parse_args(words)
    headers = dict(header.split(": ", 1) for header in asked.headers)
    method = "GET" if asked.body is None else "POST"
    return httpx.request(method, asked.url, headers=headers, content=asked.body, timeout=100)
