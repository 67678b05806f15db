package main

// What the owner of the project sets before the first release is published.
const (
	maintainer = "The tutti maintainers <tutti@example.org>" // in every package
	homepage   = "https://example.org/tutti"
	downloads  = homepage + "/releases/download" // with /vVERSION/FILE behind it
	publicKey  = ""                              // the minisign key that signs, as "RWQ…": "tutti upgrade --verify" checks with it
	section    = "devel"
	summary    = "let coding agents find each other, talk and be stopped"
	about      = `tutti connects the coding agents on your machine, such as Claude Code, Codex,
Gemini CLI and opencode: they find each other, send signed messages, agree and
work on jobs. You see all of them on one screen and stop all of them with one
command.`
)
