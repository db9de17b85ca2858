package online

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/internal/testledger"
	"github.com/pate-go/pate/internal/tokens"
	"github.com/pate-go/pate/rng"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

var abc = Settings{Mechanism: "gnmax", Values: map[string]float64{"sigma": 2}, Queries: 1000, Classes: []string{"a", "b", "c,\"d"}}

func must(s Settings) *Format {
	s, err := s.choose(func(event func(float64) (accountant.Event, error)) (float64, error) { return 1, nil })
	if err != nil {
		panic(err)
	}
	return testkit.Must(NewFormat(s, nil))
}

func open(t testing.TB, path string, s Settings) *Engine {
	t.Helper()
	return testkit.Must(openWith(t, path, s, rng.SeedKey(1), nil))
}

func openWith(t testing.TB, path string, s Settings, key rng.Key, warn func(string)) (*Engine, error) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		require.NoError(t, makeJournal(path))
	}
	r := testledger.Reserve(t, accountant.AddRemove, testkit.Must(s.Event()))
	return Open(t.Context(), path, key, testkit.Must(s.start(r, key)), warn)
}

// ask asks one request for each line, all together.
func ask(t testing.TB, e *Engine, s Settings, lines ...string) []string {
	t.Helper()
	f := must(s)
	var questions []*Question
	for _, line := range lines {
		q, err := f.Parse([]byte(line))
		require.NoError(t, err, line)
		questions = append(questions, q)
	}
	replies, err := e.Ask(t.Context(), questions)
	require.NoError(t, err)
	var said []string
	for i, r := range replies {
		text := f.Append(nil, questions[i], r)
		require.True(t, json.Valid(text), "%s", text)
		said = append(said, string(text))
	}
	return said
}

func TestRequests(t *testing.T) {
	f, vocabulary := must(abc), must(Settings{Mechanism: "gnmax", Queries: 9, Tokens: 300})
	good := func(f *Format, text, id string, tokens []int, votes []int64) {
		q, err := f.Parse([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, id, q.ID)
		require.Equal(t, tokens, q.In.Counts.Tokens, text)
		require.Equal(t, votes, q.In.Counts.Votes, text)
		require.NoError(t, q.In.Counts.Check())
	}
	good(f, `{"query":"x","votes":{"b":2,"a":1}}`, "x", []int{0, 1}, []int64{1, 2})
	good(f, " { \"votes\" : { \"c,\\\"d\" : 7 , \"a\" : 0 } ,\t\"query\" : 17 } \r\n", "17", []int{2}, []int64{7})
	good(f, `{"query":"\u00e9\n","votes":{}}`, "é\n", nil, nil)
	good(vocabulary, `{"query":0,"votes":{"299":1,"0":5}}`, "0", []int{0, 299}, []int64{5, 1})
	for text, want := range map[string]string{
		"":                                   "{",
		"\xff":                               "UTF-8",
		`{"query":"x"}`:                      `no "votes"`,
		`{"votes":{}}`:                       `no "query"`,
		`{"query":"","votes":{}}`:            "1 to 128 bytes",
		`{"query":-1,"votes":{}}`:            "whole number",
		`{"query":"x","query":"x"}`:          "twice",
		`{"query":"x","qu\u0065ry":"x"}`:     "twice",
		`{"query":"x","votes":{"a":1,"a":2}`: "twice",
		`{"query":"x","votes":{"a":1,"\u0061":2}}`:         "twice",
		`{"query":"x","votes":{"e":1}}`:                    "not declared",
		`{"query":"x","votes":{"a":NaN}}`:                  "whole number",
		`{"query":"x","votes":{"a":1.5}}`:                  "whole number",
		`{"query":"x","votes":{"a":1e3}}`:                  "whole number",
		`{"query":"x","votes":{"a":01}}`:                   "whole number",
		`{"query":"x","votes":{"a":-7}}`:                   "whole number",
		`{"query":"x","votes":{"a":1099511627777}}`:        "whole number",
		`{"query":"x","votes":{"a":99999999999999999999}}`: "whole number",
		`{"query":"x","votes":{"a":7}} {}`:                 "nothing after",
		`{"query":"x","votes":{"a":7},}`:                   "string",
		`{"query":"x","votes":{"a":7}`:                     "comma",
		`{"query":"x","votes":[7]}`:                        "{",
		`{"query":"x","vote":{"a":7}}`:                     "unknown key",
		"{\"query\":\"a\nb\"}":                             "control",
		`{"query":"\ud800x`:                                "end of a string",
		`{"query":"` + strings.Repeat("x", 129) + `"}`:     "1 to 128 bytes",
		`{"query":` + strings.Repeat(`{"query":`, 1e5):     "whole number",
	} {
		_, err := f.Parse([]byte(text))
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), " 7", "%s: no votes in errors", text)
	}
	for _, token := range []string{"300", "-1", "+1", "01", "1.0", ""} {
		_, err := vocabulary.Parse(fmt.Appendf(nil, `{"query":0,"votes":{%q:1}}`, token))
		require.ErrorContains(t, err, "token", token)
	}
}

