package data

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/fault"
)

const (
	first  = "5.1,3.5,a\n4.9,3.0,b\n"
	second = "0.1,0.2,b\n"
)

// small is a set of two files that no machine has.
func small() dataset.Known {
	k := dataset.Known{Name: "small", Install: "ask around"}
	for _, f := range [][2]string{{"first.data", first}, {"second.data", second}} {
		k.Files = append(k.Files, dataset.KnownFile{Path: filepath.Join("small", f[0]), SHA256: hashOf([]byte(f[1]))})
	}
	return k
}

func hashOf(raw []byte) string { return fmt.Sprintf("%x", sha256.Sum256(raw)) }

func packed(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// getAll gets all files of a set, and returns what is in its folder then.
func getAll(t *testing.T, f getFlags, k dataset.Known) (map[string]string, error) {
	t.Helper()
	var failed error
	for _, file := range k.Files {
		failed = errors.Join(failed, f.get(context.Background(), &shell.Globals{Quiet: true}, k, file))
	}
	there := map[string]string{}
	entries, err := os.ReadDir(filepath.Join(os.Getenv("PATE_DATA"), "small"))
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(t, err)
	}
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(os.Getenv("PATE_DATA"), "small", e.Name()))
		require.NoError(t, err)
		there[e.Name()] = string(raw)
	}
	return there, failed
}

// requireTold demands an error in words that have all of these.
func requireTold(t *testing.T, err error, want ...string) fault.Words {
	t.Helper()
	words, found := fault.In(err)
	require.True(t, found, "%v", err)
	for _, w := range want {
		require.Contains(t, strings.Join([]string{words.What, words.Why, words.Fix}, "\n"), w)
	}
	return words
}

var whole = map[string]string{"first.data": first, "second.data": second}

func TestGetFromAFolder(t *testing.T) {
	t.Setenv("PATE_DATA", t.TempDir())
	from := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(from, "first.data.gz"), packed(t, first), 0o600))
	there, err := getAll(t, getFlags{from: from}, small())
	requireTold(t, err, "has no file second.data, plain or .gz")
	require.Equal(t, map[string]string{"first.data": first}, there, "what is right stays")
	require.NoError(t, os.WriteFile(filepath.Join(from, "second.data"), []byte(second+"x"), 0o600))
	there, err = getAll(t, getFlags{from: from}, small())
	require.True(t, requireTold(t, err, "has SHA-256", "nothing was kept").Check)
	require.Equal(t, map[string]string{"first.data": first}, there)
	require.NoError(t, os.WriteFile(filepath.Join(from, "second.data"), []byte(second), 0o600))
	left := filepath.Join(os.Getenv("PATE_DATA"), "small", ".second.data.get.123.tmp") // of a run that was killed
	require.NoError(t, os.WriteFile(left, []byte("0.1,"), 0o600))
	there, err = getAll(t, getFlags{from: from}, small())
	require.NoError(t, err)
	require.Equal(t, whole, there)
	require.NoError(t, os.RemoveAll(from))
	_, err = getAll(t, getFlags{}, small())
	require.NoError(t, err, "all is there")
}

func TestGetRefuses(t *testing.T) {
	from := filepath.Join(t.TempDir(), "first.data")
	require.NoError(t, os.WriteFile(from, []byte(first), 0o600))
	k := small()
	t.Setenv("PATE_DATA", "")
	_, err := getAll(t, getFlags{from: from}, k)
	requireTold(t, err, "export PATE_DATA=")
	t.Setenv("PATE_DATA", t.TempDir())
	_, err = getAll(t, getFlags{}, k)
	requireTold(t, err, "is not on this machine", "ask around", "--from")
	_, err = getAll(t, getFlags{from: from}, k)
	requireTold(t, err, "is one file", "has 2")
	one := dataset.Known{Name: "one", Files: []dataset.KnownFile{{Path: filepath.Join("small", "first.data"), SHA256: hashOf([]byte(first))}}}
	there, err := getAll(t, getFlags{from: from, sha256: hashOf([]byte(second))}, one)
	require.True(t, requireTold(t, err, "not the SHA-256 that was asked for").Check)
	require.Empty(t, there)
	_, err = getAll(t, getFlags{from: from, sha256: hashOf([]byte(first))}, one)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(os.Getenv("PATE_DATA"), "small", "first.data"), []byte("damaged"), 0o600))
	_, err = getAll(t, getFlags{}, one)
	requireTold(t, err, "is not the file that was recorded")
	there, err = getAll(t, getFlags{from: from}, one)
	require.NoError(t, err)
	require.Equal(t, first, there["first.data"], "and --from replaces it")
}

func TestGetFromAnAddress(t *testing.T) {
	t.Setenv("PATE_DATA", t.TempDir())
	var asked atomic.Int32
	cut := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch {
		case r.URL.Path == "/sets/first.data.gz":
			_, _ = w.Write(packed(t, first))
		case r.URL.Path == "/sets/second.data" && cut:
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(second))
		case r.URL.Path == "/sets/second.data":
			_, _ = w.Write([]byte(second))
		case r.URL.Path == "/gone/first.data":
			http.Error(w, "no", http.StatusForbidden)
		default:
			http.NotFound(w, r)
		}
	}))
	from := strings.Replace(server.URL, "http://", "http://someone:secret@", 1) + "/sets/"
	there, err := getAll(t, getFlags{from: from}, small())
	requireTold(t, err, "cannot be read to its end", "try again")
	require.NotContains(t, err.Error(), "secret")
	require.Equal(t, map[string]string{"first.data": first}, there)
	cut = false
	before := asked.Load()
	there, err = getAll(t, getFlags{from: from}, small())
	require.NoError(t, err)
	require.Equal(t, whole, there)
	require.EqualValues(t, 1, asked.Load()-before, "what is whole is not fetched again")

	t.Setenv("PATE_DATA", t.TempDir())
	_, err = getAll(t, getFlags{from: server.URL + "/gone/"}, small())
	requireTold(t, err, "answers 403", "ask around")
	_, err = getAll(t, getFlags{from: server.URL + "/nowhere/"}, small())
	requireTold(t, err, "answers 404")
	_, err = getAll(t, getFlags{from: server.URL + "/sets/first.data"}, small())
	requireTold(t, err, "is the address of one file", "with / at its end")
	server.Close()
	_, err = getAll(t, getFlags{from: from}, small())
	requireTold(t, err, "cannot be reached", "without a network")
	require.NotContains(t, err.Error(), "secret")

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	k := small()
	f := getFlags{from: "http://127.0.0.1:1/"}
	require.ErrorIs(t, f.get(ctx, &shell.Globals{Quiet: true}, k, k.Files[0]), context.Canceled)
}
