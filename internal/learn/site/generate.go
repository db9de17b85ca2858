//go:build ignore

// This program writes course.wasm.gz and wasm_exec.js for the build tag course. Run it by go generate
// ./internal/learn/site.
package main

import (
	"context"
	"log"
	"os"

	"github.com/pate-go/pate/internal/learn/site"
)

func main() {
	p, err := site.Compile(context.Background())
	if err == nil {
		err = os.WriteFile("course.wasm.gz", p.Packed, 0o644)
	}
	if err == nil {
		err = os.WriteFile("wasm_exec.js", p.Glue, 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}
