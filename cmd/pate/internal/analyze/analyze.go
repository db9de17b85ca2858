package analyze

import (
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/analysis"
	"github.com/pate-go/pate/teachers/votes"
)

type analyzeFlags struct {
	shell.VotesFlags
	analyzedFlags
	orders  string
	answers string
	noise   string
}

func New(g *shell.Globals) *cobra.Command {
	var f analyzeFlags
	cmd := &cobra.Command{
		Use:   "analyze VOTES...",
		Short: "The private report: what these votes cost, never a claim",
		Long: `The private report: what these votes cost, never a claim.

Where teachers agree, one vote more or less changes hardly anything, and a query
costs far less than the worst case that a ledger charges. The report shows, at
--delta and the best Rényi order:

  claim by pld      what a ledger of mode reserved charges, on any votes, by the
                    accountant that proves least: pld or rdp
  data-independent  the same as published, by Rényi divergences
  data-dependent    the published bound on these votes (Theorem 6 of Papernot
                    et al. 2018; LNMax: Theorem 3 of 2017); it is one-sided
  exact             the divergence itself, forward (the side the published
                    bound is about) and in both directions
  sanitized         what the data-dependent epsilon would be if it were
                    published with noise from smooth sensitivity

All numbers are computed from the votes and are as private as they are. They hold
for these votes only, so they are no (epsilon, delta) guarantee; telling one,
stopping at one or choosing noise by one leaks. For what may be claimed see
pate account; pate label charges that. The one number that may leave is that of
pate votes analyze release.

With --mechanism confident the first two are expected costs: that of the
threshold tests plus that of each answer times its probability. It is the number
that papers print, and no bound of anything; "all answered" is one. --answers FILE
(query,label lines, an empty label where the mechanism declined) adds the cost of
what was answered, which is no bound either.`,
		Example: `  pate votes analyze votes.npy --classes 10 --mechanism gnmax --sigma 40 --delta 1e-5
  pate votes analyze votes.npy --classes 10 --mechanism confident --threshold 200 \
      --sigma1 150 --sigma2 40 --queries 0:640
  pate votes analyze counts.csv --counts --mechanism lnmax --scale 20 --format json`,
		Args: shell.Wants(cobra.MinimumNArgs(1), func(cmd *cobra.Command, _ []string) []string {
			return append(f.Missing(cmd), shell.Unset(cmd, "mechanism")...)
		}),
		RunE: func(cmd *cobra.Command, args []string) error { return runAnalyze(cmd, g, f, args) },
	}
	f.Add(cmd)
	flags := cmd.Flags()
	f.addMechanism(cmd)
	flags.StringVar(&f.orders, "orders", "", "Rényi orders to choose from, as 1.5,2:64 (default: those of the published analysis)")
	flags.StringVar(&f.noise, "noise", "continuous", "noise of the exact divergences: continuous, as in the papers, or discrete, as pate label draws it")
	flags.StringVar(&f.answers, "answers", "", "confident: what was answered, a CSV file of query,label as pate label writes it")
	shell.Complete(cmd, map[string]shell.Values{
		"orders": shell.Anything(), "noise": shell.Words("continuous", "discrete"), "answers": shell.Files("csv"),
	})
	shell.Without(cmd, "seed")
	cmd.AddCommand(newAnalyzeReleaseCommand(g))
	return cmd
}

// check refuses flags that do not go together.
func (f *analyzeFlags) check() error {
	if f.answers != "" && f.Mechanism != "confident" {
		return shell.UsageError("votes", errors.New("--answers is for --mechanism confident: the others answer everything"))
	}
	if f.noise != "continuous" && f.noise != "discrete" {
		return shell.UsageError("votes", fmt.Errorf("--noise %q: must be continuous or discrete", f.noise))
	}
	return nil
}

func runAnalyze(cmd *cobra.Command, g *shell.Globals, f analyzeFlags, args []string) error {
	m, err := f.analysed(cmd)
	if err == nil {
		err = f.check()
	}
	if err != nil {
		return err
	}
	orders, err := shell.ParseOrders(f.orders)
	if err != nil {
		return shell.UsageError("votes", err)
	}
	defer f.Close()
	votes, err := f.Open(cmd.Context(), args)
	if err != nil {
		return err
	}
	if err := shell.CheckDelta(g.Delta, votes.Teachers(), "teachers"); err != nil {
		return err
	}
	options := analysis.Options{Delta: g.Delta, Orders: orders, Teachers: votes.Teachers(), IntegerNoise: f.noise == "discrete"}
	if f.answers != "" {
		if options.Answered, err = readAnswers(f.answers, votes); err != nil {
			return err
		}
	}
	report, err := analysis.Analyze(cmd.Context(), m, onlyHistograms(cmd, votes), options)
	var beyond *analysis.IntegerNoiseError
	if errors.As(err, &beyond) {
		return shell.InputError(err, "the exact divergence of discrete noise is a sum over all whole numbers that matter", "use --noise continuous", "votes")
	}
	if err != nil {
		return shell.FaultError(err, "votes")
	}
	return writeAnalysis(g, f.Mechanism, f.noise, report)
}

// onlyHistograms drops the numbers of the queries.
func onlyHistograms(cmd *cobra.Command, votes *votes.Source) iter.Seq2[aggregate.Histogram, error] {
	return func(yield func(aggregate.Histogram, error) bool) {
		for ballot, err := range votes.Histograms(cmd.Context()) {
			if !yield(ballot.Histogram, err) {
				return
			}
		}
	}
}
