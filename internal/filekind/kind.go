// Package filekind recognises the kind of a file by its first bytes, for error messages about unexpected
// files.
//
//	if is := filekind.Of(path); is != filekind.Unknown {
//		fmt.Printf("%s is %s\n", path, is)
//	}
//
// # Caveats
//
// Of reads at most 4 KiB. Do not use the kind to choose how a file is read.
package filekind

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strings"
)

// Kind describes a kind of file, such as "a Parquet file".
type Kind string

const (
	Unknown   Kind = ""
	Empty     Kind = "an empty file"
	Folder    Kind = "a folder"
	NPY       Kind = "an NPY file, as numpy.save writes it"
	Parquet   Kind = "a Parquet file"
	Arrow     Kind = "an Arrow or Feather file"
	HDF5      Kind = "an HDF5 file"
	Pickle    Kind = "a Python pickle"
	Gzip      Kind = "a gzip file"
	Zstandard Kind = "a Zstandard file"
	Zip       Kind = "a zip archive, as .npz and .xlsx are"
	IDX       Kind = "an idx file, as those of MNIST"
	UTF16     Kind = "a text in UTF-16"
	Ledger    Kind = "a ledger"
	Head      Kind = "the head of a ledger"
	Key       Kind = "a secret key of a run"
	Model     Kind = "a model of pate"
	Labels    Kind = "a file of labels"
	Statement Kind = "a privacy statement"
	Manifest  Kind = "a manifest of record-id hashes"
	Registry  Kind = "an entry of the Deployments Registry"
	Signature Kind = "a signature of a ledger"
	Events    Kind = "a list of events, as pate account reads it"
	JSON      Kind = "a JSON file"
	Binary    Kind = "a binary file"
)

const most = 4096

var magic = []struct {
	start string
	kind  Kind
}{
	{`{"line":1,"schema":"pate.ledger/`, Ledger},
	{"pate model ", Model},
	{"pate student ", Model},
	{"url_slug: ", Registry},
	{"pate-key-", Key},
	{"query,label", Labels},
	{"-----BEGIN ", "a key in PEM"},
	{"\x93NUMPY", NPY},
	{"PAR1", Parquet},
	{"ARROW1", Arrow},
	{"FEA1", Arrow},
	{"\x28\xb5\x2f\xfd", Zstandard},
	{"\x89HDF\r\n", HDF5},
	{"\x1f\x8b", Gzip},
	{"PK\x03\x04", Zip},
	{"\x89PNG\r\n", "a PNG picture"},
	{"\xff\xd8\xff", "a JPEG picture"},
	{"%PDF-", "a PDF"},
	{"\xff\xfe", UTF16},
	{"\xfe\xff", UTF16},
	{"\x80\x02", Pickle}, {"\x80\x03", Pickle}, {"\x80\x04", Pickle}, {"\x80\x05", Pickle},
	{"\x00\x00\x08\x01", IDX}, {"\x00\x00\x08\x03", IDX},
}

// Of returns the kind of the file at path, or Unknown for an unreadable or unrecognised file. It does not
// wait for pipes.
func Of(path string) Kind {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return Unknown
	case info.IsDir():
		return Folder
	case !info.Mode().IsRegular():
		return Unknown
	}
	f, err := os.Open(path)
	if err != nil {
		return Unknown
	}
	defer f.Close()
	start := make([]byte, most)
	n, err := io.ReadFull(f, start)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return Unknown
	}
	return OfBytes(start[:n])
}

// OfBytes returns the kind of a file that begins with start.
func OfBytes(start []byte) Kind {
	if len(start) == 0 {
		return Empty
	}
	start = start[:min(len(start), most)]
	for _, m := range magic {
		if bytes.HasPrefix(start, []byte(m.start)) {
			return m.kind
		}
	}
	text := strings.TrimLeft(strings.TrimPrefix(string(start), "\ufeff"), " \t\r\n")
	lower := strings.ToLower(text[:min(len(text), 512)])
	switch {
	case strings.HasPrefix(text, "# Privacy statement"), strings.Contains(text, "<title>Privacy statement"):
		return Statement
	case strings.HasPrefix(lower, "<svg"), strings.HasPrefix(lower, "<?xml") && strings.Contains(lower, "<svg"):
		return "an SVG picture"
	case strings.HasPrefix(lower, "<!doctype html"), strings.HasPrefix(lower, "<html"):
		return "an HTML page"
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "["):
		return ofJSON(text)
	case head.MatchString(text):
		return Head
	case bytes.IndexByte(start, 0) >= 0:
		return Binary
	}
	return Unknown
}

func ofJSON(text string) Kind {
	const ledgerStart = `{"line":1,"schema":"pate.ledger/`
	compact := strings.NewReplacer(" ", "", "\n", "", "\t", "", "\r", "").Replace(text)
	if strings.HasPrefix(ledgerStart, text) || strings.Contains(text, `"prev":"`) && strings.Contains(text, `"check":"`) {
		return Ledger // perhaps a damaged ledger, but no other kind
	}
	for _, s := range []struct {
		part string
		kind Kind
	}{
		{`"schema":"pate.statement/`, Statement}, {`"schema":"pate.ledger-signature/`, Signature},
		{`"schema":"pate.manifest/`, Manifest}, {`"events":[`, Events},
	} {
		if strings.Contains(compact, s.part) {
			return s.kind
		}
	}
	return JSON
}

var head = regexp.MustCompile(`^[0-9]+:[0-9a-f]{64}(\n|$)`)
