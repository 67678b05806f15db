# Reads "go test -v" and prints one line for each skipped test: its name, and its reason.

# The reason is the last thing a test says: "    file_test.go:12: reason", under the name that === NAME or === RUN gave.
/^=== (RUN|NAME|CONT) / { name = $3; next }
/^ *[A-Za-z0-9_.-]+\.go:[0-9]+: / {
	text = $0
	sub(/^ *[A-Za-z0-9_.-]+\.go:[0-9]+: /, "", text)
	reason[name] = text
	next
}
/^ *--- SKIP: / {
	for (i = 1; i <= NF; i++)
		if ($i == "SKIP:") {
			print $(i + 1) " " (($(i + 1) in reason) ? reason[$(i + 1)] : "no reason given")
			break
		}
}
