// Package page draws the pictures of `pate learn`. It computes a picture, with numbers and text, from the
// values of a chapter's knobs.
//
//	c, err := page.Find("noisy-argmax")
//	view, err := c.Draw(page.Situation{"votes": "60,40,3", "noise": "20"})
//
// A [View] depends only on the [Situation]. It has SVG panels with alternative texts, sentences, the numbers,
// and a command that prints these numbers. The program in folder wasm compiles this package for browsers. A
// test compares the browser program's numbers with this package's. Package site makes the HTML page.
//
// Every probability, noise and epsilon comes from accountant and from the packages that run the mechanisms.
// Only deliberately broken variants are computed here.
//
// # The texts
//
// The text of a chapter (claim, misconception, exercises with solutions) is in the same file as the text of
// the chapter's trace, in folder text of package learn.
//
// # Adding a chapter
//
// Write text/NAME.md in package learn, an entry in chapters.json, and a file with a function that completes
// the Chapter. Add a line to [Chapters].
//
// # Caveats
//
// A picture shows votes and noise. It is for teaching only and must not be released.
package page
