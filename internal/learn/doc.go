// Package learn traces one run of a mechanism step by step, so that a student can check each step by hand.
//
//	m, err := learn.Find("noisy-argmax")
//	trace, err := m.Run(map[string]string{"counts": "60,40,3"}, learn.Options{Seed: 7, Delta: 1e-5})
//	err = trace.Write(os.Stdout, table.Markdown)
//
// A [Trace] has a title, ordered steps and three closing sections: the release, the privacy cost, and the
// consequences of misconceptions. A step has a name, text, a formula and numbers. The same seed gives the
// same trace.
//
// # The texts
//
// Folder text has one file per mechanism. A file begins with a title, a line for the list of commands, and a
// paragraph for the command's help:
//
//	# Noisy argmax: one label from many votes
//
//	> One label from many votes: add noise, take the largest
//
//	One label from the votes of teachers: noise is added to the counts ...
//
// The file text/inputs.txt lists the inputs of each mechanism. Each input has a line with its default and
// meaning, such as "- counts = 60,40,3: votes of each class".
//
// A mechanism's file continues with sections. A section has a heading, one paragraph and an optional formula.
// A formula has two forms: lines indented by four spaces, and one line of TeX.
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
// Go code finds a section by the name between {# and }, and adds numbers. The sections "What is released" and
// "What it cost" have no such name. The heading of a mistake begins with "If", and its section has no
// formula. The template {{.sigma}} inserts the value named sigma. Each numeric input is such a value, and
// lesson.let adds others. Templates are a subset of text/template. They allow {{if .passed}} ... {{else}} ...
// {{end}}. The action {{template "verdict" .}} inserts the paragraph of section verdict. The file
// text/shared.md has sections for several mechanisms. A section in a mechanism's file has priority.
//
// The sections Chapter, Claim, Look, Wrong, Right, Exercise NAME and Solution NAME belong to the course (see
// package page).
//
// After a change, run UPDATE_GOLDEN=1 go test ./internal/learn, and read the difference in testdata. Then run
// go test ./cmd/pate -run Docs to compare quotations in docs/lecture.
//
// # Adding a mechanism
//
// Write text/NAME.md. Write a Go function that adds the sections by the lesson methods step, release, cost
// and mistake. Add a line to [Mechanisms].
//
// # Caveats
//
// A trace shows private data and noise, so it is never releasable.
package learn
