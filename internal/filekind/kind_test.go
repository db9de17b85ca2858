package filekind

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

func TestFilesAreNamedForWhatTheyAre(t *testing.T) {
	for text, want := range map[string]Kind{
		"":                               Empty,
		"\x93NUMPY\x01\x00":              NPY,
		"PAR1\x15\x04":                   Parquet,
		"\x1f\x8b\x08\x00":               Gzip,
		"PK\x03\x04\x14":                 Zip,
		"\x80\x04\x95":                   Pickle,
		"\x00\x00\x08\x03\x00\x00":       IDX,
		"\xff\xfea\x00":                  UTF16,
		"%PDF-1.7":                       "a PDF",
		"  <!DOCTYPE html>\n<html>":      "an HTML page",
		"<svg xmlns=''>":                 "an SVG picture",
		"pate model 1\n":                 Model,
		"query,label\n0,1\n":             Labels,
		"query,label_seeded_not_relea":   Labels,
		"-----BEGIN PRIVATE KEY-----":    "a key in PEM",
		"# Privacy statement: ε = 2\n":   Statement,
		`{ "schema": "pate.statement/1"`: Statement,
		"<!doctype html><head>\n<title>Privacy statement: ε": Statement,
		`{"schema":"pate.ledger-signature/1"}`:               Signature,
		`{"schema":"pate.manifest/1"}`:                       Manifest,
		`{"relation":"add_remove", "events" : [ {`:           Events,
		`{"a":1}`: JSON,
		`{"line":1,"schema":"pate.ledger/2","header":{}`: Ledger,
		`{"line":1,"sch`: Ledger,
		`{"lime":1,"schema":"pate.ledger/2","prev":"","check":""}`: Ledger,
		"4:" + strings.Repeat("0a", 32) + "\n":                     Head,
		"a,b,c\n1,2,3\n":                                           Unknown,
		"not a ledger\n":                                           Unknown,
		"a\x00b":                                                   Binary,
	} {
		require.Equal(t, want, OfBytes([]byte(text)), "%q", text)
	}
	dir := t.TempDir()
	require.Equal(t, Folder, Of(dir))
	require.Equal(t, Unknown, Of(filepath.Join(dir, "none")))
	require.Equal(t, NPY, Of(testkit.Write(t, filepath.Join(dir, "a.npy"), "\x93NUMPY"+strings.Repeat("x", 3*most))))
}

func FuzzOfBytes(f *testing.F) {
	f.Add([]byte(`{"schema":"pate.statement/1"`))
	f.Add([]byte("\ufeff<html"))
	f.Fuzz(func(t *testing.T, text []byte) {
		is := OfBytes(text)
		require.Equal(t, len(text) == 0, is == Empty)
	})
}
