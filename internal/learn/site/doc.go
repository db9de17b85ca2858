// Package site makes the page of `pate learn`. This machine can serve the page. The page can also be one
// HTML file, which needs no network, or a folder with a page for each chapter.
//
//	handler, err := site.Handler(host)        // the pictures are drawn by this program
//	program, err := site.LoadProgram(ctx)
//	out, err := site.File(program)            // course.html
//	err = site.WriteFolder(dir, program)      // index.html, one page for each chapter, course.js
//
// Package page draws the pictures. An exported page contains package page as a WebAssembly program.
// Releases embed this program (build tag course, after go generate ./internal/learn/site). Other builds
// compile the program when they export a page.
package site

//go:generate go run generate.go
