package dataset

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/testkit"
)

// writeTexts writes texts as CSV, as JSON lines with keys in two orders, and as a folder.
func writeTexts(t *testing.T, texts [][2]string) (sources []string) {
	dir := t.TempDir()
	csv, lines := "label,text\n", "\ufeff"
	for i, r := range texts {
		csv += fmt.Sprintf("%s,%q\n", r[0], r[1])
		lines += fmt.Sprintf([]string{"\n{\"label\": %[1]q, \"text\": %[2]q}\n", "{\"text\":%[2]q,\"label\":%[1]q}\r\n"}[i%2], r[0], r[1])
		put(t, dir, fmt.Sprintf("folder/%s/%05d", r[0], i), []byte(" "+r[1]+"\n"))
	}
	put(t, dir, "folder/.hidden", []byte("x"))
	put(t, dir, "t.csv", []byte(csv))
	put(t, dir, "t.jsonl", []byte(lines))
	put(t, dir, "u.jsonl.gz", testkit.Gzip([]byte(lines)))
	for _, name := range []string{"t.csv", "t.jsonl", "u.jsonl.gz", "folder"} {
		sources = append(sources, filepath.Join(dir, name))
	}
	return sources
}

// Texts in any form are the table of the CSV: features, labels and units.
func TestTextsComeInThreeForms(t *testing.T) {
	var texts [][2]string
	for i := range 40 { // sorted by label, like the files of a folder
		label := string(rune('a' + i/20))
		texts = append(texts, [2]string{label, fmt.Sprintf("of the %s fever since day %d", strings.Repeat(label, 3), i%7)})
	}
	var want Set
	for i, path := range writeTexts(t, texts) {
		s, pool := testkit.Must2(ReadPublic(Source{Path: path}, Reading{CSV: CSVOptions{Text: "text", Label: "label"}}))
		set := testkit.Must(s.ReadPrivate(Source{Path: path}))
		set.Name, set.Provenance = "", ""
		if i == 0 {
			want = set
		}
		require.Equal(t, want, set, path)
		require.Len(t, pool.Truth, 40)
		require.Equal(t, set.Y, pool.Truth)
		opened := testkit.Must(Open(path, Options{CSV: CSVOptions{Text: "text", Label: "label"}}))
		require.Equal(t, []string{"a", "b"}, testkit.Must(opened.Task(Literature)).Classes)
		var again Schema
		require.NoError(t, again.UnmarshalJSON(testkit.Must(s.MarshalJSON())))
		require.Equal(t, pool.X, testkit.Must(again.ReadNew(Source{Path: path})).X, "a model reads all forms")
	}
}

func TestJSONLinesErrorsNameTheLine(t *testing.T) {
	const first = "{\"x\":1,\"y\":\"a\"}\n\n"
	for text, want := range map[string]string{
		"":                                   "is empty",
		" \n\n":                              "is empty",
		first + "{":                          "row 3 is not a JSON object",
		first + "7":                          "row 3 is not a JSON object",
		first + "null":                       "no keys",
		first + `{"x":1,"y":"b"} {}`:         "more follows the object",
		first + `{"x":1}`:                    "row 3 has other keys",
		first + `{"x":1,"y":2,"z":3}`:        "row 3 has other keys",
		first + `{"x":1,"z":"b"}`:            "row 3 has other keys",
		first + `{"x":[1],"y":"b"}`:          `row 3 is not a JSON object of texts and numbers; the value of key "x" is a list`,
		first + `{"x":1,"y":null}`:           `row 3 has no label in column "y"`,
		first + strings.Repeat("[", 1<<20):   "row 3 is longer than",
		`{"x":1}`:                            "none is left as a feature",
		first + strings.Repeat(`{"a":`, 1e5): "row 3 is not a JSON object",
	} {
		err := testkit.Err(readJSONLines(strings.NewReader(text), "t.jsonl", CSVOptions{Label: "y"}))
		if want == "none is left as a feature" {
			err = testkit.Err(readJSONLines(strings.NewReader(text), "t.jsonl", CSVOptions{}))
		}
		testkit.ErrorAs[*fault.Error](t, err, text)
		require.ErrorContains(t, err, want)
	}
	table := testkit.Must(readJSONLines(strings.NewReader(first+`{"y":true,"x":1e5}`), "t.jsonl", CSVOptions{Label: "y"}))
	require.Equal(t, []Column{{"x", []string{"1", "1e5"}}}, table.Columns)
	require.Equal(t, []string{"a", "true"}, table.Labels)
}

func TestFolderOfTextsErrors(t *testing.T) {
	reading := Reading{CSV: CSVOptions{Text: "text"}, Rule: ClassRule{Names: []string{"a", "b"}}}
	s, _ := testkit.Must2(ReadPublic(Source{Path: writeTexts(t, [][2]string{{"a", "of it"}, {"b", "of that"}})[3]}, reading))
	for name, want := range map[string]string{"a/long": "is longer than 1048576 bytes", "c/1": "has label \"c\"", "flat": "has no label"} {
		dir := t.TempDir()
		put(t, dir, "a/0", []byte("of it"))
		at := put(t, dir, name, bytes.Repeat([]byte("x"), map[string]int{"a/long": 1<<20 + 1}[name]+1))
		err := testkit.Err(s.ReadPrivate(Source{Path: dir}))
		requireOfOwner(t, err, false)
		require.ErrorContains(t, err, at+": ")
		require.ErrorContains(t, err, want)
	}
	require.ErrorContains(t, testkit.Err2(ReadPublic(Source{Path: t.TempDir()}, reading)), "holds no texts")
	require.ErrorContains(t, testkit.Err2(ReadPublic(Source{Path: t.TempDir()}, Reading{})), "a folder of texts needs --text text")
}

func FuzzJSONLines(f *testing.F) {
	f.Add([]byte("{\"text\":\"a b\",\"label\":\"x\",\"n\":1e9}\n\n{\"n\":null,\"label\":\"y\",\"text\":true}\n"))
	f.Add(testkit.Gzip([]byte("{\"a\":\"\\ud800\",\"\":2}")))
	f.Fuzz(func(t *testing.T, file []byte) {
		table, err := readJSONLines(bytes.NewReader(file), "f.jsonl", CSVOptions{})
		if err != nil {
			testkit.ErrorAs[*fault.Error](t, err)
			return
		}
		for _, c := range table.Columns {
			require.Len(t, c.Values, table.Len())
		}
		require.Len(t, table.Units, table.Len())
	})
}
