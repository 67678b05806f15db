// Package e2etest tries the MCP server with the clients that others wrote: the TypeScript SDK, the inspector's command
// line and the official conformance runner. They come from npm and are large, so the tests stand behind the build tag
// e2e, and scripts/e2e.sh (make e2e) installs what they need and runs them.
package e2etest
