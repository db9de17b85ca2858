package run_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

// choice is what the plan of a test chooses: the least noise for what is left.
type choice struct {
	Sigma float64 `json:"sigma"`
}

// sample is a run of some kind in a folder of its own, and what it drew.
type sample struct {
	run.Run
	inputs []byte
	drawn  map[string]string // what each stage drew first
	plans  int
}

// newSample returns a run with stages that write a function of their keys.
func newSample(t *testing.T, stages ...string) *sample {
	t.Helper()
	f, _ := book(t)
	return sampleOf(f, stages...)
}

func sampleOf(f run.File, stages ...string) *sample {
	s := &sample{inputs: []byte("rows"), drawn: map[string]string{}}
	s.File, s.Kind, s.Units = f, "sample", run.Units{N: 1000, Noun: "records"}
	for _, name := range stages {
		s.Stages = append(s.Stages, run.Stage{
			Name: name, Out: f.Path + "-" + name + ".txt",
			Key: func(key rng.Key) rng.Key { return key.Derive(name) },
			Draw: func(r []*ledger.Reservation, key rng.Key, out io.Writer) error {
				if err := r[0].Begin(r[0].Event(), ledger.Use{Secret: key.Releasable()}); err != nil {
					return err
				}
				text, err := textOf(key)
				if err != nil {
					return err
				}
				if first, again := s.drawn[name]; again && first != text {
					return fmt.Errorf("%s is drawn a second time, with other noise", name)
				}
				s.drawn[name] = text
				_, err = io.WriteString(out, text)
				return err
			},
		})
	}
	s.Plan = func(ctx context.Context, before *run.Before) (p run.Plan, err error) {
		s.plans++
		var of choice
		if p.Same, err = before.Find(s.inputs, &of); err == nil && p.Same == nil {
			of.Sigma = 40
		}
		for range s.Stages {
			p.Events = append(p.Events, []accountant.Event{accountant.GNMax{Sigma: of.Sigma}})
		}
		p.Settings, p.Inputs = of, s.inputs
		return p, err
	}
	return s
}

func (s *sample) alone(t *testing.T, key rng.Key) *sample {
	t.Helper()
	s.Key = key
	s.New.Run = testkit.Must(run.ID(s.Key, s.Kind, s.inputs, choice{40}))
	return s
}

// kinds are runs of all kinds: whose ledger, whose key, how many stages, and whether what is complete is
// drawn again.
func kinds() map[string]func(*testing.T) *sample {
	seed := uint64(3)
	given := func(t *testing.T) rng.Key { return testkit.Must(rng.NewKey()) }
	return map[string]func(*testing.T) *sample{
		"shared, its own key":       func(t *testing.T) *sample { return newSample(t, "a") },
		"shared, two stages":        func(t *testing.T) *sample { return newSample(t, "a", "b") },
		"shared, a seed":            func(t *testing.T) *sample { s := newSample(t, "a"); s.Seed = &seed; return s },
		"shared, the folder's key":  func(t *testing.T) *sample { s := newSample(t, "a", "b"); s.Key = given(t); return s },
		"alone, two stages":         func(t *testing.T) *sample { return newSample(t, "a", "b").alone(t, given(t)) },
		"alone, of a seed, redrawn": func(t *testing.T) *sample { return redrawn(newSample(t, "a").alone(t, rng.SeedKey(seed))) },
		"shared, redrawn":           func(t *testing.T) *sample { s := newSample(t, "a"); s.Key = given(t); return redrawn(s) },
		"shared, one leaves no file": func(t *testing.T) *sample {
			s := newSample(t, "a", "b")
			s.Key, s.Stages[0].Out = given(t), ""
			return s
		},
	}
}

func redrawn(s *sample) *sample {
	for i := range s.Stages {
		s.Stages[i].Redraw = true
	}
	return s
}

var errCrash = errors.New("crash")

func (s *sample) do(t *testing.T, until int) (places []string, err error) {
	err = s.Do(crash.With(t.Context(), func(place string) error {
		s.check(t)
		if places = append(places, place); len(places) == until {
			return errCrash
		}
		return nil
	}), nil)
	s.check(t)
	return places, err
}

// check: a file is there only if it was charged and committed, and it is what was drawn first.
func (s *sample) check(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(s.Path)
	if os.IsNotExist(err) {
		return
	}
	require.NoError(t, err)
	committed := map[[32]byte]int{}
	sum := testkit.Must(ledger.Verify(bytes.NewReader(text), ledger.VerifyOptions{Outcome: func(_ int64, hash [32]byte) { committed[hash]++ }}))
	require.Contains(t, []int64{0, int64(len(s.Stages))}, sum.Entries, "all stages are charged together, once")
	for _, stage := range s.Stages {
		file, err := os.ReadFile(stage.Out)
		if err != nil {
			continue
		}
		require.Equal(t, s.drawn[stage.Name], string(file))
		require.Equal(t, 1, committed[hashOf(file)], "%s left before it was committed", stage.Name)
	}
}

