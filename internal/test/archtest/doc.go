// Package archtest holds the build to the plan of docs/architecture.md. It has no code of its own, only tests.
//
// What it promises: every package is in the table of tiers and says in a package comment what it is for; no import
// points to the same tier or a higher one; what is light links nothing heavy, through however many steps, and a breach
// is shown as the chain of imports that made it; files stay short; no test skips itself without saying why; the
// texts that git tracks name no machine and no place of the person who wrote them; and the module can be given another path.
//
// The table and the lists lie in table_test.go. A package that is added, moved or renamed changes a row there in the
// same commit. The rules are functions over a graph, so that selftest_test.go can show on invented graphs that each of
// them does find what it is meant to find.
package archtest
