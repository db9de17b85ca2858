package online

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pate-go/pate/internal/tokens"
)

// Question is one request. Two requests with one ID must have equal inputs.
type Question struct {
	ID   string
	In   tokens.Input
	Row  []float32 // features, instead of In
	More []byte    // data with which the answerer resumes after the answer

	sum  [32]byte // keyed hash of ID and inputs
	echo []byte   // the ID in JSON, as in the request
}

// name returns a number that differs for other inputs.
func (q *Question) name() uint64 { return binary.LittleEndian.Uint64(q.sum[24:]) }

func (q *Question) inputs() (start [12]byte) { copy(start[:], q.sum[:]); return start }

func (q *Question) hash(h hash.Hash) {
	b := append([]byte(nil), byte(len(q.ID)))
	b = binary.AppendVarint(append(b, q.ID...), int64(q.In.Public))
	b = binary.AppendUvarint(b, uint64(len(q.In.Counts.Tokens)))
	for i, token := range q.In.Counts.Tokens {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(token)), uint64(q.In.Counts.Votes[i]))
	}
	for _, v := range q.Row {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	h.Reset()
	h.Write(b)
	h.Sum(q.sum[:0])
}

// Format reads requests and writes replies.
type Format struct {
	Settings
	Voters *Voters // read rows; nil if requests have votes
	tokens map[string]int
	labels []string // classes in JSON
	capped bool
}

const mostVotes = 1 << 40

// NewFormat returns the format of requests and replies of a run.
func NewFormat(s Settings) *Format {
	f := &Format{Settings: s, tokens: map[string]int{}, capped: s.Capped()}
	for i, name := range s.Classes {
		f.tokens[name] = i
		label, _ := json.Marshal(name) // a string can always be marshalled
		f.labels = append(f.labels, string(label))
	}
	return f
}

// None returns the question of a request that cannot be read.
func (f *Format) None() *Question { return &Question{In: tokens.Input{Public: tokens.None}} }

// request is a request that is read.
type request struct {
	*Question
	*Format
	scanner
	seen []string
}

// Parse reads one request. Errors show no private numbers. After an error the question has at most an ID.
func (f *Format) Parse(text []byte) (*Question, error) {
	r := request{Question: f.None(), Format: f, scanner: scanner{text: text}}
	err := r.check()
	if err == nil {
		err = r.object(r.member)
	}
	if err == nil {
		err = r.end()
	}
	for _, need := range []struct {
		name string
		is   bool
	}{{"query", true}, {"votes", f.Voters == nil}, {"row", f.Voters != nil}, {"public", false}} {
		if there := slices.Contains(r.seen, need.name); err == nil && there != need.is {
			err = fmt.Errorf("the request has no %q", need.name)
			if there {
				err = fmt.Errorf("the run was started without %q in its requests", need.name)
			}
		}
	}
	return r.Question, err
}

func (r *request) member(key []byte) (err error) {
	if slices.Contains(r.seen, string(key)) {
		return fmt.Errorf("byte %d: the request has the key %q twice", r.at, key)
	}
	switch string(key) {
	case "query":
		err = r.query()
	case "votes":
		err = r.votes()
	case "row":
		err = r.row()
	case "public":
		r.In.Public, err = r.token()
	default:
		return fmt.Errorf("byte %d: the request has an unknown key; the keys are query, votes, row and public", r.at)
	}
	r.seen = append(r.seen, string(key))
	return err
}

func (r *request) query() error {
	r.blank()
	start := r.at
	id, err := r.scalar(math.MaxInt64)
	if err == nil && (len(id) == 0 || len(id) > mostQuery) {
		err = fmt.Errorf("byte %d: a query must have 1 to %d bytes", start+1, mostQuery)
	}
	if err == nil {
		r.ID, r.echo = string(id), slices.Clone(r.text[start:r.at])
	}
	return err
}

// scalar reads a string, or a whole number as its digits.
func (r *request) scalar(most int64) ([]byte, error) {
	if r.peek() == '"' {
		return r.quoted()
	}
	n, err := r.whole(most)
	return strconv.AppendInt(nil, n, 10), err
}

