// Package e2etest tries the MCP server with the programs that others wrote: the TypeScript SDK, the inspector's command
// line, the official conformance runner, and the agent programs that users have. They come from npm and are large, so the
// tests stand behind the build tag e2e, and scripts/e2e.sh (make e2e) installs what they need and runs them.
//
// The agent programs run without an account and without a network: the language model that they ask is a server of the
// test, which follows a script. What is tried is all between the model's wish to call a tool and the mailbox of another
// agent: the settings, which are typed as docs/agents.md shows them, the start of the server, the handshake, approvals, the
// result as the model gets it.
package e2etest