// FuzzRequests: what is accepted is JSON, with the query and the votes that encoding/json finds in it.
func FuzzRequests(f *testing.F) {
	f.Add([]byte(`{"query":"x","votes":{"b":2,"a":1}}`), true)
	f.Add([]byte(`{"votes":{"c,\"d":0},"query":12}`), true)
	f.Add([]byte(`{"query":"\u00e9\ud83d\ude00","votes":{"17":1099511627776}}`), false)
	formats := map[bool]*Format{true: must(abc), false: must(Settings{Mechanism: "gnmax", Queries: 9, Tokens: 1 << 20})}
	probabilities := must(lists)
	f.Add([]byte(`{"query":1,"list":[3,5],"logprobs":[[-1,-2e0],[0,-1e9]],"public":[-1,-2]}`), true)
	f.Fuzz(func(t *testing.T, text []byte, classes bool) {
		q, err := probabilities.Parse(text)
		require.True(t, json.Valid(probabilities.Append(nil, q, Reply{Err: err})))
		format := formats[classes]
		q, err = format.Parse(text)
		require.True(t, json.Valid(format.Append(nil, q, Reply{Err: err})))
		if err != nil {
			return
		}
		var want struct {
			Query any
			Votes map[string]int64
		}
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.UseNumber()
		require.NoError(t, d.Decode(&want))
		require.Equal(t, fmt.Sprint(want.Query), q.ID)
		got := map[string]int64{}
		for i, token := range q.In.Counts.Tokens {
			name := strconv.Itoa(token)
			if classes {
				name = abc.Classes[token]
			}
			got[name] = q.In.Counts.Votes[i]
		}
		maps.DeleteFunc(want.Votes, func(_ string, n int64) bool { return n == 0 })
		require.Equal(t, want.Votes, got)
	})
}

func TestTheSameQueryHasTheSameAnswerForNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	s := abc
	s.Queries = 4
	e := open(t, path, s)
	x, y := `{"query":"x","votes":{"a":9}}`, `{"query":"y","votes":{"b":9}}`
	first := ask(t, e, s, x, y, x)
	require.Equal(t, first[0], first[2], "within a batch")
	require.Contains(t, first[0], `"left":{"queries":2}`)
	require.Equal(t, first[:2], ask(t, e, s, x, y))
	require.Equal(t, first[0], ask(t, e, s, `{"votes":{"a":9,"b":0},"query":"x"}`)[0], "zeros are no votes")
	other := ask(t, e, s, `{"query":"x","votes":{"a":8}}`, `{"query":"z","votes":{"a":8}}`, `{"query":"z","votes":{"a":9}}`)
	require.Contains(t, other[0], ErrConflict.Error())
	require.Contains(t, other[1], `"left":{"queries":1}`)
	require.Contains(t, other[2], ErrConflict.Error())
	last := ask(t, e, s, `{"query":"u","votes":{"a":8}}`, `{"query":"v","votes":{"a":9}}`, x)
	require.Contains(t, last[0], `"left":{"queries":0}`)
	require.Contains(t, last[1], ErrExhausted.Error())
	require.Equal(t, strings.ReplaceAll(first[0], `:2}`, `:0}`), last[2], "after the cap")
	require.Equal(t, tokens.State{Voted: 4}, e.Counts().Answers)
	require.NoError(t, e.Stop())
	_, err := e.Ask(t.Context(), []*Question{{ID: "x"}})
	require.ErrorIs(t, err, ErrStopped)

	e = open(t, path, s)
	defer e.Stop()
	require.Equal(t, strings.ReplaceAll(first[0], `:2}`, `:0}`), ask(t, e, s, x)[0], "after a restart")
	require.Contains(t, ask(t, e, s, `{"query":"v","votes":{"a":9}}`)[0], ErrExhausted.Error())
}

