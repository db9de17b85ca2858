package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers/votes"
)

// scriptCommands are what the scripts can say beside what testscript knows.
var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"code":    scriptCode,
	"json":    scriptJSON,
	"list":    scriptList,
	"make":    scriptMake,
	"run":     scriptRun,
	"replace": scriptReplace,
	"signers": scriptSigners,
	"votes":   scriptVotes,
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
	for _, key := range []string{"HOME", "TMPDIR", "XDG_STATE_HOME", "XDG_CACHE_HOME", "PATE_DATA", "JOB_COMPLETION_INDEX"} {
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

// scriptJSON compares a value in a file of JSON: json FILE PATH OP VALUE, or with one in another, json FILE PATH OP FILE PATH.
// PATH is of keys and numbers, such as rows.0.epsilon, where -1 is the last and len the number of elements; VALUE is null of
// what is not there. OP is == or != or, of two numbers, <, <=, > or >=.
func scriptJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 || len(args) > 5 {
		ts.Fatalf("usage: json FILE PATH OP VALUE")
	}
	a, b := valueAt(ts, args[0], args[1]), any(args[3])
	if len(args) == 5 {
		b = valueAt(ts, args[3], args[4])
	} else {
		_ = json.Unmarshal([]byte(args[3]), &b) // a word is itself
	}
	x, number := a.(float64)
	y, numbers := b.(float64)
	equal, number := reflect.DeepEqual(a, b), number && numbers
	holds := map[string]bool{"==": equal, "!=": !equal, "<": number && x < y, "<=": number && x <= y, ">": number && x > y, ">=": number && x >= y}
	if !holds[args[2]] {
		ts.Fatalf("%s of %s is %v, which is not %s %v", args[1], args[0], a, args[2], b)
	}
}

// valueAt returns the value at a path in a file of JSON, nil if there is none.
func valueAt(ts *testscript.TestScript, file, path string) (v any) {
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(file)), &v))
	for _, step := range strings.Split(path, ".") {
		switch within := v.(type) {
		case []any:
			i, err := strconv.Atoi(step)
			switch {
			case step == "len":
				v = float64(len(within))
			case err != nil || i >= len(within) || i < -len(within):
				return nil
			default:
				v = within[(i+len(within))%len(within)]
			}
		case map[string]any:
			v = within[step]
		default:
			return nil
		}
	}
	return v
}

// scriptList prints the files under a folder, with their modes, hashes and, if asked, times: list [-times] FOLDER.
func scriptList(ts *testscript.TestScript, neg bool, args []string) {
	folder := ts.MkAbs(args[len(args)-1])
	ts.Check(filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		ts.Check(err)
		var when any = ""
		if len(args) > 1 {
			when = info.ModTime()
		}
		text, _ := os.ReadFile(path) // a link may lead nowhere
		_, err = fmt.Fprintf(ts.Stdout(), "%v %x %v %s\n", info.Mode(), sha256.Sum256(text), when, strings.TrimPrefix(path, folder))
		return err
	}))
}

// scriptVotes prints votes, a line for each query: votes FILE CLASSES.
func scriptVotes(ts *testscript.TestScript, neg bool, args []string) {
	classes, err := strconv.Atoi(args[1])
	ts.Check(err)
	v, err := votes.Load(ts.MkAbs(args[0]), classes)
	ts.Check(err)
	for q := range v.Queries() {
		line := make([]any, v.Teachers())
		for k := range line {
			line[k] = v.At(q, k)
		}
		_, _ = fmt.Fprintln(ts.Stdout(), line...)
	}
}

// scriptMake writes data that tests share: make KIND FILE ARGS...
func scriptMake(ts *testscript.TestScript, neg bool, args []string) {
	numbers := make([]int, 3)
	for i, arg := range args[min(2, len(args)):] {
		if i < len(numbers) {
			numbers[i], _ = strconv.Atoi(arg) // of people they are rows
		}
	}
	label := func(i, _ int) float64 { return float64(i % 2) }
	var text []byte
	switch kind := args[0]; kind {
	case "people":
		text = people(false, args[2:]...)
	case "public":
		text = publicPeople()
	case "letters":
		text = letters(numbers[0], len(args) > 3, args[min(4, len(args)):]...)
		if strings.HasSuffix(args[1], ".jsonl") {
			text = jsonLines(text)
		}
	case "clear":
		text = clearPublic()
	case "blobs":
		text = blobs(numbers[0])
	case "strokes": // side, images to train and to test
		ts.Check(os.MkdirAll(ts.MkAbs(args[1]), 0o700))
		for prefix, n := range map[string]int{"train": numbers[1], "t10k": numbers[2]} {
			images, labels := strokes(numbers[0], n)
			ts.Check(os.WriteFile(filepath.Join(ts.MkAbs(args[1]), prefix+"-images-idx3-ubyte"), images, 0o600))
			ts.Check(os.WriteFile(filepath.Join(ts.MkAbs(args[1]), prefix+"-labels-idx1-ubyte"), labels, 0o600))
		}
		return
	case "features": // the first row, and the number of rows
		text = npyFile(numbers[1], 4, func(i, j int) float64 { return 3*label(i+numbers[0], 0) + noise(i+numbers[0], j) })
	case "labels":
		text = npyFile(numbers[0], 1, label)
	case "flipped": // the label of the last of 300 rows is another one
		text = npyFile(numbers[0], 1, func(i, _ int) float64 { return label(i+i/299, 0) })
	case "units":
		text = npyFile(numbers[0], 1, func(i, _ int) float64 { return float64(i / 2) })
	case "damaged": // from another file
		text = []byte(ts.ReadFile(args[2]))
		text[len(text)/2] ^= 1
	case "cut": // by the last byte, likewise
		text = []byte(ts.ReadFile(args[2]))
		text = text[:len(text)-1]
	default:
		ts.Fatalf("no data are called %s", kind)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), text, 0o600))
}

// strokes are idx files of strokes, upright or lying, of side x side pixels.
func strokes(side, n int) (images, labels []byte) {
	rnd := rand.New(rand.NewPCG(3, uint64(n)))
	for i := range n {
		img, at := make([]byte, side*side), 3+rnd.IntN(side-6)
		for k := 2; k < side-2; k++ {
			if y, x := k, at; i%2 == 0 {
				img[y*side+x] = byte(100 + rnd.IntN(150))
			} else {
				img[x*side+y] = byte(100 + rnd.IntN(150))
			}
		}
		images, labels = append(images, img...), append(labels, byte(i%2))
	}
	return idx(images, n, side, side), idx(labels, n)
}

// idx is a file of bytes in the format of MNIST.
func idx(body []byte, sizes ...int) []byte {
	out := []byte{0, 0, 8, byte(len(sizes))}
	for _, s := range sizes {
		out = binary.BigEndian.AppendUint32(out, uint32(s))
	}
	return append(out, body...)
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
	curve, err := ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
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

// jsonLines returns a table as JSON lines.
func jsonLines(table []byte) (text []byte) {
	rows := testkit.Must(csv.NewReader(bytes.NewReader(table)).ReadAll())
	for _, row := range rows[1:] {
		object := map[string]string{}
		for i, cell := range row {
			object[rows[0][i]] = cell
		}
		text = append(append(text, testkit.Must(json.Marshal(object))...), '\n')
	}
	return text
}
