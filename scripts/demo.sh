#!/usr/bin/env bash
# Checks and runs workflows/host_changes.yaml on this machine; pages and state go to build/demo.
set -euo pipefail
cd "$(dirname "$0")/.."

out=build/demo
dagflow=.venv/bin/dagflow
workflow=workflows/host_changes.yaml
newest=${NEWEST:-3}
port=18765
export DAGFLOW_DATABASE=$out/dagflow.db

bold="" plain=""
if [ -t 2 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\033[1m' plain=$'\033[0m'; fi
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain" >&2; }
answers() { (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; }

if [ ! -x "$dagflow" ]; then
  echo "dagflow is not installed here; run: make demo" >&2
  exit 2
fi
if answers; then
  echo "port $port is taken, and the demo's alert service needs it; stop what listens there" >&2
  exit 1
fi
mkdir -p "$out"

service=""
trap '[ -z "$service" ] || kill "$service" 2>/dev/null || true' EXIT
say "The alert service of the examples, on 127.0.0.1:$port"
.venv/bin/python workflows/services/alerts.py "$port" &
service=$!
for _ in $(seq 200); do
  if answers; then break; fi
  if ! kill -0 "$service" 2>/dev/null; then
    service=""
    echo "the alert service did not start" >&2
    exit 1
  fi
  sleep 0.05
done

say "dagflow check $workflow"
"$dagflow" check "$workflow"
"$dagflow" check "$workflow" --format html --output "$out/check.html"

unsafe=()
doctor=$("$dagflow" doctor 2>&1 || true)
if ! grep -q '^OK *sandbox' <<<"$doctor"; then
  unsafe=(--unsafe-no-sandbox)
  echo "no sandbox on this host, so the demo passes ${unsafe[*]}; \`dagflow doctor\` says what is missing" >&2
fi

run=("$dagflow" run "$workflow" --input "newest=$newest" "${unsafe[@]}")
say "dagflow ${run[*]:1}"
"${run[@]}" --html "$out/run.html"

say "Two pages to look at:"
echo "  $out/check.html  what was proved before the run" >&2
echo "  $out/run.html    what the run did" >&2
