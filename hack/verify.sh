#!/bin/bash
# Fails if anything generated is not what the sources give, or Go code is not formatted. Compares files and not commits,
# so that it means the same before and after a commit.
set -euo pipefail
cd "$(dirname "$0")/.."

generated=(api config docs/conditions.md)
before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
cp -r --parents "${generated[@]}" "$before"

make generate manifests

status=0
for path in "${generated[@]}"; do
  if ! diff -ru "$before/$path" "$path"; then
    status=1
  fi
done
if [ $status -ne 0 ]; then
  echo "verify: the files above were not up to date; they are now (make generate manifests)" >&2
fi

unformatted=$(gofmt -s -l api cmd controllers hack internal test)
if [ -n "$unformatted" ]; then
  printf 'verify: not formatted (make fmt):\n%s\n' "$unformatted" >&2
  status=1
fi
exit $status
