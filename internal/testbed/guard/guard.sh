#!/bin/sh
# The guard of one bed: waits until the bed's owner is gone, then ends what the owner started.
#
#   guard.sh watch DIR              reads standard input, a pipe whose other end only the owner holds; at its end
#                                   kills every process recorded in DIR/pids and removes DIR
#   guard.sh run DIR COMMAND ARG... records itself in DIR/pids and becomes COMMAND; refuses once the guard has acted
#
# A record is a file named by the process id that holds the process's start time: an id that the system has given to
# another process meanwhile does not match and is left alone. Moving DIR/pids away is what makes it final: a process
# that has not recorded itself by then cannot start any more.

started() {
  if [ -r "/proc/$1/stat" ]; then
    sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20
  else
    ps -o lstart= -p "$1" 2>/dev/null
  fi
}

verb=$1
dir=$2
case $verb in
run)
  shift 2
  started $$ >"$dir/.starting.$$" || exit 125
  mv "$dir/.starting.$$" "$dir/pids/$$" || exit 125
  exec "$@" 3>&- # the end of this pipe tells the owner that the record stands
  ;;
watch)
  trap '' HUP INT QUIT TERM
  while read -r _; do :; done
  mv "$dir/pids" "$dir/closed" || exit 1
  for file in "$dir"/closed/*; do
    pid=${file##*/}
    [ -s "$file" ] && [ "$(started "$pid")" = "$(cat "$file")" ] || continue
    kill -KILL "-$pid" 2>/dev/null
    kill -KILL "$pid" 2>/dev/null
  done
  # A dying process may still create a file while its directory is being removed.
  for _ in 1 2 3 4 5; do
    rm -rf "$dir" 2>/dev/null
    [ -e "$dir" ] || exit 0
    sleep 1
  done
  exit 1
  ;;
esac
