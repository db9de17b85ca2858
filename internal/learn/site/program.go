package site

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Program is package internal/learn/page, compiled to a WebAssembly module for exported pages.
type Program struct {
	Packed []byte // WebAssembly module, compressed by gzip
	Glue   []byte // wasm_exec.js of the Go distribution that compiled the module
}

// ErrNoProgram is the error of [LoadProgram] if no [Program] is embedded and go build fails.
var ErrNoProgram = errors.New("site: no program for the page, and no Go that compiles one here")

// LoadProgram returns the embedded program. Without the build tag course, no program is embedded, and the go
// command compiles one in up to a minute. The working directory must then be in a module that is or requires
// this module.
func LoadProgram(ctx context.Context) (Program, error) {
	if embedded.Packed != nil {
		return embedded, nil
	}
	return Compile(ctx)
}

func Compile(ctx context.Context) (Program, error) {
	dir, err := os.MkdirTemp("", "pate-course-")
	if err != nil {
		return Program{}, fmt.Errorf("site: %w", err)
	}
	defer os.RemoveAll(dir)
	module := filepath.Join(dir, "course.wasm")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", module,
		"github.com/pate-go/pate/internal/learn/page/wasm")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		return Program{}, errors.Join(ErrNoProgram, ctx.Err(), fmt.Errorf("go build: %w\n%s", err, bytes.TrimSpace(out)))
	}
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return Program{}, fmt.Errorf("site: go env GOROOT: %w", err)
	}
	var p Program
	if p.Glue, err = os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js")); err != nil {
		return Program{}, fmt.Errorf("site: %w", err)
	}
	code, err := os.ReadFile(module)
	if err != nil {
		return Program{}, fmt.Errorf("site: %w", err)
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(code)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return Program{}, fmt.Errorf("site: %w", err)
	}
	p.Packed = packed.Bytes()
	return p, nil
}

func (p Program) script() []byte {
	return fmt.Appendf(nil, "%s\nconst packed = %q;\n%s", p.Glue, base64.StdEncoding.EncodeToString(p.Packed), appJS)
}