func TestCrashesOfEveryKind(t *testing.T) {
	for name, kind := range kinds() {
		t.Run(name, func(t *testing.T) {
			whole := kind(t)
			places := testkit.Must(whole.do(t, -1))
			require.Equal(t, 1, whole.plans, "a plan is made once")
			require.Equal(t, []string{"opened"}, places[:1])
			for first := 1; first <= len(places); first++ {
				for second := 1; second <= len(places); second += 1 + len(places)/3 {
					s := kind(t)
					_, err := s.do(t, first)
					require.ErrorIs(t, err, errCrash)
					if _, err = s.do(t, second); err != nil {
						require.ErrorIs(t, err, errCrash)
					}
					testkit.Must(s.do(t, -1))
					s.complete(t)
				}
			}
		})
	}
}

// complete checks what a complete run leaves, and that it draws nothing more unless it must.
func (s *sample) complete(t *testing.T) {
	t.Helper()
	require.Empty(t, testkit.Must(run.Keys(s.Path)))
	require.Empty(t, testkit.Must(filepath.Glob(filepath.Join(filepath.Dir(s.Path), ".*"))))
	before := testkit.Must(os.ReadFile(s.Path))
	require.NoError(t, s.Do(t.Context(), func(session *run.Session, done []run.Done) error {
		require.True(t, session.Recorded)
		for i, d := range done {
			require.Equal(t, !s.Stages[i].Redraw && s.Stages[i].Out != "", d.Complete)
		}
		return nil
	}))
	require.Equal(t, string(before), string(testkit.Must(os.ReadFile(s.Path))), "nothing is charged again")
}

func TestRefusalsOfEveryKind(t *testing.T) {
	other := uint64(4)
	for name, kind := range kinds() {
		for what, c := range map[string]struct {
			change  func(*sample)
			applies func(*sample) bool
			says    string
		}{
			"a file that was edited": {
				func(s *sample) { os.WriteFile(s.Stages[len(s.Stages)-1].Out, []byte("mine"), 0o600) },
				func(s *sample) bool { return !s.Stages[0].Redraw && s.Stages[0].Out != "" }, "is not the file that was released",
			},
			"a file that is gone": {
				func(s *sample) { os.Remove(s.Stages[len(s.Stages)-1].Out) },
				func(s *sample) bool { return s.Seed == nil && s.Key.IsZero() }, "the key of the run is destroyed",
			},
			"a head that is gone": {
				func(s *sample) { os.Remove(run.HeadFile(s.Path)) }, func(*sample) bool { return true }, "is missing",
			},
			"a ledger that is gone": {
				func(s *sample) { os.Remove(s.Path) }, func(*sample) bool { return true }, "shows that it existed",
			},
			"another seed": {
				func(s *sample) { s.Seed = &other }, func(s *sample) bool { return s.Seed != nil }, "another seed",
			},
			"other inputs": {
				func(s *sample) { s.inputs = []byte("others") }, func(s *sample) bool { return s.New.Run == "" && !s.Stages[0].Redraw }, "exists already",
			},
			"another program": {
				func(s *sample) { s.New.Run += "x" }, func(s *sample) bool { return s.New.Run != "" }, "another configuration",
			},
			"a large delta": {
				func(s *sample) { s.Units.N = 1e6 }, func(*sample) bool { return true }, "is the number of records",
			},
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				s := kind(t)
				if !c.applies(s) {
					t.Skip("not of this kind")
				}
				testkit.Must(s.do(t, -1))
				c.change(s)
				before, _ := os.ReadFile(s.Path)
				s.drawn = map[string]string{}
				err := s.Do(t.Context(), nil)
				require.ErrorContains(t, err, c.says)
				require.Empty(t, s.drawn)
				after, _ := os.ReadFile(s.Path)
				require.Equal(t, string(before), string(after), "nothing is charged")
				if strings.Contains(c.says, "another seed") {
					require.ErrorIs(t, err, run.ErrOtherRun)
				}
			})
		}
	}
}

func TestANewRunThatIsRefusedWritesNothing(t *testing.T) {
	s := newSample(t, "a")
	require.NoError(t, s.Try(t.Context()))
	require.NoFileExists(t, s.Path)
	s.New.Epsilon = 1e-3
	require.ErrorIs(t, s.Do(t.Context(), nil), ledger.ErrBudgetExceeded)
	require.Empty(t, testkit.Must(os.ReadDir(filepath.Dir(s.Path))), "no key of a release that never is")
	s.New.Epsilon = 2
	require.NoError(t, os.WriteFile(s.Stages[0].Out, nil, 0o600))
	require.ErrorContains(t, s.Do(t.Context(), nil), "exists already")
	require.Len(t, testkit.Must(os.ReadDir(filepath.Dir(s.Path))), 1)
}

func TestALedgerThatWasChargedMeanwhile(t *testing.T) {
	s := newSample(t, "a")
	once := s.Plan
	s.Plan = func(ctx context.Context, before *run.Before) (run.Plan, error) {
		if before.Fresh {
			first := newSample(t, "a")
			first.File, first.Stages[0].Out = s.File, s.Stages[0].Out+"2"
			first.inputs = []byte("first")
			require.NoError(t, first.Do(ctx, nil))
		} else {
			require.Len(t, before.Recorded, 1)
		}
		return once(ctx, before)
	}
	require.NoError(t, s.Do(t.Context(), nil))
	require.Equal(t, 2, s.plans)
}

func textOf(key rng.Key) (string, error) {
	text, err := key.Derive("text").MarshalText()
	return string(text), err
}

func hashOf(file []byte) [32]byte { return sha256.Sum256(file) }
