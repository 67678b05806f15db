module tutti

go 1.26.0

require (
	github.com/cloudflare/circl v1.6.3
	github.com/pelletier/go-toml/v2 v2.4.3
	github.com/rogpeppe/go-internal v1.16.0
	golang.org/x/sys v0.49.0
	pgregory.net/rapid v1.3.0
)

require (
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/tools v0.26.0 // indirect
)
