// Package page draws the pictures of `pate learn`. It computes a picture, with numbers and text, from the
// values of a chapter's input controls (knobs).
//
//	c, err := page.Find("noisy-argmax")
//	view, err := c.Draw(page.Situation{"votes": "60,40,3", "noise": "20"})
//
// A [View] depends only on the [Situation]. It has SVG panels with alternative texts, sentences, numbers, and
// a command that prints these numbers. The program in folder wasm makes this package available to browsers.
//
// Probabilities, noise and epsilons come from accountant and from the packages that run the mechanisms. Only
// broken variants of mechanisms are computed in this package.
//
// # The texts
//
// The text of a chapter (claim, misconception, exercises with solutions) is in text/NAME.md of package learn.
//
// # Adding a chapter
//
// Write text/NAME.md in package learn, an entry in chapters.json, and a Go function that completes the
// [Chapter]. Add a line to [Chapters].
//
// # Caveats
//
// A picture shows votes and noise. Pictures are for teaching only and must not be released.
package page
