# Reads "go test -v" of many packages and prints of each only its closing line, and when it failed what the tests that
# failed have said.

# A name is that of a test; what a subtest says belongs to its parents, too.
function is_failed(name) {
	return name == "" || name in failed || nothing_named
}

function hold(name) { held[++n] = $0; owner[n] = name }

# flush forgets a package after printing what matters of it.
function flush(bad,    i) {
	for (i = 1; bad && i <= n; i++)
		if (is_failed(owner[i]))
			print held[i]
	n = 0
	current = ""
	split("", failed)
	nothing_named = 1
}

BEGIN { nothing_named = 1 }
/^=== (RUN|CONT|NAME)/ { current = $3; next }
/^=== PAUSE/ { next }
/^ *--- (PASS|SKIP): / { current = $3; next }
/^ *--- FAIL: / { current = $3; failed[$3] = 1; nothing_named = 0; hold($3); next }
/^panic: / { current = "" }
/^PASS$/ { next }
/^ok  \t/ { flush(0); print; next }
/^\?   \t/ { flush(1); print; next }
/^FAIL\t/ { flush(1); print; next }
{ hold($0 == "FAIL" ? "" : current) }
END { flush(1) }