func TestCapOfAnswers(t *testing.T) {
	s := Settings{Mechanism: "confident", Queries: 50, Tokens: 1000,
		Values: map[string]float64{"threshold": 50, "sigma1": 1, "sigma2": 1, "answers": 3}}
	path := filepath.Join(t.TempDir(), "journal")
	var lines []string
	for i := range 20 {
		lines = append(lines, fmt.Sprintf(`{"query":%d,"votes":{"%d":%d}}`, i, i, 100*(i%2)))
	}
	for range 2 {
		e := open(t, path, s)
		said := ask(t, e, s, lines...)
		require.Contains(t, said[0], `"token":null,"source":"declined","left":{"queries":44,"answers":0}`)
		require.Contains(t, said[5], `"token":5,"source":"vote"`)
		require.Contains(t, said[6], ErrExhausted.Error())
		require.Equal(t, tokens.State{Voted: 3, Declined: 3}, e.Counts().Answers)
		require.NoError(t, e.Stop())
	}
}

// TestConcurrentQuestions: requests of many goroutines are answered in batches, each query once.
func TestConcurrentQuestions(t *testing.T) {
	dir := t.TempDir()
	var lines []string
	for i := range 500 {
		lines = append(lines, fmt.Sprintf(`{"query":"q%d","votes":{"a":%d,"b":2}}`, i%400, i%400%5))
	}
	e, got := open(t, filepath.Join(dir, "journal"), abc), make([]string, len(lines))
	var all sync.WaitGroup
	for i, line := range lines {
		all.Go(func() { got[i] = ask(t, e, abc, line)[0] })
	}
	all.Wait()
	require.Equal(t, Counts{Answers: tokens.State{Voted: 400}, Repeated: 100, Left: tokens.Left{Queries: 600, Answers: 600}}, e.Counts())
	for i, again := range ask(t, e, abc, lines...) {
		before, _, _ := strings.Cut(got[i], `,"left"`)
		require.Contains(t, again, before)
	}
	require.NoError(t, e.Stop())
}

type blocked struct {
	Answerer
	begin, end chan struct{}
}

func (b blocked) Ask(ctx context.Context, q []*Question) ([]tokens.Answer, error) {
	b.begin <- struct{}{}
	<-b.end
	return b.Answerer.Ask(ctx, q)
}

func TestAFullQueueRefuses(t *testing.T) {
	e := open(t, filepath.Join(t.TempDir(), "journal"), Settings{Mechanism: "gnmax", Values: abc.Values, Queries: 1e6, Tokens: 9})
	b := blocked{e.draws, make(chan struct{}), make(chan struct{})}
	e.draws = b
	question := func(id int) *Question {
		return &Question{ID: strconv.Itoa(id), In: tokens.Input{Counts: tokens.Counts{Size: 9}, Public: tokens.None}}
	}
	answered := make(chan error)
	go func() { _, err := e.Ask(t.Context(), []*Question{question(-1)}); answered <- err }()
	<-b.begin
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range mostWaiting {
		_, err := e.Ask(ended, []*Question{question(i)})
		require.ErrorIs(t, err, context.Canceled)
	}
	_, err := e.Ask(ended, []*Question{question(mostWaiting)})
	require.ErrorIs(t, err, ErrBusy)
	go func() {
		for range b.begin {
		}
	}()
	close(b.end)
	require.NoError(t, <-answered)
	require.NoError(t, e.Stop())
	require.Equal(t, int64(mostWaiting+1), e.Counts().Answers.Voted, "what had a place is answered")
}

func TestNothingLeavesAfterAFailedWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	e := open(t, path, abc)
	first := ask(t, e, abc, `{"query":"x","votes":{"a":9}}`)[0]
	e.journal.file.Close()
	for range 2 {
		f := must(abc)
		q := testkit.Must(f.Parse([]byte(`{"query":"y","votes":{"a":9}}`)))
		replies, err := e.Ask(t.Context(), []*Question{q})
		if err == nil {
			err = replies[0].Err
		}
		require.True(t, errors.Is(err, ErrFailed) || errors.Is(err, ErrStopped), "%v", err)
	}
	require.ErrorIs(t, e.Stop(), os.ErrClosed)
	e = open(t, path, abc)
	defer e.Stop()
	require.Equal(t, first, ask(t, e, abc, `{"query":"x","votes":{"a":9}}`)[0])
}

