#!/usr/bin/env bash
# Installs the Debian packages that some tests start, where it may; else those tests skip and say so.
set -euo pipefail
packages=(netdata-core netdata-web chromium)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} = 0 ] && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "not installed, so tests that need them will be skipped: ${missing[*]}" >&2
  exit 0
fi
# Debian starts a daemon when its package is installed; tests start their own.
policy=/usr/sbin/policy-rc.d
made=""
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod +x "$policy"
  made=1
fi
trap '[ -n "$made" ] && rm -f "$policy"' EXIT
if ! { apt-get update -q && DEBIAN_FRONTEND=noninteractive \
  apt-get install -qy --no-install-recommends "${missing[@]}"; } >/dev/null; then
  echo "could not be installed, so tests that need them will be skipped: ${missing[*]}" >&2
fi
