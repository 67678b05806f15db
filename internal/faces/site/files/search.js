"use strict";
// Finds the sections that have, for each word of the question, a word that begins with it. Texts reach the page by textContent only.
const field = document.querySelector("input[name=q]"), said = document.getElementById(".said"), found = document.getElementById(".found");

function wordsOf(text) {
	return text.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter(w => w);
}

// rank is 0 for a section without one of the words. Words in its heading and in the title of its page count more.
function rank(section, words) {
	if (!words.every(w => section.w.includes(" " + w) || wordsOf(section.p).some(t => t.startsWith(w)))) return 0;
	const heading = wordsOf(section.h), page = wordsOf(section.p);
	return words.reduce((sum, w) => sum + (heading.includes(w) ? 8 : heading.some(t => t.startsWith(w)) ? 4 : 0)
		+ (page.some(t => t.startsWith(w)) ? 2 : 0) + (section.w.includes(" " + w + " ") || section.w.endsWith(" " + w) ? 1 : 0), 1);
}

function result(section) {
	const item = document.createElement("li"), link = document.createElement("a"), begin = document.createElement("p");
	link.href = section.a;
	link.textContent = section.h === section.p ? section.p : section.p + " › " + section.h;
	begin.textContent = section.b;
	item.append(link, begin);
	return item;
}

function search() {
	const words = wordsOf(field.value);
	const all = words.length ? sections.map(s => [rank(s, words), s]).filter(r => r[0]).sort((x, y) => y[0] - x[0]) : [];
	found.replaceChildren(...all.slice(0, 40).map(r => result(r[1])));
	said.textContent = !words.length ? "Type a word." : all.length === 1 ? "1 section" : all.length + " sections" + (all.length > 40 ? ", the best 40 of them:" : "");
}

field.value = new URLSearchParams(location.search).get("q") || "";
field.addEventListener("input", search);
search();
