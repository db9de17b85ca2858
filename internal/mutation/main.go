// Command mutation checks the tests: it breaks one expression that privacy depends on, runs
// the tests that should notice, and expects them to fail. It is run from the root of the module.
//
//	go run ./internal/mutation -all
//	go run ./internal/mutation -sample 8            # another eight every day
//	go run ./internal/mutation stability/ svt/msvec # by the beginning of the id
//
// The list of mutations is the text under mutations/, one file for each group of packages:
//
//	in: accountant
//	test: ./accountant -run ConversionGolden
//	conversion-gain (Conversion.epsilon): the conversion must not promise more than its theorem
//		math.Log(a) => 2*math.Log(a)
//
// A mutation names a function, a Type.Method, or a constant, variable or type of the package,
// and an expression or statement in it. The tokens are compared: white space, comments and the
// rest of the line do not matter, nor the file. Where a function has equal expressions, "#2"
// behind the expression is the second. Nothing behind the arrow leaves a statement out. Several
// lines are one mutation, and a line "test:" among them is for it alone.
//
// A mutation is applied in an overlay of the go command: no file of the tree changes. A mutation
// that no test notices "survives"; then a test is missing, or the line protects nothing.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		stop()
		os.Exit(1)
	}
}

func command(ctx context.Context) error {
	every := flag.Bool("all", false, "run every mutation")
	list := flag.Bool("list", false, "print the mutations and run nothing")
	sample := flag.Int("sample", 0, "run this many mutations, others on another day")
	day := flag.Int64("day", time.Now().Unix()/86400, "the day of -sample, in days since 1970")
	verbose := flag.Bool("v", false, "print what go test printed for survivors")
	flag.Parse()
	mutations, err := all()
	if err != nil {
		return err
	}
	chosen := choose(mutations, *every, *sample, *day, flag.Args())
	if len(chosen) == 0 {
		return fmt.Errorf("nothing chosen of %d mutations: give -all, -sample or the beginning of an id", len(mutations))
	}
	if *sample > 0 {
		fmt.Printf("a sample of %d mutations of %d; again with -sample %d -day %d\n", len(chosen), len(mutations), *sample, *day)
	}
	if *list {
		for _, m := range chosen {
			fmt.Printf("%-40s %s: %s\n", m.id, m.dir+"."+m.in, m.why)
		}
		return nil
	}
	return try(ctx, chosen, *verbose)
}

// choose returns the mutations asked for. A sample takes every stride-th one, from
// a place that moves by one a day, so that all have their turn.
func choose(mutations []mutation, all bool, sample int, day int64, ids []string) (chosen []mutation) {
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
			if strings.HasPrefix(m.id, id) {
				chosen = append(chosen, m)
				break
			}
		}
	}
	return chosen
}

func try(ctx context.Context, chosen []mutation, verbose bool) error {
	var survived, broken []string
	for _, m := range chosen {
		o, err := run(ctx, ".", m)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			broken = append(broken, m.id)
			fmt.Printf("BROKEN   %-40s %v\n", m.id, err)
		case o.caught:
			fmt.Printf("caught   %-40s %5.1f s  %s\n", m.id, o.seconds, o.by)
		default:
			survived = append(survived, m.id)
			fmt.Printf("SURVIVED %-40s %5.1f s  %s\n", m.id, o.seconds, m.why)
			if verbose {
				fmt.Println(o.output)
			}
		}
	}
	fmt.Printf("%d mutations, %d caught\n", len(chosen), len(chosen)-len(survived)-len(broken))
	if len(survived)+len(broken) > 0 {
		return fmt.Errorf("no test fails for %v; cannot be run: %v", survived, broken)
	}
	return nil
}
