package run_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

// One file leaves, once: the second call finds it complete and draws nothing.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "")
	check(err)
	defer os.RemoveAll(dir)
	check(os.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state")))

	type settings struct {
		Epsilon float64 `json:"epsilon"`
	}
	hash := sha256.Sum256([]byte("private rows"))
	once := run.Run{
		File: run.File{Path: filepath.Join(dir, "run.jsonl"), New: ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1, Delta: 1e-5}},
		Kind: "mean", Units: run.Units{N: 1000, Noun: "records"},
		Plan: func(ctx context.Context, before *run.Before) (run.Plan, error) {
			s := settings{Epsilon: 0.5} // or what before.LeastNoise finds
			same, err := before.Find(hash[:], &s)
			if err != nil {
				return run.Plan{}, err
			}
			events := [][]accountant.Event{{accountant.PureDP{Epsilon: s.Epsilon}}}
			return run.Plan{Events: events, Settings: s, Inputs: hash[:], Same: same}, nil
		},
		Stages: []run.Stage{{
			Out: filepath.Join(dir, "mean.txt"),
			Draw: func(r []*ledger.Reservation, key rng.Key, out io.Writer) error {
				fmt.Println("drawn once") // by a mechanism that takes r[0] and key
				_, err := io.WriteString(out, "noisy\n")
				return err
			},
		}},
	}
	for range 2 {
		check(once.Do(ctx, func(s *run.Session, done []run.Done) error {
			fmt.Println("complete before:", done[0].Complete)
			return nil
		}))
	}
	// Output:
	// drawn once
	// complete before: false
	// complete before: true
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
