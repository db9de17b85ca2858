package main

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptCommands are what the scripts can say beside what testscript knows.
var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"code":    scriptCode,
	"replace": scriptReplace,
	"signers": scriptSigners,
}

// scriptCode runs a program that must end with an exit code: code N PROGRAM ARGS...
func scriptCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N PROGRAM ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, not %d", got, want)
	}
}

// scriptReplace writes a file with another text in place of one: replace FROM OLD NEW TO.
func scriptReplace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: replace FROM OLD NEW TO")
	}
	text := ts.ReadFile(args[0])
	if strings.Count(text, args[1]) != 1 {
		ts.Fatalf("%s does not hold %q once", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), []byte(strings.Replace(text, args[1], args[2], 1)), 0o600))
}

// scriptSigners writes new keys: private.pem, public.pem, and those of other signers.
func scriptSigners(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: signers")
	}
	write := func(name, kind string, der []byte, err error) {
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	}
	public, private, err := ed25519.GenerateKey(nil)
	ts.Check(err)
	other, _, err := ed25519.GenerateKey(nil)
	ts.Check(err)
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	write("private.pem", "PRIVATE KEY", der, err)
	der, err = x509.MarshalPKCS8PrivateKey(curve)
	write("p256-private.pem", "PRIVATE KEY", der, err)
	for name, key := range map[string]any{"public.pem": public, "other-public.pem": other, "p256.pem": curve.Public()} {
		der, err := x509.MarshalPKIXPublicKey(key)
		write(name, "PUBLIC KEY", der, err)
	}
}
