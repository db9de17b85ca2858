//go:build !(js && wasm)

package main

import (
	"bufio"
	"log"
	"os"

	"github.com/pate-go/pate/learn/page"
)

// main answers requests by native code, a line each, to compare with.
func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if _, err := os.Stdout.Write(page.Call(in.Bytes())); err != nil {
			log.Fatal(err)
		}
	}
}
