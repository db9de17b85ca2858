// Package site makes the page of `pate learn`: served on this machine, as one HTML file that works without a
// network, or as a folder with a page for each chapter.
//
//	handler, err := site.Handler(host)        // the pictures are drawn by this program
//	program, err := site.LoadProgram(ctx)
//	out, err := site.File(program)            // course.html
//	err = site.WriteFolder(dir, program)      // index.html, one page for each chapter, course.js
//
// Pictures are drawn by package page. In an exported page they are drawn in the browser, by the same package
// as WebAssembly. Releases embed that program (build tag course, after go generate ./internal/learn/site);
// every other build compiles it when a page is exported.
package site

//go:generate go run generate.go
