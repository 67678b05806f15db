# Reads "go test -v" of many packages and prints of each only its closing line, or all that matters when it failed.

# flush prints the closing line of a package, after what it said when it failed.
function flush(failed,    i) {
	if (failed)
		for (i = 1; i <= n; i++)
			print held[i]
	n = 0
}

/^=== (RUN|PAUSE|CONT|NAME)/ { next }
/^ *--- PASS:/ { next }
/^PASS$/ { next }
/^ok  \t/ { flush(0); print; next }
/^\?   \t/ { flush(1); print; next }
/^\t.*coverage: / { flush(0); next }
/^FAIL\t/ { flush(1); print; next }
{ held[++n] = $0 }
END { flush(1) }
