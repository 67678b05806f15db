module tutti

go 1.26.0

require golang.org/x/sys v0.49.0

require (
	github.com/cloudflare/circl v1.6.3 // indirect
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)
