"""Imports all of the service, for the server that processes of tests are forked from."""

import gc
import importlib
import pkgutil
import sys

import cs

#: Imports pytest, which no service does.
_NOT_OF_A_SERVICE = "cs.plugins.contracts"
#: They start threads when they are imported, which no fork takes along: a child that has them
#: aborts at its end (SIGABRT).  The service imports them where it uses them.
_WITH_THREADS = ("duckdb", "pyarrow")

for _library in _WITH_THREADS:
    sys.modules[_library] = None  # type: ignore[assignment]  # so that no import finds it
for _module in pkgutil.walk_packages(cs.__path__, "cs."):
    if not _module.name.startswith(_NOT_OF_A_SERVICE) and _module.name != "cs.__main__":
        try:
            importlib.import_module(_module.name)
        except ModuleNotFoundError as error:
            if error.name not in _WITH_THREADS:
                raise
for _library in _WITH_THREADS:
    del sys.modules[_library]
gc.collect()
gc.freeze()  # pages that no collection writes to stay shared
