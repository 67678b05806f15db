// tutti for opencode. Written by "tutti host setup --host opencode"; the same with --remove deletes it.
// Each setup writes this file anew, so changes made here are lost.
//
// It calls "tutti hook opencode EVENT" and does what the answer says. When that program is missing, it does nothing.
// opencode refuses a plugin file that exports anything but plugin functions.
import fs from "node:fs"
import os from "node:os"
import { spawn } from "node:child_process"

const PROGRAM = "@PROGRAM@"
const FLAGS = ["@FLAGS@"]

const ANSWER_WITHIN = 10_000 // ms for one answer
const MAX_ANSWER = 64 * 1024
const LOOK_EVERY = 250 // ms between two looks at the halt switch
const UNREADABLE = "tutti: the halt switch is on or cannot be read. No tool may run."

const installed = () => fs.existsSync(PROGRAM)

// The rule of package halt: only "there is no such entry" means not halted, unless something above it hides the entry.
function folders() {
  let home = process.env.HOME ?? ""
  if (!home.startsWith("/")) {
    try { home = os.userInfo().homedir } catch { home = "" }
  }
  if (!home.startsWith("/")) return []
  home = home.replace(/\/+$/, "")
  return [home + "/.config/cross-agent-comms/HALT", home + "/.config/cross-agent-comms", home + "/.config", home].filter(Boolean)
}

const absent = (e) => e?.code === "ENOENT" || e?.code === "ENOTDIR"

function switched() {
  const [entry, ...above] = folders()
  if (!entry) return false // without a home folder nobody can have halted
  try {
    fs.lstatSync(entry)
    return true
  } catch (e) {
    if (!absent(e)) return true
  }
  for (const dir of above) {
    try {
      fs.lstatSync(dir)
    } catch (e) {
      if (absent(e)) continue
      return true
    }
    try {
      return !fs.statSync(dir).isDirectory()
    } catch {
      return true
    }
  }
  return false
}

// call starts a hook with its input. The result is undefined where the hook cannot answer. A hook may take as long as it likes if it waits
// for mail (wait), or if the caller ends it (lasting).
function call(event, input, { wait, lasting, started } = {}) {
  return new Promise((resolve) => {
    if (!installed()) return resolve(undefined)
    let child, out = "", err = ""
    try {
      child = spawn(PROGRAM, ["hook", "opencode", event, wait ? "--wait" : "--all-tools", ...FLAGS], { stdio: ["pipe", "pipe", "pipe"] })
    } catch {
      return resolve(undefined)
    }
    started?.(child)
    const late = wait || lasting ? undefined : setTimeout(() => child.kill("SIGKILL"), ANSWER_WITHIN)
    const ended = (code) => {
      clearTimeout(late)
      resolve(code === undefined ? undefined : { code, out, err })
    }
    child.on("error", () => ended(undefined))
    child.on("close", (code) => ended(code ?? undefined))
    child.stdin.on("error", () => {})
    child.stdout.on("data", (b) => { if (out.length < MAX_ANSWER) out += b })
    child.stderr.on("data", (b) => { if (err.length < MAX_ANSWER) err += b })
    child.stdin.end(JSON.stringify({ hook_event_name: event, ...input }))
  })
}

async function ask(event, input, how) {
  const r = await call(event, input, how)
  if (!r || r.code !== 0 || !r.out.trim()) return {}
  try {
    return JSON.parse(r.out) ?? {}
  } catch {
    return {}
  }
}

// What an answer says, in the forms of package driver.
const context = (a) => a.hookSpecificOutput?.additionalContext
const denied = (a) =>
  a.decision === "block" ? a.reason
  : a.continue === false ? a.stopReason
  : a.hookSpecificOutput?.permissionDecision === "deny" ? a.hookSpecificOutput.permissionDecisionReason
  : a.hookSpecificOutput?.decision?.behavior === "deny" ? a.hookSpecificOutput.decision.message
  : undefined
const allowed = (a) => {
  const d = a.hookSpecificOutput?.decision
  if (d?.behavior !== "allow") return undefined
  return d.updatedPermissions?.length ? "always" : "once"
}

