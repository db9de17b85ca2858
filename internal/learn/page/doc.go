// Package page draws the pictures of `pate learn`: from the values of a chapter's knobs it computes a picture
// with its numbers and text.
//
//	c, err := page.Find("noisy-argmax")
//	view, err := c.Draw(page.Situation{"votes": "60,40,3", "noise": "20"})
//
// A [View] is a pure function of the [Situation]: panels as SVG with a text alternative, the sentences below
// them, the command that prints the same numbers, and the numbers themselves. The program in folder wasm
// compiles this package for a browser; a test compares its numbers with the native ones. Package site makes
// the page.
//
// Every probability, noise and epsilon comes from the packages that run the mechanisms and from accountant.
// Only the deliberately broken variants are computed here.
//
// # The words
//
// The text of a chapter (claim, misconception, exercises with solutions) is in the same file as the text of
// its trace, in folder text of package learn.
//
// # Adding a chapter
//
// Write text/NAME.md in package learn, a file with a function that returns a Chapter, and a line in
// [Chapters].
//
// # Caveats
//
// A picture shows votes and noise. It is for teaching; nothing in it may be released.
package page
