// Package web serves one page to browsers on this machine: what the agents of this user do, what waits for the user, and the halt switch.
//
// It listens on 127.0.0.1 only. A browser gets in by a link that works once, and is kept by a cookie that scripts and other sites cannot use.
// Requests are refused by their Host header first, then by their origin. Reading changes nothing.
//
// A page is a tree of elements that Go code describes. It is sent as HTML when a browser loads it, and as JSON when it changes. What others wrote is
// text in both. An action runs a verb of tutti as a process of its own, so that the rules of a verb are those of the page, too. A link that was
// printed below an agent CLI leads to a page that only shows.
package web
