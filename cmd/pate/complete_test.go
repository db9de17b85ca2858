package main

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// eachCommand visits all commands of this program that run.
func eachCommand(visit func(cmd *cobra.Command)) {
	var out bytes.Buffer
	root := newRootCommand(&shell.Globals{Stdout: &out, Stderr: &out})
	shell.CompleteAll(root)
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Runnable() {
			visit(cmd)
		}
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	walk(root)
}

// Of every flag it is known what it takes, and so what shells complete: shell.Complete says
// it for texts, and the type of numbers does.
func TestEveryFlagCompletes(t *testing.T) {
	var without []string
	eachCommand(func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			_, completes := cmd.GetFlagCompletionFunc(f.Name)
			if f.Name != "help" && f.Name != "version" && (!shell.Declared(f) || f.Value.Type() != "bool" && !completes) {
				without = append(without, cmd.CommandPath()+" --"+f.Name)
			}
		})
		if _, arguments, takes := strings.Cut(cmd.Use, " "); takes && cmd.ValidArgsFunction == nil && cmd.ValidArgs == nil {
			without = append(without, cmd.CommandPath()+" "+arguments)
		}
	})
	require.Empty(t, without, "say with shell.Complete and shell.CompleteArgs what these take: words, files or anything")
}

// A flag whose help lists its words is one of a closed set: those words are completed.
func TestListedWordsAreCompleted(t *testing.T) {
	listed := regexp.MustCompile(`([a-z_-]+)\|([a-z_|-]+)`)
	seen := 0
	eachCommand(func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			words := listed.FindString(f.Usage)
			if words == "" {
				return
			}
			seen++
			complete, found := cmd.GetFlagCompletionFunc(f.Name)
			require.True(t, found, "%s --%s", cmd.CommandPath(), f.Name)
			got, _ := complete(cmd, nil, "")
			for _, word := range strings.Split(words, "|") {
				assert.Contains(t, got, word, "%s --%s", cmd.CommandPath(), f.Name)
			}
		})
	})
	require.Greater(t, seen, 20)
}

func TestWhatShellsComplete(t *testing.T) {
	for line, want := range map[string]string{
		"label --mechanism ":               "gnmax\n",
		"label --mode ":                    "reserved\n:4\n",
		"label --ledger ":                  "jsonl\n:8\n",
		"label --epsilon ":                 ":4\n",
		"label ":                           "npy\n",
		"compare --learner ":               "kernel-ridge\n",
		"compare --data ":                  "fashion-mnist\n",
		"compare --out ":                   ":16\n",
		"compare --methods pate/gnmax,dps": "pate/gnmax,dpsgd",
		"dpsgd --optimizer ada":            "adagrad\nadam\nadamw\n",
		"statement --out ":                 "html\n",
		"ledger verify ":                   "jsonl\n",
		"account --accountant ":            "pld\n",
		"explain ":                         "noisy-argmax\t",
		"calibrate ":                       "dpsgd\t",
		"help ":                            "votes\n",
		"compare --seeds ":                 ":4\n",
		"version --format ":                "json\n",
	} {
		var out, errs bytes.Buffer
		args := append([]string{"__complete"}, strings.Split(line, " ")...)
		require.Zero(t, run(context.Background(), args, strings.NewReader(""), &out, &errs), line)
		require.Contains(t, out.String(), want, line)
	}
	for _, name := range []string{"bash", "zsh", "fish", "powershell"} {
		var out, errs bytes.Buffer
		require.Zero(t, run(context.Background(), []string{"completion", name}, strings.NewReader(""), &out, &errs), name)
		require.Contains(t, out.String(), "__complete", name)
	}
}

// Values of a closed set are refused everywhere, with the nearest word.
func TestUnknownValues(t *testing.T) {
	for line, want := range map[string]string{
		"label v.npy --mode filtre --ledger l --out o --classes 3 --epsilon 2":    `--mode "filtre": must be filter or reserved; did you mean filter?`,
		"label v.npy --mechanism gnmx --ledger l --out o --classes 3 --epsilon 2": "did you mean gnmax?",
		"compare --learner kernel-rigde":                                          "did you mean kernel-ridge?",
		"compare --methods dpsgd/linaer":                                          "did you mean",
		"dpsgd --optimizer adm":                                                   `must be one of sgd, nesterov, adagrad, adam, adamw; did you mean adam?`,
		"account e.json --accountant rpd":                                         "did you mean rdp?",
		"audit --suite gnmx":                                                      "did you mean gnmax?",
		"calibrate gnmax --queries 5 --epsilon x":                                 `--epsilon "x": must be a number`,
		"compare --seeds 1.5":                                                     `--seeds "1.5": must be a whole number`,
		"compare --seeds":                                                         "--seeds needs a value",
		"statement l.jsonl --delta 1e-3":                                          "pate statement takes no --delta",
		"ledger show l.jsonl --seed 3":                                            "pate ledger show takes no --seed",
		"calibrate gnmx":                                                          "did you mean gnmax?",
		"explain noisy-agmax":                                                     "did you mean noisy-argmax?",
	} {
		t.Run(line, func(t *testing.T) {
			_, said := typed(t, shell.ExitUsage, strings.Fields(line)...)
			require.Contains(t, said, want)
			require.Contains(t, said, " --help")
		})
	}
}

// All that is missing is said at once, with the help of the command.
func TestAllThatIsMissingIsSaidAtOnce(t *testing.T) {
	for line, want := range map[string][]string{
		"label":                 {"pate label needs VOTES..., --classes, --ledger, --out and --epsilon\n", "pate label --help"},
		"label v.npy --out o":   {"needs --classes, --ledger and --epsilon\n"},
		"analyze":               {"needs VOTES..., --classes and --mechanism"},
		"analyze release v.npy": {"needs --classes, --mechanism, --ledger, --out and --epsilon"},
		"check hash-ids":        {"needs --salt, IDS (or --new-salt) and --silo"},
		"ledger sign":           {"needs LEDGER and --key"},
		"ledger verify":         {"usage: pate ledger verify LEDGER; nothing was given"},
		"law gnmax":             {"needs --counts and --sigma", "pate law gnmax --help"},
		"law above-threshold":   {"needs --queries, --threshold, --epsilon1 and --epsilon2"},
		"plan regime":           {"needs --teachers, --classes, --queries and --epsilon"},
		"calibrate gaussian":    {"pate calibrate gaussian needs --epsilon"},
	} {
		t.Run(line, func(t *testing.T) {
			_, said := typed(t, shell.ExitUsage, strings.Fields(line)...)
			for _, text := range want {
				require.Contains(t, said, text)
			}
			require.NotContains(t, said, "\npate --help")
		})
	}
}
