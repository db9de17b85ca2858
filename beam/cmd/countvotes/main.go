// Countvotes counts the votes of teachers with Apache Beam (docs/many-machines.md).
package main

import (
	"context"
	_ "embed"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/extworker"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/pate-go/pate/beam/poll"
	"github.com/pate-go/pate/internal/durable"
)

//go:embed help.txt
var help string

type flags struct {
	poll       poll.Poll
	votes      string
	firstClass int
	classNames string
	out        string
	shards     int
	synthetic  bool
	pool       int
}

func (f *flags) ours() *flag.FlagSet {
	fs := flag.NewFlagSet("countvotes", flag.ContinueOnError)
	fs.StringVar(&f.votes, "votes", "", "`file`, pattern or URL of the votes")
	fs.Int64Var(&f.poll.Queries, "queries", 0, "`number` of public queries (required)")
	fs.IntVar(&f.poll.Teachers, "teachers", 0, "`number` of teachers: public (required)")
	fs.IntVar(&f.poll.Classes, "classes", 0, "`number` of classes: public, never guessed from votes")
	fs.IntVar(&f.firstClass, "first-class", 0, "the `number` of the first class: 1 if votes count classes from 1")
	fs.StringVar(&f.classNames, "class-names", "", "in place of --classes: the public `names` of all classes, with commas")
	fs.StringVar(&f.out, "out", "", "how the `names` of the shards begin, a path or a URL (required)")
	fs.IntVar(&f.shards, "shards", 1, "`number` of files of counts")
	fs.BoolVar(&f.synthetic, "synthetic", false, "votes made by a formula in place of --votes, for measurements")
	fs.IntVar(&f.pool, "worker-pool", 0, "in place of all others: serve as workers of this machine at a `port`, for --environment_type external")
	return fs
}

func main() {
	var f flags
	ours := f.ours()
	ours.VisitAll(func(g *flag.Flag) { flag.Var(g.Value, g.Name, g.Usage) })
	flag.Usage = func() {
		above, below, _ := strings.Cut(help, "FLAGS\n")
		fmt.Fprint(flag.CommandLine.Output(), above)
		ours.SetOutput(flag.CommandLine.Output())
		ours.PrintDefaults()
		fmt.Fprint(flag.CommandLine.Output(), below)
	}
	flag.BoolFunc("help-beam", "prints the flags of Beam", func(string) error {
		flag.PrintDefaults()
		os.Exit(0)
		return nil
	})
	flag.Parse()
	log.LogLevel = "warn" // not each stage of a job
	beam.Init()           // does not return in a worker that the engine started
	if err := f.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "countvotes:", err)
		os.Exit(1)
	}
}

func (f *flags) run(ctx context.Context) error {
	if f.pool != 0 {
		if _, err := extworker.StartLoopback(ctx, f.pool); err != nil {
			return err
		}
		select {} // until the process is killed
	}
	lines, err := f.lines()
	if err != nil {
		return err
	}
	if err := f.poll.Validate(); err != nil {
		return err
	}
	out := poll.Sharded{Prefix: f.out, Shards: f.shards}
	switch {
	case flag.NArg() > 0:
		return fmt.Errorf("%q: votes are named by --votes", flag.Arg(0))
	case f.out == "":
		return errors.New("--out is needed: where the counts go")
	case f.synthetic == (f.votes != ""):
		return errors.New("--votes is needed, or --synthetic")
	}
	if err := out.Validate(); err != nil {
		return err
	}
	if !strings.Contains(f.out, "://") {
		for _, name := range out.Files() {
			durable.Sweep(name, "") // unfinished files of a killed process
		}
	}
	if *jobopts.WorkerBinary == "" && runtime.GOOS == "linux" {
		// Workers run this executable. Otherwise Beam would compile the program from sources that may be
		// missing.
		if *jobopts.WorkerBinary, err = os.Executable(); err != nil {
			return err
		}
	}
	p, s := beam.NewPipelineWithRoot()
	var votes beam.PCollection
	if f.synthetic {
		votes = poll.SyntheticVotes(s, f.poll)
	} else {
		votes = lines.Votes(s, textio.Read(s, f.votes, textio.ReadAutoCompression()))
	}
	poll.WriteCounts(s, poll.CountVotes(s, f.poll, votes), out)
	if err := beamx.Run(ctx, p); err != nil {
		return err
	}
	files := out.Files()
	fmt.Printf("counts: %d files, %s to %s; keep them to yourself, they are as secret as the votes\n",
		len(files), filepath.Base(files[0]), filepath.Base(files[len(files)-1]))
	return nil
}

func (f *flags) lines() (poll.Lines, error) {
	l := poll.Lines{Form: poll.CSV, FirstClass: f.firstClass}
	if strings.HasSuffix(strings.TrimSuffix(f.votes, ".gz"), ".jsonl") {
		l.Form = poll.JSONLines
	}
	if f.classNames == "" {
		return l, nil
	}
	if f.poll.Classes != 0 || f.firstClass != 0 {
		return l, errors.New("--class-names: leave --classes and --first-class out")
	}
	names, err := csv.NewReader(strings.NewReader(f.classNames)).Read()
	if err != nil {
		return l, fmt.Errorf("--class-names %q: must be names with commas between them: %w", f.classNames, err)
	}
	l.ClassNames, f.poll.Classes = names, len(names)
	return l, nil
}
