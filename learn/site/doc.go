// Package site makes the page of `pate learn`: one HTML file that works without a network, a
// folder with a page for each chapter, or what a server on this machine shows.
//
//	err := site.WriteFile(w)                  // course.html
//	err := site.WriteFolder(dir)              // index.html, one page for each chapter, course.js
//
// The pictures are those of package page. It runs in the browser as WebAssembly, which is kept
// packed in course.lzma, because a user has this program alone and no compiler. After a change
// of package page, or of what it computes with, run go generate ./learn/site, which needs xz. A
// test compares what is packed with what would be drawn today and fails where a number differs;
// another fails where a file of package learn or page is not the one that was packed.
//
// # Why the file is in windows-1252
//
// The packed program is 1.4 MB. In base64 it would be 1.85; in an encoding that has a character
// for every byte it stays 1.4, with escapes for the three bytes that HTML changes. Everything
// else in the file is ASCII, with character references.
package site

//go:generate go run generate.go
