#!/usr/bin/env bash
# Runs the suite: first the tests that start no programs, two at a time; then the others, which
# need the machine to themselves. With arguments, one plain pytest with them.
set -euo pipefail
cd "$(dirname "$0")/.."

beside=(tests/unit tests/property tests/rules tests/golden tests/docs tests/corpus)
pytest=(.venv/bin/pytest -q -m "${MARKS:-}" -o faulthandler_timeout="${STUCK:-180}")

if [ $# -gt 0 ]; then
  exec "${pytest[@]}" "$@"
fi
code=0
"${pytest[@]}" -n 2 --dist worksteal "${beside[@]}" || code=$?
"${pytest[@]}" "${beside[@]/#/--ignore=}" tests || code=$?
exit $code
