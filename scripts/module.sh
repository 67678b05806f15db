#!/bin/bash
# Changes the path of the Go module everywhere: in go.mod, imports, build flags and the settings of the linter.
# "make module PATH=example.org/me/tutti" hands the new path over in PATH, so commands are found without that variable.
set -euo pipefail
new=${1:-}
PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/go/bin:/opt/homebrew/bin:${HOME:-/root}/go/bin
was=$(tr '\0' '\n' 2>/dev/null <"/proc/$PPID/environ" | sed -n 's/^PATH=//p') || was= # the PATH with which make was started
export PATH="${was:+$was:}$PATH"
cd "$(dirname "$0")/.."

case $new in
"" | *:* | /* | */ | *[!A-Za-z0-9._~/-]*)
	echo 'module: missing the new path; type: make module PATH=example.org/me/tutti' >&2
	exit 1
	;;
esac
old=$(sed -n 's/^module //p' go.mod)
[ "$new" != "$old" ] || { echo "module: the path is $new already"; exit 0; }

# Our packages are OLD/internal/… and OLD/cmd/…; behind \n or \t in a text of a test, too.
git ls-files -z -- '*.go' Makefile .golangci.yml 'scripts/*' | OLD=$old NEW=$new xargs -0 perl -pi -e '
	s{(?:(?<![\w./~-])|(?<=\\[nt]))\Q$ENV{OLD}\E(?=/(?:internal|cmd)\b)}{$ENV{NEW}}g;
	s{^const module = "\Q$ENV{OLD}\E"}{const module = "$ENV{NEW}"};
	s{^(\s+module-path: )\Q$ENV{OLD}\E$}{$1$ENV{NEW}};
'
OLD=$old NEW=$new perl -pi -e 's{^module \Q$ENV{OLD}\E(?=$|/)}{module $ENV{NEW}}' go.mod tools/go.mod tools/release/go.mod
gofmt -w cmd internal
echo "module: $old is now $new"
