#!/usr/bin/env bash
# Checks and runs workflows/host_changes.yaml on this machine; pages and state go to build/demo.
set -euo pipefail
cd "$(dirname "$0")/.."

out=build/demo
dagflow=.venv/bin/dagflow
workflow=workflows/host_changes.yaml
newest=${NEWEST:-3}
export DAGFLOW_DATABASE=$out/dagflow.db

say() { printf '\n\033[1m%s\033[0m\n' "$*" >&2; }
[ -t 2 ] && [ -z "${NO_COLOR:-}" ] || say() { printf '\n%s\n' "$*" >&2; }

if [ ! -x "$dagflow" ]; then
  echo "dagflow is not installed here; run: make demo" >&2
  exit 2
fi
mkdir -p "$out"

service=""
trap '[ -z "$service" ] || kill "$service" 2>/dev/null || true' EXIT
say "The alert service of the examples, on 127.0.0.1:18765"
.venv/bin/python workflows/services/alerts.py &
service=$!
for _ in $(seq 100); do
  if ! kill -0 "$service" 2>/dev/null; then
    service=""
    echo "it did not start; is port 18765 taken by another program? (ss -ltnp 'sport = :18765' says by which)" >&2
    exit 1
  fi
  (: </dev/tcp/127.0.0.1/18765) 2>/dev/null && break
  sleep 0.05
done

say "dagflow check $workflow"
"$dagflow" check "$workflow"
"$dagflow" check "$workflow" --format html --output "$out/check.html"

unsafe=()
if ! "$dagflow" doctor 2>/dev/null | grep -q '^OK *sandbox'; then
  unsafe=(--unsafe-no-sandbox)
  echo "no sandbox on this host, so the demo passes ${unsafe[*]}; \`dagflow doctor\` says what is missing" >&2
fi

say "dagflow run $workflow --input newest=$newest ${unsafe[*]:-}"
"$dagflow" run "$workflow" --input "newest=$newest" --html "$out/run.html" "${unsafe[@]}"

say "Two pages to look at:"
echo "  $out/check.html  what was proved before the run" >&2
echo "  $out/run.html    what the run did" >&2
