# "make help" lists the targets. They need Go, git and make, and install Debian packages where they need some; bench, soak and soak-load use
# those of "make test".

# Both programs carry the same build id; a program that meets a sibling of another build says so instead of going on.
BUILD   := $(shell git describe --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X tutti/internal/faces/cli/kit.Build=$(BUILD)
GOBUILD := CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "$(LDFLAGS)"

MKSITE := GOOS= GOARCH= CGO_ENABLED=0 go run -trimpath -buildvcs=false ./internal/faces/site/mksite
DOCS   := internal/faces/web/made/docs

.PHONY: help build install demo test race lint bench soak soak-load e2e fmt pictures site module release release-check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

build: $(DOCS)/index.html ## build bin/tutti and bin/tutti-full
	$(GOBUILD) -o bin/ ./cmd/tutti ./cmd/tutti-full

# The documentation inside tutti-full. A broken link is printed and does not stop the build: the tests and "make site" fail on it.
$(DOCS)/index.html: $(wildcard *.md docs/*.md docs/pictures/* internal/faces/site/*.go internal/faces/site/*/*)
	@rm -rf $(DOCS)
	-@$(MKSITE) -back / $(DOCS)

install: build ## copy the programs to ~/.local/bin; then type: tutti setup
	@bin/tutti install

demo: build ## watch two agents meet, talk and be halted, in a home folder of their own
	@bin/tutti demo

test: ## install what the tests need, then run all of them
	@scripts/test.sh

race: ## run most of the tests with the race detector
	@scripts/test.sh race

lint: ## format, vet and static analysis, with the versions pinned in tools/go.mod
	@scripts/lint.sh

bench: build ## measure what is promised and rewrite the table in docs/performance.md
	CGO_ENABLED=0 go run -trimpath -buildvcs=false ./internal/test/bench -bin bin -page docs/performance.md $(BENCHFLAGS)

soak: ## the long versions of the tests and every fuzz target; under an hour
	@scripts/soak.sh

soak-load: ## run the tests ten times beside 8 busy loops, once before a release; 90 minutes to 4 hours
	@scripts/soak-load.sh

e2e: ## try the MCP server with official clients and real agent programs, kept in a cache folder (2 GB)
	@scripts/e2e.sh

fmt: ## format all Go files
	@scripts/lint.sh fmt

site: ## write the documentation as a static site to dist/site, after a check of every link
	@rm -rf dist/site && $(MKSITE) dist/site

pictures: build ## make the pictures of the documentation anew, from real runs
	@scripts/prereqs.sh tmux git chromium
	CGO_ENABLED=0 go run -trimpath -buildvcs=false ./internal/test/pictures -bin bin -out docs/pictures

release: ## build archives, packages, sums and their signature in dist/
	@rm -rf dist && cd tools/release && go run . -source ../.. -out ../../dist

release-check: ## build two releases from two clones, compare them, install and remove the packages
	@scripts/release-check.sh

module: ## change the module path everywhere: make module PATH=example.org/me/tutti
	@exec scripts/module.sh "$(PATH)" # its parent is make, which knows the former PATH

clean: ## remove what was built
	rm -rf bin dist $(DOCS)