// What a dialog asks, in the form in which Claude Code tells it to its hooks.
function question({ permission, patterns = [], metadata = {}, always = [] }) {
  let tool_input = { ...metadata, patterns }
  if (JSON.stringify(tool_input).length > MAX_ANSWER) tool_input = { patterns: patterns.slice(0, 10) }
  const rules = always.slice(0, 10).map((ruleContent) => ({ toolName: permission, ruleContent }))
  const add = { type: "addRules", behavior: "allow", destination: "session", rules }
  return { tool_name: permission, tool_input, permission_suggestions: rules.length ? [add] : [] }
}

export const Tutti = async ({ client, directory }) => {
  if (!installed()) return {}
  const once = process.argv.includes("run") // opencode run: the process ends with the turn
  const parents = new Map() // session: the one whose agent began it, or ""
  const begun = new Set() // sessions whose start the hooks were told
  const busy = new Set()
  const broken = new Set() // sessions whose turn was aborted
  const again = new Set() // sessions in which a hook asked for this turn
  const asked = new Map() // open permission: its session, and the hook that waits beside its dialog
  const notes = new Map() // call of a tool: what its result is to say as well
  let last // the session that was idle last
  let waiting // the hook that waits for mail
  let halted = switched()

  const quiet = (f) => Promise.resolve().then(f).catch(() => {})

  async function parentOf(id) {
    if (!parents.has(id)) {
      const r = await client.session.get({ path: { id } }).catch(() => undefined)
      if (!r?.data) return ""
      parents.set(id, r.data.parentID ?? "")
    }
    return parents.get(id)
  }

  // The conversation is that of the first session; the sessions of subagents are helpers in it.
  async function who(id) {
    let root = id
    for (let n = 0; n < 16; n++) {
      const up = await parentOf(root)
      if (!up) break
      root = up
    }
    const input = { session_id: root, cwd: directory }
    if (root !== id) input.agent_id = id
    return input
  }

  const toast = (message) => quiet(() => client.tui.showToast({ body: { title: "tutti", message, variant: "warning" } }))
  const abort = (id) => quiet(() => client.session.abort({ path: { id } }))
  const reply = (id, session, response) => quiet(() =>
    client.postSessionIdPermissionsPermissionId({ path: { id: session, permissionID: id }, body: { response } }))
  const rejectAll = () => { for (const [id, { session }] of asked) reply(id, session, "reject") }

  // stop ends the turn, that of the subagent and that of the agent that waits for it.
  function stop(id, root) {
    setTimeout(() => { for (const s of new Set([id, root])) abort(s) }, 0)
  }

  // refused asks the program, whose answer counts; the switch counts where the program is there and does not answer.
  async function refused(event, input, how) {
    const answer = await ask(event, input, how)
    const why = denied(answer)
    if (why) return { why, answer }
    return { why: switched() && installed() ? UNREADABLE : undefined, answer }
  }

  const say = (id, text, more) => quiet(() => {
    const parts = [{ type: "text", text }]
    if (more) parts.push({ type: "text", text: more, synthetic: true })
    return client.session.promptAsync({ path: { id }, body: { parts } })
  })

  function leave() {
    const child = waiting
    waiting = undefined
    child?.kill("SIGTERM")
  }

  // wait keeps one hook beside an idle conversation. It ends with status 2 when there is mail, and by itself when opencode has ended.
  async function wait(id) {
    leave()
    let mine
    const r = await call("Stop", { session_id: id, cwd: directory }, { wait: true, started: (child) => { mine = waiting = child } })
    if (!mine || waiting !== mine) return
    waiting = undefined
    const text = r?.code === 2 ? r.err.trim() : ""
    if (text && !switched()) await say(id, text)
  }

  async function idle(id) {
    if (once || await parentOf(id)) return
    last = id
    const input = { session_id: id, cwd: directory, stop_hook_active: again.delete(id) }
    if (!broken.delete(id) && !switched()) {
      const answer = await ask("Stop", input)
      if (answer.decision === "block" && answer.reason && !busy.has(id) && !switched()) {
        again.add(id)
        return say(id, "You have mail: run tutti receive", answer.reason)
      }
    }
    if (!busy.has(id)) await wait(id)
  }

  async function halt() {
    for (const id of busy) abort(id)
    rejectAll()
    const { why } = await refused("PreToolUse", { session_id: last ?? [...busy][0] ?? "", cwd: directory, tool_name: "" })
    if (why) await toast(why)
  }

  let pulse = 0
  const look = setInterval(() => quiet(() => {
    const now = switched() && installed()
    if (now && !halted) halt()
    else if (now && ++pulse % 4 === 0) {
      for (const id of busy) abort(id)
      rejectAll()
    } else if (!now && halted && last && !busy.has(last) && !waiting) wait(last)
    halted = now
  }), LOOK_EVERY)
  look.unref?.()

  const seen = {
    "session.created": ({ info }) => parents.set(info.id, info.parentID ?? ""),
    "session.deleted": ({ info }) => {
      if (begun.delete(info.id)) ask("SessionEnd", { session_id: info.id, cwd: directory, reason: "deleted" })
      if (last === info.id) last = undefined, leave()
    },
    "session.status": ({ sessionID, status }) => {
      if (status.type === "idle") return void busy.delete(sessionID)
      busy.add(sessionID)
      if (sessionID === last) leave()
      if (switched() && installed()) abort(sessionID)
    },
    "session.idle": ({ sessionID }) => {
      busy.delete(sessionID)
      return idle(sessionID)
    },
    "session.error": ({ sessionID, error }) => { if (sessionID && error?.name === "MessageAbortedError") broken.add(sessionID) },
    // The hook waits beside the dialog, whose first answer counts. It is ended when the dialog was answered.
    "permission.asked": async (p) => {
      const open = { session: p.sessionID, child: undefined }
      asked.set(p.id, open)
      const input = { ...await who(p.sessionID), ...question(p) }
      if (asked.get(p.id) !== open) return
      const { why, answer } = await refused("PermissionRequest", input, { lasting: !once, started: (child) => { open.child = child } })
      const response = why ? "reject" : allowed(answer)
      if (response && asked.get(p.id) === open) reply(p.id, p.sessionID, response)
    },
    "permission.replied": ({ requestID, permissionID }) => {
      const id = requestID ?? permissionID
      const open = asked.get(id)
      asked.delete(id)
      open?.child?.kill("SIGTERM")
    },
  }

  return {
    event: async ({ event }) => quiet(() => seen[event.type]?.(event.properties)),

    "chat.message": async (input, output) => {
      let why
      try {
        const at = await who(input.sessionID)
        const texts = []
        const typed = output.parts.filter((p) => p.type === "text" && !p.synthetic).map((p) => p.text).join("\n")
        if (!at.agent_id && !begun.has(at.session_id) && !switched()) {
          begun.add(at.session_id)
          texts.push(context(await ask("SessionStart", { ...at, source: "startup" })))
        }
        const r = await refused("UserPromptSubmit", { ...at, prompt: typed })
        why = r.why
        texts.push(context(r.answer))
        if (!why) for (const [n, text] of texts.filter(Boolean).entries()) {
          const before = output.parts.at(-1)?.id ?? "prt_"
          output.parts.push({
            id: before + "t" + n, sessionID: output.message.sessionID, messageID: output.message.id, type: "text", synthetic: true, text,
          })
        }
      } catch {}
      if (!why) return
      toast(why)
      throw new Error(why)
    },

    "tool.execute.before": async (input, output) => {
      let why
      try {
        const at = await who(input.sessionID)
        const args = output.args ?? {}
        const r = await refused("PreToolUse", { ...at, tool_name: input.tool, tool_input: { ...args, file_path: args.filePath ?? args.file_path } })
        why = r.why
        if (why) stop(input.sessionID, at.session_id)
        else if (context(r.answer)) notes.set(input.callID, context(r.answer))
      } catch {}
      if (!why) return
      toast(why)
      throw new Error(why)
    },

    "tool.execute.after": async (input, output) => {
      try {
        const at = await who(input.sessionID)
        const answer = await ask("PostToolUse", { ...at, tool_name: input.tool })
        const why = denied(answer)
        if (why) stop(input.sessionID, at.session_id)
        const text = [notes.get(input.callID), why, context(answer)].filter(Boolean).join("\n")
        notes.delete(input.callID)
        if (!text) return
        if (Array.isArray(output.content)) output.content.push({ type: "text", text })
        else output.output = (output.output ?? "") + "\n" + text
      } catch {}
    },

    dispose: async () => {
      clearInterval(look)
      leave()
      for (const { child } of asked.values()) child?.kill("SIGTERM")
      await Promise.all([...begun].map((id) => ask("SessionEnd", { session_id: id, cwd: directory, reason: "exit" })))
    },
  }
}
