#!/bin/sh
# Prints -race where the race detector can be used: it needs cgo and a C compiler that works. Says so where it cannot.

cc=$(go env CC)
if [ "$(go env CGO_ENABLED)" = 1 ] && echo 'int main(void) { return 0; }' | $cc -x c -o /dev/null - 2>/dev/null; then
  echo -race
else
  echo "race detector: off (no working C compiler: ${cc:-none})" >&2
fi
