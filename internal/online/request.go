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

func (q *Question) name() uint64 { return binary.LittleEndian.Uint64(q.sum[24:]) }

func (q *Question) inputs() (start [12]byte) { copy(start[:], q.sum[:]); return start }

func (q *Question) hash(h hash.Hash) {
	b := append([]byte(nil), byte(len(q.ID)))
	b = binary.AppendVarint(append(b, q.ID...), int64(q.In.Public))
	for _, list := range [][]int{q.In.Counts.Tokens, q.In.List} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, token := range list {
			b = binary.AppendUvarint(b, uint64(token))
		}
	}
	for _, list := range [][]int64{q.In.Counts.Votes, q.In.Base, q.In.Scores} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, n := range list {
			b = binary.AppendVarint(b, n)
		}
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
	Seeded bool    // the noise comes from a seed, so no reply is releasable
	voters *Voters // read rows; nil if requests have votes
	tokens map[string]int
	labels []string // classes in JSON
	capped bool
	fields []string        // names of the fields of a request
	lists  *tokens.Clipped // not nil if requests have log-probabilities
}

const mostVotes = 1 << 40

// NewFormat returns the format of requests and replies of a run. All noise of s must be set. If requests have
// votes, v is nil.
func NewFormat(s Settings, v *Voters) (*Format, error) {
	f := &Format{Settings: s, voters: v, tokens: map[string]int{}, capped: s.Capped(), fields: []string{"query", "votes"}}
	if s.Quota != nil {
		f.fields = []string{"query", "row"}
	} else if m, err := s.mechanism(); err != nil {
		return nil, err
	} else if clipped, ok := m.(*tokens.Clipped); ok {
		f.lists, f.fields = clipped, []string{"query", "list", "public", "logprobs"}
	} else if _, ok := m.(*tokens.Screen); ok {
		f.fields = []string{"query", "votes", "public"}
	}
	for i, name := range s.Classes {
		f.tokens[name] = i
		label, _ := json.Marshal(name) // a string can always be marshalled
		f.labels = append(f.labels, string(label))
	}
	return f, nil
}

// None returns an empty question, for a request that cannot be read.
func (f *Format) None() *Question { return &Question{In: tokens.Input{Public: tokens.None}} }

type request struct {
	*Question
	*Format
	scanner
	seen     []string
	teachers [][]float64 // log-probabilities of each teacher
	public   []float64   // log-probabilities of the public model
}

// Parse reads one request. Errors show no private numbers. After an error the question has at most an ID.
func (f *Format) Parse(text []byte) (*Question, error) {
	r := request{Question: f.None(), Format: f, scanner: scanner{text: text}}
	r.In.Counts.Size = f.size()
	err := r.check()
	if err == nil {
		err = r.object(r.member)
	}
	if err == nil {
		err = r.end()
	}
	for _, name := range f.fields {
		if err == nil && name != "public" && !slices.Contains(r.seen, name) {
			err = fmt.Errorf("the request has no %q", name)
		}
	}
	if err == nil && f.lists != nil {
		err = r.score()
	}
	return r.Question, err
}

func (r *request) member(key []byte) (err error) {
	name := string(key)
	switch {
	case slices.Contains(r.seen, name):
		return fmt.Errorf("the request has the key %q twice", name)
	case !slices.Contains(r.fields, name):
		return fmt.Errorf("the request has an unknown key; the keys are %s", strings.Join(r.fields, ", "))
	}
	r.seen = append(r.seen, name)
	switch {
	case name == "query":
		err = r.query()
	case name == "votes":
		err = r.votes()
	case name == "row":
		err = r.row()
	case name == "list":
		err = r.array(func() error {
			token, err := r.token()
			r.In.List = append(r.In.List, token)
			return err
		})
	case name == "logprobs":
		err = r.array(func() error {
			values, err := r.numbers()
			r.teachers = append(r.teachers, values)
			return err
		})
	case r.lists != nil: // log-probabilities of the public model
		r.public, err = r.numbers()
	default:
		r.In.Public, err = r.token()
	}
	if err != nil {
		err = fmt.Errorf("%q: %w", name, err)
	}
	return err
}

func (r *request) score() error {
	if len(r.teachers) > int(r.Values["teachers"]) {
		return errors.New("the request has more lists of log-probabilities than there are teachers")
	}
	if distinct := slices.Clone(r.In.List); len(slices.Compact(slices.Sorted(slices.Values(distinct)))) < len(r.In.List) || len(distinct) == 0 {
		return errors.New("the list is empty, or has a token twice")
	}
	for _, values := range append(r.teachers, r.public) {
		if values != nil && len(values) != len(r.In.List) {
			return errors.New("every list of log-probabilities must be as long as the list of tokens")
		}
	}
	r.In.Scores = make([]int64, len(r.In.List))
	for _, values := range r.teachers {
		r.lists.Add(r.In.Scores, values, r.public)
	}
	if r.public != nil {
		r.In.Base = r.lists.Base(r.public)
	}
	return nil
}

func (r *request) numbers() (values []float64, err error) {
	err = r.array(func() error {
		x, err := r.number()
		values = append(values, x)
		return err
	})
	return values, err
}

func (r *request) query() error {
	r.blank()
	start := r.at
	id, err := r.scalar(math.MaxInt64)
	if err == nil && (len(id) == 0 || len(id) > mostQuery) {
		err = fmt.Errorf("a query must have 1 to %d bytes", mostQuery)
	}
	if err == nil {
		r.ID, r.echo = string(id), slices.Clone(r.text[start:r.at])
	}
	return err
}

func (r *request) scalar(most int64) ([]byte, error) {
	if r.peek() == '"' {
		return r.quoted()
	}
	n, err := r.whole(most)
	return strconv.AppendInt(nil, n, 10), err
}

func (r *request) token() (int, error) {
	name, err := r.scalar(int64(r.size() - 1))
	if err != nil {
		return 0, err
	}
	return r.find(name)
}

func (r *request) find(name []byte) (int, error) {
	if r.Classes != nil {
		if token, ok := r.tokens[string(name)]; ok {
			return token, nil
		}
		return 0, errors.New("the request has a class that was not declared")
	}
	n, err := strconv.Atoi(string(name))
	if err != nil || n < 0 || n >= r.Tokens || len(name) > 1 && (name[0] == '0' || name[0] == '+') {
		return 0, fmt.Errorf("a token must be a whole number from 0 to %d", r.Tokens-1)
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
		token, err := r.find(name)
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
	return err
}

func (r *request) row() error {
	var cells []string
	err := r.array(func() error {
		cell, err := r.cell()
		cells = append(cells, cell)
		return err
	})
	if err == nil && r.voters != nil {
		r.Row, err = r.voters.encode(cells)
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
		return "", missing("a string, a number or null")
	}
	return strings.TrimPrefix(cell, "null"), nil
}

// Append appends the JSON of a reply. The question must come from [Format.Parse].
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
	if f.Seeded {
		return append(b, `},"releasable":false}`...)
	}
	return append(b, "}}"...)
}