// TestJournalAfterACrash: a journal that is cut anywhere keeps the frames before the cut. A change of any
// byte of another frame than the last is refused.
func TestJournalAfterACrash(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "journal")
	e := open(t, path, abc)
	var ends []int64
	for i := range 4 {
		ask(t, e, abc, fmt.Sprintf(`{"query":"x%d","votes":{"a":9}}`, i), fmt.Sprintf(`{"query":"y%d","votes":{"a":9}}`, i))
		ends = append(ends, e.journal.end)
	}
	require.NoError(t, e.Stop())
	text := testkit.Must(os.ReadFile(path))
	require.Equal(t, int64(len(text)), ends[3])
	read := func(text []byte) (n int, err error) {
		require.NoError(t, os.WriteFile(path, text, 0o600))
		j, err := openJournal(path, rng.SeedKey(1), func(record) error { n++; return nil })
		if err == nil {
			j.file.Close()
		}
		return n, err
	}
	for cut := len(journalMagic); cut <= len(text); cut++ {
		whole := 0
		for _, end := range ends {
			if end <= int64(cut) {
				whole++
			}
		}
		n, err := read(text[:cut])
		require.NoError(t, err)
		require.Equal(t, 2*whole, n)
		require.Equal(t, append([]int64{int64(len(journalMagic))}, ends...)[whole], testkit.Must(os.Stat(path)).Size())
	}
	for at := range text {
		changed := slices.Clone(text)
		changed[at] ^= 0x40
		if n, err := read(changed); int64(at) >= ends[2]+frameHeader { // as if it was not written completely
			require.NoError(t, err)
			require.Equal(t, 6, n)
		} else if int64(at) < ends[2]+8 {
			require.ErrorContains(t, err, "was changed", "byte %d", at)
		}
	}
	n, err := read(append(slices.Clone(text), make([]byte, 5000)...))
	require.NoError(t, err, "a file that was made longer before it was written")
	require.Equal(t, 8, n)
	_, err = openJournal(path, rng.SeedKey(2), func(record) error { return nil })
	require.Error(t, err, "the journal of another key")
}

// TestAnOlderJournalIsRefused: with a journal that lacks released answers, the caps would count them again.
func TestAnOlderJournalIsRefused(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	path, key := filepath.Join(t.TempDir(), "journal"), testkit.Must(rng.NewKey())
	var copies [][]byte
	for i := range 3 {
		e, err := openWith(t, path, abc, key, func(string) { t.Error("warned") })
		require.NoError(t, err)
		copies = append(copies, testkit.Must(os.ReadFile(path)))
		ask(t, e, abc, fmt.Sprintf(`{"query":"x%d","votes":{"a":9}}`, i))
		require.NoError(t, e.Stop())
	}
	newest := testkit.Must(os.ReadFile(path))
	for _, older := range append(copies, newest[:len(newest)-1]) {
		require.NoError(t, os.WriteFile(path, older, 0o600))
		_, err := openWith(t, path, abc, key, nil)
		require.ErrorContains(t, err, "is an older copy")
	}
	require.NoError(t, os.WriteFile(path, newest, 0o600))
	e, err := openWith(t, path, abc, key, nil)
	require.NoError(t, err)
	require.NoError(t, e.Stop())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	warned := ""
	e, err = openWith(t, path, abc, key, func(text string) { warned = text })
	require.NoError(t, err)
	require.NoError(t, e.Stop())
	require.Contains(t, warned, "another machine")
}

// TestIndex: the index finds every query, and grows by at most 22 bytes for each.
func TestIndex(t *testing.T) {
	x := newIndex()
	const n = 300_000
	for i := range n {
		x.add("query "+strconv.Itoa(i), uint32(7*i))
		require.LessOrEqual(t, 8*len(x.slots), max(1<<13, 22*(i+1)))
	}
	for i := range n {
		found := false
		x.find("query "+strconv.Itoa(i), func(place uint32) bool { found = place == uint32(7*i); return found })
		require.True(t, found)
	}
	candidates := 0
	for i := range n {
		x.find("other "+strconv.Itoa(i), func(uint32) bool { candidates++; return false })
	}
	require.Less(t, candidates, 60, "n^2/2^32 = 21 are expected")
}

// BenchmarkAnswers measures questions of 512 teachers for 100 of 128k tokens, from Ask to the journal on disk.
func BenchmarkAnswers(b *testing.B) {
	s := Settings{Mechanism: "gnmax", Values: map[string]float64{"sigma": 40}, Queries: 1e9, Tokens: 128 << 10}
	e := open(b, filepath.Join(b.TempDir(), "journal"), s)
	defer e.Stop()
	in := tokens.Input{Public: tokens.None, Counts: tokens.Counts{Size: s.Tokens}}
	for i := range 100 {
		in.Counts.Tokens, in.Counts.Votes = append(in.Counts.Tokens, 1000*i+17), append(in.Counts.Votes, int64(512/100))
	}
	n := 0
	for b.Loop() {
		questions := make([]*Question, 1024)
		for i := range questions {
			questions[i] = &Question{ID: strconv.Itoa(n), In: in}
			n++
		}
		if _, err := e.Ask(b.Context(), questions); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "answers/s")
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(8*len(e.journal.index.slots))/float64(n), "index-B/query")
}
