// Lets the conformance runner, which speaks HTTP only, talk to a server on stdio.
//
//   node bridge.mjs COMMAND [ARG…]
//
// Every HTTP session gets a process of its own. Messages are handed on as they are, in both directions; nothing is
// answered here. The address is printed on the first line. The bridge ends with its standard input.
import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

const [command, ...args] = process.argv.slice(2);
const sessions = new Map();

async function open() {
  const http = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, http),
  });
  const stdio = new StdioClientTransport({ command, args, env: process.env, stderr: "ignore" });
  http.onmessage = (m) => stdio.send(m);
  http.onclose = () => stdio.close();
  stdio.onmessage = (m) => http.send(m).catch(() => {}); // pushes of ours belong to no request: without a stream they have no way
  await stdio.start();
  await http.start();
  return http;
}

const server = createServer(async (request, response) => {
  try {
    const id = request.headers["mcp-session-id"];
    const http = id ? sessions.get(id) : await open();
    if (http) await http.handleRequest(request, response);
    else response.writeHead(404).end();
  } catch (e) {
    response.writeHead(500).end(String(e));
  }
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
process.stdin.resume().on("end", () => process.exit(0));
