package statement

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/pate-go/pate/accountant/ledger"
)

const recordSchema = "pate.statement-record/1"

type record struct {
	Schema  string         `json:"schema"`
	Program Program        `json:"program"`
	About   *About         `json:"about,omitempty"`
	Ledgers []recordLedger `json:"ledgers"`
	Facts
	Date    string  `json:"date,omitempty"` // date of a registry entry, if About has none
	Epsilon *bound  `json:"epsilon"`        // epsilon of the first claim
	Delta   float64 `json:"delta"`
	Digest  string  `json:"digest"` // last field; see seal
}

type recordLedger struct {
	Name     string       `json:"name"`
	ID       string       `json:"id,omitempty"`
	Head     ledger.Head  `json:"head"`
	Compared *bool        `json:"head_compared,omitempty"`
	Files    []recordFile `json:"files,omitempty"` // files on the page
}

type recordFile struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

func (s *Statement) record() record {
	r := record{
		Schema: recordSchema, Program: s.Program, About: s.About, Facts: s.Facts,
		Epsilon: s.Claims[0].Epsilon, Delta: s.Claims[0].Delta, Digest: strings.Repeat("0", 64),
	}
	for _, l := range s.each() {
		one := recordLedger{Name: l.Ledger, ID: l.ID, Head: l.Head, Compared: l.Compared}
		for _, f := range l.Released {
			if f.Name != "" {
				one.Files = append(one.Files, recordFile{f.Name, f.SHA256})
			}
		}
		r.Ledgers = append(r.Ledgers, one)
	}
	return r
}

// comment returns the record as a comment in HTML or YAML. The JSON cannot end the comment, because
// json.Marshal escapes <, > and line breaks.
func (r record) comment(begin, end string) (string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("statement: %w", err)
	}
	return begin + string(text) + end + "\n", nil
}

func digestAt(page []byte) int {
	// The key before the digest cannot occur inside a JSON string, because its quotes would be escaped.

	const field = `"digest":`
	at := bytes.LastIndex(page, []byte(field))
	if at < 0 {
		return -1
	}
	at += len(field)
	if at < len(page) && page[at] == ' ' {
		at++
	}
	at++
	if at+65 > len(page) || page[at-1] != '"' || page[at+64] != '"' || len(bytes.Trim(page[at:at+64], "0123456789abcdef")) > 0 {
		return -1
	}
	return at
}

func digest(page []byte, at int) []byte {
	blank := slices.Clone(page)
	copy(blank[at:at+64], strings.Repeat("0", 64))
	sum := sha256.Sum256(blank)
	return hex.AppendEncode(nil, sum[:])
}

func seal(page []byte) []byte {
	if at := digestAt(page); at >= 0 {
		copy(page[at:at+64], digest(page, at))
	}
	return page
}

// ErrPage matches the error of Check if a page is not a statement, was changed, or is about a different
// ledger.
var ErrPage = errors.New("statement: the page does not hold")

// Checked describes a page that passed Check.
type Checked struct {
	Lines int64 // lines of the ledger when the page was written
	// Rewritten is true if this program writes exactly the checked page from the ledger. Otherwise Check
	// compared only the digest, the head and the released files. For a single ledger, Check also compared the
	// first epsilon and delta.
	Rewritten bool
	Program   Program // program that wrote the page
	Ledgers   int
	About     *About // words of the owner on the page, or nil
	Facts     Facts  // other facts on the page
}

const (
	maxPage    = 16 << 20 // bytes
	maxLedgers = 1000     // on one page
)

// Check verifies that a page is an unchanged statement of a ledger. Every call of open must return the ledger
// from its first line. The ledger may have more lines than the page covers. For a bad page, the error matches
// [ErrPage].
func Check(page io.Reader, open func() (io.ReadCloser, error)) (Checked, error) {
	text, err := io.ReadAll(io.LimitReader(page, maxPage+1))
	if err != nil {
		return Checked{}, fmt.Errorf("statement: %w", err)
	}
	bad := func(format string, args ...any) (Checked, error) {
		return Checked{}, fmt.Errorf("%w: %s", ErrPage, fmt.Sprintf(format, args...))
	}
	r, at, err := readRecord(text)
	switch {
	case err != nil:
		return bad("%v", err)
	case string(digest(text, at)) != r.Digest:
		return bad("the digest of the statement is wrong, so the statement was changed after it was written")
	}
	for _, l := range r.Ledgers {
		again, err := r.again(l, open)
		switch {
		case errors.Is(err, ledger.ErrCorrupt): // another ledger of the page
			continue
		case errors.Is(err, errNotReleased), err == nil && again.Head != l.Head:
			return bad("the statement lists a release that is not in the ledger")
		case err != nil:
			return Checked{}, err
		}
		return r.compare(text, l, again)
	}
	return bad("the statement records a line %d that this ledger lacks, so the statement is about another ledger or a newer copy",
		r.Ledgers[0].Head.Lines)
}

