package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
)

// mechanismTable lists every mechanism, what it does and what a query costs.
func mechanismTable() string {
	const does, costs = 33, 26 // columns
	var b strings.Builder
	for _, d := range mechanisms.All() {
		left, right := shell.Folded(d.Short, does), shell.Folded(d.Cost, costs)
		for i := range max(len(left), len(right)) {
			var name, short, cost string
			if i == 0 {
				name = d.Name
			}
			if i < len(left) {
				short = left[i]
			}
			if i < len(right) {
				cost = right[i]
			}
			b.WriteString(strings.TrimRight(fmt.Sprintf("  %-17s %-*s %s", name, does, short, cost), " ") + "\n")
		}
	}
	return b.String()
}

// topicList lists the topics and the page of topics.
func topicList(topics []*cobra.Command) *cobra.Command {
	var list strings.Builder
	for _, topic := range topics {
		fmt.Fprintf(&list, "  %-12s %s\n", topic.Name(), topic.Short)
	}
	return &cobra.Command{Use: "topics", Short: "the list of topics", Long: "Topics of pate help TOPIC:\n\n" + list.String()}
}

// helpTopics returns pages without a command: `pate help votes`.
func helpTopics() []*cobra.Command {
	topic := func(name, short, long string) *cobra.Command {
		return &cobra.Command{Use: name, Short: short, Long: long}
	}
	return []*cobra.Command{
		topic("privacy", "what epsilon, delta, relation and unit mean here", `An (epsilon, delta) guarantee compares two data sets that differ in one unit:
one record added or removed. Whatever is released, no observer tells the two
apart much better than by chance: odds of 1:1 become at most
(e^epsilon + delta) : (1 - delta).

Epsilon is always an upper bound, rounded up. Delta must be far below one over
the number of records; it is refused where it is not.

PATE costs the same whether a record is added, removed or replaced under its own
id, because its id alone says which teacher sees it: one record changes at most
one teacher and so at most one vote of each query.
DP-SGD is accounted for records added or removed, with the Poisson sampling
that the trainer really does. Both are shown under add/remove. Whoever knows the number
of records compares data sets in which one was replaced: votes of teachers cost the same,
and DP-SGD is covered as a group of two is, at twice epsilon and (1 + e^epsilon) delta.

What is not charged: the number of private records, which is taken to be public;
hyper-parameters fixed before the private data were seen; per-image
preprocessing; and everything computed from public data or from labels already
released.

A mechanism's loss distribution is the law of how much one answer speaks for one of
the two data sets. Where everything is reserved, that is charged before the first
answer (--mode reserved), the distributions of all answers are composed, which proves
less epsilon than Renyi divergences do. Charges that may depend on earlier answers
(--mode filter) have Renyi divergences alone. The claim of a ledger is by one of the two.

A budget is that of one ledger, and only what is charged to it is added up. pate
label and pate votes analyze release charge the --ledger they are given, and so does pate
dpsgd: give all runs on the same records the same one, and its budget holds for all
of them together. pate
compare has a ledger in each --out folder; what other folders and ledgers spent on
the same records comes on top, and nothing adds it up for you.`),
		topic("votes", "what a votes file looks like", `Labels: a matrix of class numbers, each row a query, each column a teacher.
Counts (--counts): each row a query, each column a class, each cell how many
teachers voted for it. Classes count from 0, and how many there are is public:
it is given by --classes and never guessed from the votes. --first-class 1 is for
files that count classes from 1; --class-names flu,gout,none for votes that are
words. Labels are then written in the same words.

  votes.csv     separated by comma, semicolon or tab, with or without a header;
                an empty cell or -1 is a missing vote; a first row of words and
                numbers is refused unless --header says what it is;
                --index-column leaves out the row names that pandas writes first
  votes.npy     numpy.save of a matrix: bool, any int or uint, whole floats, or
                strings; both byte orders, C or Fortran; -1 is a missing vote
  v.parquet     a column for each teacher (or, of counts, each class); pandas'
                row numbers are passed over, a missing value is a missing vote
  'dir/*.npy'   one file for each teacher: vectors of equal length, by name
  -             standard input, one matrix

Class probabilities (--probabilities) are an array of queries x teachers x classes
in NPY, or a file for each teacher with a column for each class, as predict_proba
returns them. Each teacher votes for its largest, the first class of equals. NaN,
negative numbers and rows that do not add up to 1 (within 0.05) are refused, and so
are columns that are named after the classes in another order.

Each of them may be compressed by gzip or Zstandard. That and Parquet are unpacked
into a temporary file without a name, of 4 GiB at most. pate votes check says what it
found, and the command that reads it. pate votes counts makes counts of any of them, and
pate votes sql prints the SQL that makes them of a table in a database.

What is saved otherwise (a row for each vote, an
index column, objects, np.savetxt's blanks) is refused with the line of Python that
mends it, where np is numpy and pd is pandas.

A file with a row for each teacher needs --transpose; a square file would not
show that it does, so this is never guessed. --queries 0:640 takes a part, and
queries keep their numbers.

Votes are as secret as the data they were learned from. One teacher must be one
share of the private data, disjoint from all others: pate votes check tests that from
hashes of record ids, made where the records are with pate votes check hash-ids.`),
		topic("bayes", "the Bayesian accountant, which is no differential privacy", `pate dpsgd --bayes and pate compare --bayes account for the same run by Bayesian
differential privacy too (Triastcyn and Faltings 2020). The figure is called ε_µ. It is
no epsilon of differential privacy:

  it protects typical records of one distribution. It says nothing of outliers,
  whom attacks aim at. Differential privacy protects every record.
  it needs records that are exchangeable, and distances of gradients that have
  the same law for rows that were used and rows that were not.
  it is computed from private gradients and nobody is charged for it. So it is
  private itself: it is printed, kept in the folder private of --out, and marked
  as not releasable. No ledger, statement or account has it.
  settings that were chosen by looking at it are not covered by the next one.

Two limits are printed. Bernstein's holds for clipped gradients of every law. Student's
t is the published one; it misses its confidence under heavy tails, which gradients
have. Each is capped by what the moments accountant says for a record at the clip norm.
The authors' published notebook clips the gradient of the batch and not those of the
examples, so its noise bounds nothing; here examples are clipped.

--bayes-distances says what distances are between. With batches, the default, it is the
sum with a record and without it, which is how these batches are drawn. With records
it is one record in place of another, as published; these distances go to twice the
clip norm. pate learn explain bayes shows the account step by step.`),
		topic("mechanisms", "noisy argmax and what it costs, side by side", `For one query the teachers' votes are counted; a mechanism adds noise, or
chooses at random by the counts, and releases one class or declines. One changed
record moves at most one vote. Cost of one query:

`+mechanismTable()+`
Rho is a Rényi divergence of a*rho at every order a; rho adds up over queries,
and the accountant turns the sum into an epsilon. Which to use:

  two classes, and 95 % right will do         exponential
  many classes, or 99 % right                 gnmax, whose tails are lightest
  many contested queries                      confident: it declines those
  a student that is mostly right already      interactive
  thousands of unanimous queries, hundreds    a stability method: see
  of teachers                                 pate plan regime

pate learn law shows what comes out, pate learn explain how, pate plan which to take.`),
		topic("training", "what DP-SGD does, and what it costs", `A step takes a Poisson sample of the private records: each is in it with the same
small chance, q. Every record's gradient is clipped to a norm, the sum gets Gaussian
noise of a multiple of that norm, and the model moves. Epsilon follows from q, the
multiple and the number of steps, and from nothing that is learned.

  more steps, larger q      cost more for the same noise
  larger batches            are less noise for the same cost: use what fits
  larger clip norm          noise grows with it; a small one biases little
  features                  fixed ones, as hog, cost nothing and help most

What features learn from private rows (means, whitening) is a release like any
other: it is charged together with the training. Scaling columns by public rows
costs nothing.

All of it is charged before a private row is looked at, to a ledger in --out or to
the --ledger given. The epsilon of a row is a certified bound from privacy loss
distributions; its ledger adds Rényi divergences and may say some percent more. The model
is the last iterate: nothing is chosen by looking at private rows. Hyper-parameters
that are tuned on private rows are not covered by epsilon, nor those that are tuned with
--split development on the same file: use public data like it, or pate tune, which
charges the choice.`),
		topic("formats", "table, json, csv, md, latex", `  table    for a terminal (default)
  json     one object with a "schema" field; names are stable
  csv      one row per result, header first
  md       a Markdown table
  latex    a tabular environment

Data go to stdout, messages and progress to stderr.`),
		topic("exit-codes", "what the exit code says", `    0  done
    1  failure
    2  usage
    3  input invalid; no result was written
    4  the budget would be exceeded; nothing was spent
    5  a check failed
    6  every query was declined
  130  interrupted; run the same command again to go on`),
	}
}
