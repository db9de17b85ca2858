package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// scriptCommands are what the scripts can say beside what testscript knows.
var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"code":    scriptCode,
	"run":     scriptRun,
	"replace": scriptReplace,
	"signers": scriptSigners,
}

// scriptRun runs a command line in this process, run pate ARGS..., which takes a fraction of the time of a process of its own. Where
// standard input matters, scripts say exec pate.
func scriptRun(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 || args[0] != "pate" {
		ts.Fatalf("usage: run pate ARGS...")
	}
	if code := inProcess(ts, args[1:]); neg == (code == shell.ExitDone) {
		ts.Fatalf("exit code %d", code)
	}
}

// inProcess runs a command line in the folder of a script, with the environment that commands look at.
func inProcess(ts *testscript.TestScript, args []string) (code int) {
	was, err := os.Getwd()
	ts.Check(err)
	ts.Check(os.Chdir(ts.MkAbs(".")))
	defer func() { ts.Check(os.Chdir(was)) }()
	for _, key := range []string{"HOME", "TMPDIR", "XDG_STATE_HOME", "XDG_CACHE_HOME", "PATE_DATA"} {
		before, had := os.LookupEnv(key)
		ts.Check(setOrUnset(key, ts.Getenv(key), ts.Getenv(key) != ""))
		defer func() { ts.Check(setOrUnset(key, before, had)) }()
	}
	return run(context.Background(), args, strings.NewReader(""), ts.Stdout(), ts.Stderr())
}

func setOrUnset(key, value string, set bool) error {
	if !set {
		return os.Unsetenv(key)
	}
	return os.Setenv(key, value)
}

// scriptCode runs a command line that must end with an exit code: code N pate ARGS...
func scriptCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || args[1] != "pate" {
		ts.Fatalf("usage: code N pate ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := inProcess(ts, args[2:]); got != want {
		ts.Fatalf("exit code %d, not %d", got, want)
	}
}

// oneByOne runs scripts one after the other, as a process has one working directory.
type oneByOne struct{ *testing.T }

func (t oneByOne) Parallel()     {}
func (t oneByOne) Verbose() bool { return testing.Verbose() }
func (t oneByOne) Run(name string, script func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { script(oneByOne{t}) })
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
