// Package learn traces one run of a mechanism step by step, with all numbers and explanations, so that a
// student can check each step by hand.
//
//	m, err := learn.Find("noisy-argmax")
//	trace, err := m.Run(map[string]string{"counts": "60,40,3"}, learn.Options{Seed: 7, Delta: 1e-5})
//	err = trace.Write(os.Stdout, table.Markdown)
//
// A [Trace] is data. It has a title, ordered steps (each with a name, text, a formula and numbers), and three
// closing sections: the release, its cost, and the consequences of common misconceptions. Numbers come from
// the packages that run the mechanisms - aggregate, stability, svt, dpsgd - and from accountant, not from
// formulas of this package. If a mechanism reveals its noise only in its release, the trace runs the
// mechanism and reconstructs the noise; otherwise the noise is drawn by the same exact samplers. Wrong
// formulas are in this package, with their consequences. The same seed gives the same trace.
//
// # The words
//
// All sentences are in the folder text, in one file per mechanism, and can be changed without reading Go. A
// text begins with the title of the trace, a line for the list of commands and a paragraph for their help:
//
//	# Noisy argmax: one label from many votes
//
//	> One label from many votes: add noise, take the largest
//
//	One label from the votes of teachers: noise is added to the counts ...
//
// The inputs of all traces are in text/inputs.txt: the mechanism, then a line for each input with its default
// and meaning, "- counts = 60,40,3: votes of each class". Then come the sections of a text: a heading, one
// paragraph, and optionally a formula in two forms, plain lines indented by four spaces and one line of TeX:
//
//	## Draw the noise {#noise}
//
//	One whole number for each class, with standard deviation {{.sigma}}. It is drawn
//	before the votes are looked at.
//
//	    P[Z = k] proportional to exp(-k^2 / (2 sigma^2))
//
//	$$P[Z = k] \propto e^{-k^2 / (2\sigma^2)}$$
//
// Lines are joined and wrapped again. Go code looks up a section by the name between {# and } and adds the
// table of numbers; "What is released" and "What it cost" are found by their headings. The heading of a
// mistake begins with If, and a mistake has no formula. Values are inserted by name between braces: every
// input that is a single number, and values that the mechanism's code adds with let. The language is a small
// part of text/template: {{if .passed}} ... {{else}} ... {{end}}, and {{template "verdict" .}} for the
// paragraph of another section. Sections common to several mechanisms are in text/shared.md; a text overrides
// them by name.
//
// The sections Chapter, Claim, Look, Wrong, Right, Exercise NAME and Solution NAME are the text of the course
// (package page).
//
// After a change run UPDATE_GOLDEN=1 go test ./internal/learn, read the difference in testdata, and run go
// test ./cmd/pate -run Docs, which finds quotations in docs/lecture. Tests fail if a value is misspelt, even
// in a branch that few runs reach, or if a section is never used.
//
// # Adding a mechanism
//
// Write text/NAME.md, a file with a function that adds the sections in order with step, release, cost and
// mistake, and a line in [Mechanisms].
//
// # Caveats
//
// A trace shows private data and noise: it is never releasable, whatever the seed.
package learn
