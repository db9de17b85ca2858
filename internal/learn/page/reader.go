package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pate-go/pate/internal/learn"
	"github.com/pate-go/pate/internal/table"
)

type reader struct{ values Situation }

func refuse(format string, args ...any) { valid(0, fmt.Errorf(format, args...)) }

func valid[T any](v T, err error) T {
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrSituation, err)
	}
	return learn.Must(v, err)
}

func (r *reader) text(id string) string { return r.values[id] }

func (r *reader) only(ids ...string) map[string]string {
	out := make(map[string]string)
	for _, id := range ids {
		out[id] = r.values[id]
	}
	return out
}

func (r *reader) number(id string) float64 {
	x, err := strconv.ParseFloat(strings.TrimSpace(r.values[id]), 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		refuse("%s: %q is not a number", id, r.values[id])
	}
	return x
}

func (r *reader) whole(id string) int {
	x := r.number(id)
	if x != math.Trunc(x) || math.Abs(x) > 1e9 {
		refuse("%s: %v is not a whole number", id, x)
	}
	return int(x)
}

func (r *reader) numbers(id string, least, most int, low, high float64) []int {
	parts := strings.FieldsFunc(r.values[id], func(c rune) bool { return c == ',' || c == ' ' })
	if len(parts) < least || len(parts) > most {
		refuse("%s: from %d to %d numbers, not %d", id, least, most, len(parts))
	}
	out := make([]int, len(parts))
	for i, part := range parts {
		x, err := strconv.ParseFloat(part, 64)
		if err != nil || x != math.Trunc(x) || !(x >= low && x <= high) {
			refuse("%s: %q is not a whole number from %g to %g", id, part, low, high)
		}
		out[i] = int(x)
	}
	return out
}

const (
	maxClasses = 10
	maxVotes   = 500
)

func (r *reader) votes(id string) []int {
	counts := r.numbers(id, 2, maxClasses, 0, maxVotes)
	total := 0
	for _, n := range counts {
		total += n
	}
	if total < 1 || total > maxVotes {
		refuse("%s: from 1 to %d votes, not %d", id, maxVotes, total)
	}
	return counts
}

func (r *reader) moved(id string, counts []int) (from, to int, after []int) {
	from, to = favourite(counts)
	if text := r.values[id]; text != "" {
		a, b, found := strings.Cut(text, ">")
		i, err1 := strconv.Atoi(a)
		j, err2 := strconv.Atoi(b)
		if !found || err1 != nil || err2 != nil || i < 0 || j < 0 {
			refuse("%s: %q is not a moved vote such as 0>1", id, text)
		} else if i < len(counts) && j < len(counts) && i != j && counts[i] > 0 {
			from, to = i, j // a class that no longer exists is ignored
		}
	}
	after = slices.Clone(counts)
	after[from]--
	after[to]++
	return from, to, after
}

func favourite(counts []int) (first, second int) {
	first, second = slices.Index(counts, slices.Max(counts)), -1
	for i, n := range counts {
		if i != first && (second < 0 || n > counts[second]) {
			second = i
		}
	}
	return first, second
}

func list[T int | int64](xs []T) string {
	parts := make([]string, len(xs))
	for i, x := range xs {
		parts[i] = strconv.FormatInt(int64(x), 10)
	}
	return strings.Join(parts, ",")
}

// Request is a request of the page to the program that draws pictures.
type Request struct {
	Ask       string    `json:"ask"` // draw, trace or check
	Chapter   string    `json:"chapter"`
	Situation Situation `json:"situation"`
	Exercise  string    `json:"exercise"`
	Given     float64   `json:"given"`
}

// Reply is the answer to a [Request]. If Error is set, all other fields are empty.
type Reply struct {
	Error string `json:"error,omitempty"`
	View  *View  `json:"view,omitempty"`
	Trace string `json:"trace,omitempty"` // in Markdown
	Right bool   `json:"right,omitempty"`
	Words string `json:"words,omitempty"`
}

func Call(request []byte) []byte {
	var q Request
	reply, err := Reply{}, json.Unmarshal(request, &q)
	if err == nil {
		reply, err = q.answer()
	}
	if err != nil {
		reply = Reply{Error: err.Error()}
		if errors.Is(err, ErrSituation) {
			reply.Error = err.Error()[len(ErrSituation.Error())+2:]
		}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(reply); err != nil {
		return []byte(`{"error":"the answer has a number that is not finite"}`)
	}
	return out.Bytes()
}

func (q Request) answer() (Reply, error) {
	c, err := Find(q.Chapter)
	if err != nil {
		return Reply{}, err
	}
	switch q.Ask {
	case "draw":
		v, err := c.Draw(q.Situation)
		return Reply{View: &v}, err
	case "trace":
		t, err := c.Trace(q.Situation)
		if err != nil {
			return Reply{}, err
		}
		var b bytes.Buffer
		err = t.Write(&b, table.Markdown)
		return Reply{Trace: b.String()}, err
	case "check":
		right, words, err := c.Check(q.Exercise, q.Given)
		return Reply{Right: right, Words: words}, err
	}
	return Reply{}, fmt.Errorf("page: cannot %q", q.Ask)
}
