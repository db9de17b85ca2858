// Command mutate applies the mutations of package mutation and reports which of
// them no test notices. It is run from the root of the module.
//
//	go run ./internal/mutation/mutate -all
//	go run ./internal/mutation/mutate -sample 8            # another eight every day
//	go run ./internal/mutation/mutate stability/ svt/msvec # by the beginning of the id
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/pate-go/pate/internal/mutation"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	all := flag.Bool("all", false, "run every mutation")
	list := flag.Bool("list", false, "print the mutations and run nothing")
	sample := flag.Int("sample", 0, "run this many mutations, others on another day")
	day := flag.Int64("day", time.Now().Unix()/86400, "the day of -sample, in days since 1970")
	verbose := flag.Bool("v", false, "print what go test printed for survivors")
	flag.Parse()
	mutations, err := mutation.All()
	if err != nil {
		return err
	}
	chosen := choose(mutations, *all, *sample, *day, flag.Args())
	if len(chosen) == 0 {
		return fmt.Errorf("nothing chosen of %d mutations: give -all, -sample or the beginning of an id", len(mutations))
	}
	if *sample > 0 {
		fmt.Printf("a sample of %d mutations of %d; again with -sample %d -day %d\n", len(chosen), len(mutations), *sample, *day)
	}
	if *list {
		for _, m := range chosen {
			fmt.Printf("%-40s %s: %s\n", m.ID, m.File, m.Why)
		}
		return nil
	}
	return try(ctx, chosen, *verbose)
}

// choose returns the mutations asked for. A sample takes every stride-th one, from
// a place that moves by one a day, so that all have their turn.
func choose(mutations []mutation.Mutation, all bool, sample int, day int64, ids []string) (chosen []mutation.Mutation) {
	if all {
		return mutations
	}
	if sample > 0 {
		stride := max(1, len(mutations)/sample)
		for i := int(day % int64(stride)); i < len(mutations) && len(chosen) < sample; i += stride {
			chosen = append(chosen, mutations[i])
		}
		return chosen
	}
	for _, m := range mutations {
		for _, id := range ids {
			if strings.HasPrefix(m.ID, id) {
				chosen = append(chosen, m)
				break
			}
		}
	}
	return chosen
}

// try runs the mutations one by one.
func try(ctx context.Context, chosen []mutation.Mutation, verbose bool) error {
	var survived, broken []string
	for _, m := range chosen {
		o, err := mutation.Run(ctx, ".", m)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			broken = append(broken, m.ID)
			fmt.Printf("BROKEN   %-40s %v\n", m.ID, err)
		case o.Caught:
			fmt.Printf("caught   %-40s %5.1f s  %s\n", m.ID, o.Seconds, o.By)
		default:
			survived = append(survived, m.ID)
			fmt.Printf("SURVIVED %-40s %5.1f s  %s\n", m.ID, o.Seconds, m.Why)
			if verbose {
				fmt.Println(o.Output)
			}
		}
	}
	fmt.Printf("%d mutations, %d caught\n", len(chosen), len(chosen)-len(survived)-len(broken))
	if len(survived)+len(broken) > 0 {
		return fmt.Errorf("no test fails for %v; cannot be run: %v", survived, broken)
	}
	return nil
}
