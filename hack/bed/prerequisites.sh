#!/bin/sh
# Checks that this machine has what building, testing and the bed need, and names everything that is missing at once.
# Maven is needed only until Kafka's jars are in the user's cache, but a newcomer needs it.

missing=

need() { # program, how to get it
  command -v "$1" >/dev/null 2>&1 && return
  missing="$missing
  $1: $2"
}

# at_least NAME FOUND WANTED HOW: compares the leading numbers of two versions, as in 1.26
at_least() {
  [ "$(printf '%s\n%s\n' "$3" "$2" | sort -t . -k 1,1n -k 2,2n | head -n 1)" = "$3" ] && return
  missing="$missing
  $1 is version $2, but $3 or newer is needed: $4"
}

go_hint='https://go.dev/dl'
java_hint='apt-get install openjdk-17-jdk-headless, or brew install openjdk@21; JAVA_HOME or PATH must lead to it'
need go "Go 1.26 or newer, $go_hint"
need mvn 'Maven 3.6 or newer: apt-get install maven, or brew install maven'
need make 'apt-get install make, or xcode-select --install'
need git 'apt-get install git, or xcode-select --install'

if command -v go >/dev/null 2>&1; then
  # In this directory go may switch to the newer toolchain that go.mod asks for; that is as good.
  at_least go "$(go env GOVERSION | sed 's/^go//')" 1.26 "$go_hint"
fi

java=java
[ -n "${JAVA_HOME:-}" ] && java=$JAVA_HOME/bin/java
if command -v "$java" >/dev/null 2>&1; then
  at_least java "$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9.]*\).*/\1/p')" 17 "$java_hint"
else
  need "$java" "a JDK 17 or newer: $java_hint"
fi

[ -z "$missing" ] && exit 0
echo "Missing on this machine:$missing" >&2
exit 1