func (r record) again(l recordLedger, open func() (io.ReadCloser, error)) (*Statement, error) {
	opt := Options{About: r.About, Program: r.Program}
	if len(r.Ledgers) == 1 { // facts may be about another ledger of the page
		opt.Facts = r.Facts
	}
	for _, f := range l.Files {
		sum, err := hex.DecodeString(f.SHA256)
		if err != nil || len(sum) != sha256.Size {
			return nil, errNotReleased
		}
		opt.Files = append(opt.Files, File{Name: f.Name, SHA256: [sha256.Size]byte(sum)})
	}
	file, err := open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	source := Source{Name: l.Name, Ledger: &firstLines{r: file, left: l.Head.Lines},
		Heads: func(string) ([]ledger.Head, error) { return []ledger.Head{l.Head}, nil }}
	if l.Compared != nil {
		source.Compared = func() bool { return *l.Compared }
	}
	s, err := New(opt, source)
	if err == nil {
		s.day = r.Date
	}
	return s, err
}

func (r record) compare(text []byte, l recordLedger, again *Statement) (Checked, error) {
	out := Checked{Lines: l.Head.Lines, Program: r.Program, Ledgers: len(r.Ledgers), About: r.About, Facts: r.Facts}
	if len(r.Ledgers) > 1 {
		return out, nil
	}
	for _, write := range []func(io.Writer) error{again.WriteHTML, again.WriteMarkdown, again.WriteJSON, again.WriteRegistry} {
		var b bytes.Buffer
		if write(&b) == nil && bytes.Equal(b.Bytes(), text) { // the registry takes no experiment
			out.Rewritten = true
			return out, nil
		}
	}
	claimed, is := math.Inf(1), again.epsilon()
	if r.Epsilon != nil {
		claimed = float64(*r.Epsilon)
	}
	switch {
	case r.Program == thisProgram():
		return out, fmt.Errorf("%w: the page differs from the statement that this program writes for the ledger "+
			"(or another build named %s wrote the page)", ErrPage, Plain(r.Program.String()))
	case r.Delta != again.Claims[0].Delta || !(claimed == is || math.Abs(claimed-is) <= 1e-9*is):
		return out, fmt.Errorf("%w: the page claims epsilon %v at delta %v, but the ledger gives %v at %v",
			ErrPage, claimed, r.Delta, is, again.Claims[0].Delta)
	}
	return out, nil
}

type firstLines struct {
	r    io.Reader
	left int64
}

func (f *firstLines) Read(p []byte) (int, error) {
	if f.left <= 0 {
		return 0, io.EOF
	}
	n, err := f.r.Read(p)
	for i, c := range p[:n] {
		if c == '\n' {
			if f.left--; f.left == 0 {
				return i + 1, err
			}
		}
	}
	return n, err
}

func readRecord(page []byte) (record, int, error) {
	var r record
	if len(page) > maxPage {
		return r, 0, errors.New("the file is too long for a statement")
	}
	at := digestAt(page)
	if at < 0 {
		return r, 0, errors.New("the file is not a statement, or an older version of pate wrote it without a digest")
	}
	text, whole := page, struct{ Record *record }{&r}
	into := any(&whole)
	if start := max(bytes.LastIndex(page, []byte("<!-- {")), bytes.LastIndex(page, []byte("\n#   {"))); start >= 0 && page[0] != '{' {
		text, into = bytes.TrimSuffix(bytes.TrimSpace(page[start+len("<!-- "):]), []byte("-->")), &r
	}
	if err := json.Unmarshal(text, into); err != nil {
		return r, 0, errors.New("the last line of the file cannot be read")
	}
	noHead := func(l recordLedger) bool { return l.Head.Lines < 1 }
	switch {
	case r.Schema != recordSchema:
		return r, 0, fmt.Errorf("the record of the statement is %q, but this version reads %q", r.Schema, recordSchema)
	case len(r.Ledgers) == 0 || len(r.Ledgers) > maxLedgers || slices.ContainsFunc(r.Ledgers, noHead):
		return r, 0, errors.New("the statement does not name its ledger")
	}
	return r, at, nil
}
