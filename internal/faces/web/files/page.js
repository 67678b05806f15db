"use strict";
// Draws the parts of the page that the server sends, and sends its forms. What others wrote reaches the page by textContent only.

const tags = new Set(["div", "p", "h1", "h2", "h3", "ul", "ol", "li", "table", "caption", "thead", "tbody", "tr", "th", "td", "span", "strong", "em",
	"time", "bdi", "form", "label", "input", "textarea", "button", "details", "summary", "section", "article", "a", "pre", "code", "dl", "dt", "dd",
	"select", "option", "small"]);
const attributes = new Set(["id", "class", "scope", "colspan", "datetime", "data-ago", "method", "action", "for", "type", "name", "value", "required",
	"maxlength", "rows", "placeholder", "autocomplete", "role", "aria-live", "aria-label", "aria-labelledby", "aria-describedby", "tabindex",
	"href", "title", "checked", "selected", "disabled", "lang"]);

function make(n) {
	if (!n.tag) return document.createTextNode(n.text || "");
	if (!tags.has(n.tag)) return document.createTextNode("");
	const e = document.createElement(n.tag);
	for (const [name, value] of Object.entries(n.attrs || {})) {
		if (!attributes.has(name) || name === "href" && !value.startsWith("/")) continue;
		e.setAttribute(name, value);
	}
	if (n.text) e.textContent = n.text;
	e.append(...(n.kids || []).map(kid => keep(n, kid) || make(kid)));
	if (e.id) drawn.set(e.id, JSON.stringify(n));
	return e;
}

// drawn has each element with an id as the server described it.
const drawn = new Map();

// keep returns the element of the page that shows the same already, or in which the user is writing.
function keep(parent, n) {
	const id = n.attrs && n.attrs.id;
	const old = id && document.getElementById(id);
	if (!old) return null;
	if (drawn.get(id) === JSON.stringify(n)) return old;
	const field = document.activeElement;
	if (old.contains(field) && /^(INPUT|TEXTAREA|SELECT)$/.test(field.tagName)) return old;
	return null;
}

function draw(part) {
	const place = document.getElementById(part.id);
	if (!place) return;
	const open = new Set([...place.querySelectorAll("details[open][id]")].map(d => d.id));
	const focus = document.activeElement && place.contains(document.activeElement) ? document.activeElement : null;
	const focused = focus && focus.id;
	const fresh = make(part.node);
	place.replaceChildren(...fresh.childNodes);
	place.className = fresh.className;
	for (const id of open) {
		const d = document.getElementById(id);
		if (d) d.open = true;
	}
	if (focus && document.activeElement !== focus) {
		const again = place.contains(focus) ? focus : focused && document.getElementById(focused);
		if (again) again.focus();
	}
}

// The age of what is shown.
let heard = Date.now(), connected = false, skew = 0, asOf = Date.now();

function ago(ms) {
	const s = Math.max(0, Math.round(ms / 1000));
	if (s < 60) return s + " s";
	if (s < 3600) return Math.floor(s / 60) + " min";
	if (s < 86400) return Math.floor(s / 3600) + " h";
	return Math.floor(s / 86400) + " d";
}

function tick() {
	const now = Date.now();
	for (const t of document.querySelectorAll("time[data-ago]")) {
		const text = ago(now - skew - Date.parse(t.dateTime));
		if (t.textContent !== text) t.textContent = text;
	}
	const live = connected && now - heard < 40000;
	const line = live ? "live, last change " + ago(now - skew - asOf) + " ago" : "not connected: what is shown is " + ago(now - heard) + " old or older";
	const place = document.getElementById("connection");
	if (place && place.textContent !== line) place.textContent = line;
	document.documentElement.classList.toggle("stale", !live);
}

const view = document.body.dataset.view;
const stream = new EventSource("/events?view=" + encodeURIComponent(view || ""));
const hear = at => { connected = true; heard = Date.now(); if (at) skew = heard - at; };
stream.onopen = () => { hear(0); tick(); };
stream.onerror = () => { connected = false; tick(); };
stream.addEventListener("beat", e => { hear(Date.parse(JSON.parse(e.data).at)); tick(); });
stream.addEventListener("update", e => {
	const u = JSON.parse(e.data);
	hear(0);
	asOf = Date.parse(u.at);
	(u.parts || []).forEach(draw);
	tick();
});
setInterval(tick, 1000);
tick();

// Forms are sent without leaving the page. Without this script they are sent as browsers do.
document.addEventListener("submit", async e => {
	const form = e.target;
	if (form.getAttribute("action") !== "/act") return; // form.action can be a field of that name
	e.preventDefault();
	const body = new URLSearchParams(new FormData(form, e.submitter));
	const said = document.getElementById("said");
	const buttons = [...form.querySelectorAll("button")];
	buttons.forEach(b => b.disabled = true);
	said.className = "";
	said.textContent = "…";
	try {
		const r = await fetch("/act", {method: "POST", body, headers: {Accept: "application/json"}});
		const a = r.headers.get("Content-Type").startsWith("application/json") ? await r.json() : {ok: false, text: await r.text()};
		said.className = a.ok ? "good" : "bad";
		said.textContent = a.text;
		if (a.ok) {
			form.reset();
			const d = form.closest("details");
			if (d) d.open = false;
		}
	} catch (err) {
		said.className = "bad";
		said.textContent = "not sent, as far as this page knows: the server does not answer";
	} finally {
		buttons.forEach(b => b.disabled = false);
	}
});
