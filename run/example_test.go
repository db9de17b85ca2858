package run_test

import (
	"context"
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

// One file leaves, once: the second run finds it complete and draws nothing.
func ExampleBook_Release() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "")
	check(err)
	defer os.RemoveAll(dir)
	check(os.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state")))
	path := filepath.Join(dir, "run.jsonl")
	file := run.File{Path: path, New: ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1, Delta: 1e-5}}
	for range 2 {
		account, _, err := file.Look()
		check(err)
		book, err := file.Open(ctx, account)
		check(err)
		done, err := book.Release(ctx, run.Release{
			Run: "first release", Events: []accountant.Event{accountant.PureDP{Epsilon: 0.5}},
			Key: run.Key{File: path + ".first.key"}, Out: run.Out{Path: filepath.Join(dir, "out.txt"), Mode: 0o644},
			Draw: func(r []*ledger.Reservation, key rng.Key, out io.Writer) error {
				fmt.Println("drawn once") // by a mechanism that takes r[0] and key
				_, err := io.WriteString(out, "noisy\n")
				return err
			},
		})
		check(err)
		fmt.Println("complete before:", done.Complete)
		check(book.Close())
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
