// Package learn traces one run of a mechanism step by step, with every number in
// words a student can follow and check by hand.
//
//	m, err := learn.Find("noisy-argmax")
//	trace, err := m.Run(map[string]string{"counts": "60,40,3"}, learn.Options{Seed: 7, Delta: 1e-5})
//	err = trace.Write(os.Stdout, table.Markdown)
//
// A [Trace] is data: a title, ordered steps of a name, words, a formula and numbers, and three closing
// sections: what is released, what it cost, and what would go wrong if a common misconception were followed.
// Numbers come from the packages that run the mechanisms - aggregate, stability, svt, dpsgd - and from
// accountant, not from formulas of this package. Where a mechanism shows its noise only in its release,
// the trace runs it and works back; elsewhere the noise is drawn by the same exact samplers. Formulas that
// are wrong stand here, beside what they lead to. The same seed gives the same trace.
//
// # The words
//
// Every sentence stands in a file of the folder text, one for each mechanism, and can be changed there
// without reading Go. A text begins with the title of the trace, a line for the list of commands and a
// paragraph for their help:
//
//	# Noisy argmax: one label from many votes
//
//	> One label from many votes: add noise, take the largest
//
//	One label from the votes of teachers: noise is added to the counts ...
//
// and the inputs of the trace, a line with a default and a meaning for each:
//
//	## Inputs
//
//	- counts = 60,40,3: votes of each class
//
// Then come its sections: a heading, one paragraph, and optionally a formula in two forms, plain lines
// indented by four spaces and one line of TeX:
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
// Lines are joined and wrapped anew. Go asks for a section by the name between {# and } and adds the table
// of numbers; "What is released" and "What it cost" are found by their headings. The heading of a mistake
// begins with If, and a mistake has no formula. Values are named between braces: every input that is one
// number, and what the code of the mechanism adds with let. The language is a small part of text/template:
// {{if .passed}} ... {{else}} ... {{end}}, and {{template "verdict" .}} for the paragraph of another
// section. Sections of several mechanisms stand in text/shared.md; a text overrides them by name.
//
// The sections Chapter, Claim, Look, Wrong, Right, Exercise NAME and Solution NAME are the words of the
// course (package page).
//
// After a change run UPDATE_GOLDEN=1 go test ./internal/learn, read the difference in testdata, and run go
// test ./cmd/pate -run Docs, which finds quotations in docs/lecture. Tests fail where a value is misspelt,
// also in a branch that few runs reach, and where no run uses a section.
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
