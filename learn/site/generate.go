//go:build ignore

// This program writes course.lzma: the length of wasm_exec.js as 4 bytes, that file of the Go
// distribution, and package learn/page/wasm as WebAssembly, packed by xz. Functions are not
// inlined, which makes it 15 % smaller. Run it with go generate ./learn/site.
package main

import (
	"bytes"
	"encoding/binary"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	log.SetFlags(0)
	dir, err := os.MkdirTemp("", "learn")
	check(err)
	defer os.RemoveAll(dir)
	code := filepath.Join(dir, "course.wasm")
	run(nil, []string{"GOOS=js", "GOARCH=wasm"}, "go", "build", "-trimpath", "-buildvcs=false", "-gcflags=all=-l", "-ldflags=-s -w", "-o", code, "../page/wasm")
	program, err := os.ReadFile(code)
	check(err)
	glue, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(run(nil, nil, "go", "env", "GOROOT"))), "lib", "wasm", "wasm_exec.js"))
	check(err)
	plain := append(binary.LittleEndian.AppendUint32(nil, uint32(len(glue))), glue...)
	plain = append(plain, program...)
	packed := run(plain, nil, "xz", "--format=lzma", "--lzma1=preset=9e,dict=16MiB", "--stdout")
	binary.LittleEndian.PutUint64(packed[5:], uint64(len(plain))) // xz leaves it open
	check(os.WriteFile("course.lzma", packed, 0o644))
	log.Printf("course.lzma: %d bytes, %d unpacked", len(packed), len(plain))
}

func run(in []byte, env []string, name string, args ...string) []byte {
	cmd := exec.Command(name, args...)
	cmd.Stdin, cmd.Stderr, cmd.Env = bytes.NewReader(in), os.Stderr, append(os.Environ(), env...)
	out, err := cmd.Output()
	check(err)
	return out
}

func check(err error) {
	if err != nil {
		log.Fatal("generate: ", err)
	}
}
