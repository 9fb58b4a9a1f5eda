from __future__ import annotations

import subprocess
import sys

import dagflow.expr


def test_the_public_names_exist_and_are_listed_once() -> None:
    assert len(set(dagflow.expr.__all__)) == len(dagflow.expr.__all__)
    for name in dagflow.expr.__all__:
        assert hasattr(dagflow.expr, name)


def test_importing_loads_no_heavy_library() -> None:
    code = (
        "import sys, dagflow.expr; "
        "print(sorted({'cel_expr_python', 'jsonschema_rs', 'jsonschema', 'google.protobuf'} "
        "& set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_checking_loads_no_library_that_it_does_not_need() -> None:
    code = (
        "import sys; from dagflow.expr import Scope, check, fits; "
        "check('a.b > 1', Scope({'a': True})); fits({'type': 'string'}, {'type': 'integer'}); "
        "print(sorted({'jsonschema', 'networkx', 'google.protobuf', 'pydantic', 'cel_expr_python'} "
        "& set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
