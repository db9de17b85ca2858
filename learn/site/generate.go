//go:build ignore

// This program writes course.lzma: the length of wasm_exec.js as 4 bytes, that file of the Go
// distribution, and package learn/page/wasm as WebAssembly. It is packed by xz in two parts, the
// length of the first before it as 4 bytes. Functions are not inlined: 15 % smaller. Run it with go generate ./learn/site.
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
	data := len(plain) + dataSection(program)
	plain = append(plain, program...)
	first := pack(plain[:data], "lc=4,lp=0,pb=0")
	out := append(binary.LittleEndian.AppendUint32(nil, uint32(len(first))), first...)
	out = append(out, pack(plain[data:], "lc=2,lp=2,pb=2")...)
	check(os.WriteFile("course.lzma", out, 0o644))
	log.Printf("course.lzma: %d bytes, %d unpacked", len(out), len(plain))
}

// pack returns data in the .lzma format, with its size, which xz leaves open.
func pack(data []byte, model string) []byte {
	packed := run(data, nil, "xz", "--format=lzma", "--lzma1=preset=9e,dict=16MiB,"+model, "--stdout")
	binary.LittleEndian.PutUint64(packed[5:], uint64(len(data)))
	return packed
}

// dataSection returns where the data of a module begin, which pack better by themselves: they are
// words of 4 bytes, instructions are not.
func dataSection(module []byte) int {
	for i := 8; i < len(module); {
		size, n := binary.Uvarint(module[i+1:])
		if module[i] == 11 {
			return i
		}
		i += 1 + n + int(size)
	}
	log.Fatal("generate: the module has no data")
	return 0
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
