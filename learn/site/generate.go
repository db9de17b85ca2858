//go:build ignore

// This program writes course.lzma: the length of wasm_exec.js as 4 bytes, that file of the Go
// distribution, and package learn/page/wasm as WebAssembly. It is packed by xz in two parts, the
// length of the first before it as 4 bytes. Functions are not inlined: 15 % smaller. It writes
// sources.sum too, by which a test knows what was packed. Run it with go generate ./learn/site.
package main

import (
	"bytes"
	"encoding/binary"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pate-go/pate/learn/site/internal/sources"
)

func main() {
	log.SetFlags(0)
	sums, err := sources.Sums(os.DirFS("..")) // before the build: a change meanwhile fails the test
	check(err)
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
	begin, program := oneSegment(program)
	data := len(plain) + begin
	plain = append(plain, program...)
	first := pack(plain[:data], "lc=4,lp=0,pb=0")
	out := append(binary.LittleEndian.AppendUint32(nil, uint32(len(first))), first...)
	out = append(out, pack(plain[data:], "lc=1,lp=3,pb=3")...)
	check(os.WriteFile("course.lzma", out, 0o644))
	check(os.WriteFile("sources.sum", []byte(sums), 0o644))
	log.Printf("course.lzma: %d bytes, %d unpacked", len(out), len(plain))
}

// pack returns data in the .lzma format, with its size, which xz leaves open.
func pack(data []byte, model string) []byte {
	packed := run(data, nil, "xz", "--format=lzma", "--lzma1=preset=9e,dict=16MiB,"+model, "--stdout")
	binary.LittleEndian.PutUint64(packed[5:], uint64(len(data)))
	return packed
}

// oneSegment returns where the data of a module begin, and the module with its data as one
// segment. The linker leaves zeros out and so writes 100,000 segments, each with its address:
// tables of 4 byte words, which pack well, are then cut at odd places. Memory is the same, and
// what is packed 100 kB smaller.
func oneSegment(module []byte) (begin int, out []byte) {
	var at int
	read := func() int {
		v, n := binary.Uvarint(module[at:])
		if n <= 0 {
			log.Fatal("generate: the module is cut short")
		}
		at += n
		return int(v)
	}
	section := func() int { // returns where the section at at ends
		at++
		size := read()
		return at + size
	}
	const header, dataID, countID = 8, 11, 12
	for at = header; module[at] != dataID; {
		if module[at] == countID {
			log.Fatal("generate: the module counts its segments")
		}
		if at = section(); at >= len(module) {
			log.Fatal("generate: the module has no data")
		}
	}
	begin = at
	end := section()
	memory := make([]byte, 1<<25) // by address; the runtime has the first of it
	low, high := len(memory), 0
	for range read() {
		// Active, in the only memory, at a constant: i32.const address end. Addresses are below
		// 2^31, so that their signed form reads as unsigned.
		if module[at] != 0 || module[at+1] != 0x41 {
			log.Fatal("generate: a segment has no constant address")
		}
		at += 2
		address := read()
		if module[at] != 0x0b {
			log.Fatal("generate: a segment has no constant address")
		}
		at++
		size := read()
		if address+size > len(memory) {
			log.Fatal("generate: more data than there is place for")
		}
		copy(memory[address:], module[at:at+size])
		low, high = min(low, address), max(high, address+size)
		at += size
	}
	if at != end {
		log.Fatal("generate: the data do not fill their section")
	}
	memory = memory[low:high]
	one := binary.AppendUvarint([]byte{1, 0, 0x41}, uint64(low))
	if one[len(one)-1]&0x40 != 0 { // the sign of a signed number
		one[len(one)-1] |= 0x80
		one = append(one, 0)
	}
	one = append(binary.AppendUvarint(append(one, 0x0b), uint64(len(memory))), memory...)
	out = append(append([]byte{}, module[:begin]...), dataID)
	out = append(binary.AppendUvarint(out, uint64(len(one))), one...)
	return begin, append(out, module[end:]...)
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