func (r *request) token() (int, error) {
	r.blank()
	start := r.at
	name, err := r.scalar(int64(r.size() - 1))
	if err != nil {
		return 0, err
	}
	return r.find(name, start)
}

// find returns the token of a name in the request.
func (r *request) find(name []byte, start int) (int, error) {
	if r.Classes != nil {
		if token, ok := r.tokens[string(name)]; ok {
			return token, nil
		}
		return 0, fmt.Errorf("byte %d: the request has a class that was not declared", start+1)
	}
	n, err := strconv.Atoi(string(name))
	if err != nil || n < 0 || n >= r.Tokens || len(name) > 1 && (name[0] == '0' || name[0] == '+') {
		return 0, fmt.Errorf("byte %d: a token must be a whole number from 0 to %d", start+1, r.Tokens-1)
	}
	return n, nil
}

func (r *request) votes() error {
	type count struct {
		token int
		votes int64
	}
	var counts []count
	err := r.object(func(name []byte) error {
		token, err := r.find(name, r.at)
		if err != nil {
			return err
		}
		n, err := r.whole(mostVotes)
		counts = append(counts, count{token, n})
		return err
	})
	slices.SortFunc(counts, func(a, b count) int { return a.token - b.token })
	in := &r.In.Counts
	for i, c := range counts {
		if i > 0 && c.token == counts[i-1].token {
			return errors.New("the votes have a class or token twice")
		}
		if c.votes > 0 {
			in.Tokens, in.Votes = append(in.Tokens, c.token), append(in.Votes, c.votes)
		}
	}
	in.Size = r.size()
	return err
}

// row reads the cells of a row: strings, numbers, or null for a missing value.
func (r *request) row() error {
	var cells []string
	err := r.expect('[')
	for more := err == nil; more; {
		if more, err = r.more(len(cells) == 0, ']'); !more {
			break
		}
		var cell string
		if cell, err = r.cell(); err != nil {
			return err
		}
		cells = append(cells, cell)
	}
	if err == nil && r.Voters != nil {
		r.Row, err = r.Voters.encode(cells)
	}
	return err
}

func (r *request) cell() (string, error) {
	if r.peek() == '"' {
		text, err := r.quoted()
		return string(text), err
	}
	start := r.at
	for r.at < len(r.text) && bytes.IndexByte([]byte("null+-.eE0123456789"), r.text[r.at]) >= 0 {
		r.at++
	}
	cell := string(r.text[start:r.at])
	if !json.Valid([]byte(cell)) {
		r.at = start
		return "", r.wrong("a string, a number or null")
	}
	return strings.TrimPrefix(cell, "null"), nil
}

// Append appends the JSON of a reply. The question is as Parse returned it.
func (f *Format) Append(b []byte, q *Question, r Reply) []byte {
	b = append(b, `{"query":`...)
	if b = append(b, q.echo...); len(q.echo) == 0 {
		b = append(b, "null"...)
	}
	if r.Err != nil {
		text, _ := json.Marshal(r.Err.Error()) // a string can always be marshalled
		return append(append(append(b, `,"error":`...), text...), '}')
	}
	kind := `,"token":`
	if f.Classes != nil {
		kind = `,"label":`
	}
	b = append(b, kind...)
	switch {
	case r.Token == tokens.None:
		b = append(b, "null"...)
	case f.Classes != nil:
		b = append(b, f.labels[r.Token]...)
	default:
		b = strconv.AppendInt(b, int64(r.Token), 10)
	}
	b = append(append(append(b, `,"source":"`...), r.Source...), `","left":{`...)
	for i, left := range []struct {
		name string
		n    int64
	}{{"queries", r.Left.Queries}, {"answers", r.Left.Answers}} {
		if left.n == tokens.Unlimited || left.name == "answers" && !f.capped {
			continue
		}
		if i > 0 && b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(append(append(b, '"'), left.name...), `":`...), left.n, 10)
	}
	return append(b, "}}"...)
}
