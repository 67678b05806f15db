// Two agents meet, each driven by the TypeScript SDK's client over its own stdio connection.
//
//   node meet.mjs TUTTID ROOT
//
// Each thing that was seen is printed as one line of JSON {"seen":…}; what is expected of it is the business of the
// test that runs this. The exit status is 1 when a call fails in the protocol.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [server, root] = process.argv.slice(2);
const say = (seen, more) => console.log(JSON.stringify({ seen, ...more }));

async function join(host, name) {
  const transport = new StdioClientTransport({
    command: server,
    args: ["mcp-serve", "--root", root, "--auto-open", "--host", host, "--name", name],
    env: process.env,
    stderr: "inherit",
  });
  const client = new Client({ name: "meet", version: "1" });
  const pushes = [];
  let woken = () => {};
  client.fallbackNotificationHandler = async (n) => {
    pushes.push(n);
    woken();
  };
  await client.connect(transport);
  // The push that a predicate looks for, at most 5 s later.
  const push = async (wanted) => {
    const deadline = Date.now() + 5000;
    for (;;) {
      const found = pushes.find((n) => n.method === "notifications/h2a" && wanted(n.params));
      if (found) return found.params;
      if (Date.now() > deadline) throw new Error(`${name}: the push did not come; there were ${JSON.stringify(pushes)}`);
      await new Promise((done) => {
        woken = done;
        setTimeout(done, 100);
      });
    }
  };
  const call = async (tool, args = {}) => {
    const r = await client.callTool({ name: tool, arguments: args });
    const text = JSON.parse(r.content[0].text);
    if (r.structuredContent && JSON.stringify(r.structuredContent) !== JSON.stringify(text)) {
      throw new Error(`${tool}: structuredContent differs from the text`);
    }
    if (JSON.stringify(r).length > 12000) throw new Error(`${tool}: a result of ${JSON.stringify(r).length} bytes`);
    say("call", { tool, isError: r.isError, result: text });
    return text;
  };
  say("joined", { server: client.getServerVersion(), instructions: Boolean(client.getInstructions()) });
  return { client, call, push };
}

const ana = await join("claude", "ana");
const { tools } = await ana.client.listTools();
say("tools", { tools });
await ana.client.ping();
const me = await ana.call("tutti_status");

const bob = await join("codex", "bob");
say("push", { push: await ana.push((p) => p.topic === "presence.peer_joined" && p.data.peer.host === "codex") });
const peers = await ana.call("tutti_peers");
const sent = await ana.call("tutti_send", { to: "codex:bob", text: "does the schema hold?" });
say("push", { push: await bob.push((p) => p.topic === "inbox.envelope_arrived") });
const got = await bob.call("tutti_receive", {});
const id = sent.id ?? sent.envelopeId;
await bob.call("tutti_read", { id });
await bob.call("tutti_reply", { id, text: "it does" });
say("push", { push: await ana.push((p) => p.topic === "inbox.envelope_arrived") });
await ana.call("tutti_receive", {});
await ana.call("tutti_ack", { ids: [] });
await ana.call("tutti_send", { to: "codex:nobody", text: "hello?" });
await ana.call("h2a_discover_instances");
await ana.call("h2a_discover_sessions");
await ana.call("h2a_inbox", { action: "read", instance: "codex:bob" });
await ana.call("h2a_no_such_tool");
await bob.client.close();
say("push", { push: await ana.push((p) => p.topic === "presence.peer_left") });
await ana.client.close();
say("done", { me: me.instance, peers, got });
