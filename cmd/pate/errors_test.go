package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// provoked lists what users do wrong, a command a line; # begins a heading. The files are
// those of wrongFiles. What comes out is in testdata/errors.txt.
const provoked = `
# the command line
lable votes.csv
label --clases 3 votes.csv
label --epsilon two votes.csv
label --epsilon
compare extra
ledger
ledger vrify run.jsonl
help lable
calibrate
learn explain
learn law
version --format jsn
ledger statement run.jsonl --delta 1e-3
account events.json --seed 3
compare --delta 2
conjure
compare --magic
compare --format yaml
compare --delta NaN
compare --split magic
compare --seeds
compare --seeds 1.5
ledger show l.jsonl --seed 3
ledger show a b
help vots
account --format jsn x

# label
label
label votes.csv --classes 3
label votes.csv --out new.csv
label none.csv --classes 3 --epsilon 2 --ledger new.jsonl --out new.csv
label votes.csv --classes 3 --mechanism gnmx --epsilon 2 --ledger new.jsonl --out new.csv
label votes.csv --classes 3 --mechanism gnmax --scale 3 --epsilon 2 --ledger new.jsonl --out new.csv
label votes.csv --classes 3 --mechanism confident --epsilon 2 --ledger new.jsonl --out new.csv
label votes.csv --classes 3 --mechanism gnmax --mode filtre --epsilon 2 --ledger new.jsonl --out new.csv
label votes.csv --classes 3 --mechanism gnmax --epsilon -1 --ledger new.jsonl --out new.csv
label votes.csv --classes 3 --mechanism gnmax --sigma 3 --epsilon 2 --ledger folder/none/new.jsonl --out new.csv
label votes.csv --classes 3 --mechanism gnmax --sigma 3 --epsilon 2 --ledger fresh.jsonl --out new.csv
label votes.csv --classes 3 --mechanism gnmax --sigma 3 --epsilon 2 --ledger labels.csv --out new.csv
label votes.csv --classes 3 --mechanism gnmax --sigma 3 --epsilon 2 --ledger new.jsonl --out votes.csv
label votes.csv --classes 3 --mechanism gnmax --sigma 3 --epsilon 9 --ledger new.jsonl --out labels.csv
label votes.csv --classes 3 --mechanism gnmax --sigma 3 --epsilon 4 --ledger run.jsonl --out new.csv
label votes.csv --classes 3 --mechanism gnmax --sigma 0.5 --epsilon 1 --force --ledger new.jsonl --out new.csv
label votes.csv --classes 3 --mechanism gnmax --sigma 900 --epsilon 1 --ledger new.jsonl --out new.csv
label votes.csv --classes 2 --mechanism gnmax --sigma 3 --epsilon 9 --ledger new.jsonl --out new.csv
label ragged.csv --classes 3 --mechanism gnmax --sigma 3 --epsilon 9 --ledger new.jsonl --out new.csv
label votes.csv --classes 3 --queries 5:2 --epsilon 9 --ledger new.jsonl --out new.csv
label page.html --classes 3 --epsilon 9 --ledger new.jsonl --out new.csv
label rows.parquet --classes 3 --epsilon 9 --ledger new.jsonl --out new.csv
label run.jsonl --classes 3 --epsilon 9 --ledger new.jsonl --out new.csv
label votes.csv --classes 3 --calibrate-on votes.csv,labels.csv --epsilon 9 --ledger new.jsonl --out new.csv
label votes.csv --classes 3 --mechanism gnmax --sigma 3 --epsilon 12 --force=duplicates --ledger run.jsonl --out new.csv

# check
votes check
votes check votes.csv
votes check votes.csv --classes 1
votes check ragged.csv --classes 2
votes check --manifest votes.csv
votes check none.npy --classes 3
votes check votes.csv --classes 3 --header maybe
votes check votes.csv --classes 3 --manifest about.json
votes check votes.csv --classes 3 --salt votes.csv
votes check votes.csv --classes 3 --join joined.json
votes check hash-ids
votes check hash-ids ids.txt --salt votes.csv --silo a
votes check hash-ids none.txt --salt none.key --silo a

# analyze
votes analyze
votes analyze votes.csv --classes 3 --mechanism gnmax
votes analyze --mechanism gnmax --si
votes analyze votes.csv --classes 3 --mechanism gnmax --sigma NaN
votes analyze votes.csv --classes 3 --mechanism gnmax --sigma 40 --answers labels.csv
votes analyze votes.csv --classes 3 --mechanism gnmax --sigma 40 --noise contnuous
votes analyze votes.csv --classes 3 --mechanism gnmax --sigma 40 --orders 1
votes analyze votes.csv --classes 3 --mechanism gnmax --sigma 40 --delta 0.5
votes analyze release votes.csv --classes 3
votes analyze release votes.csv
votes analyze release votes.csv --classes 3 --mechanism lnmax --scale 20 --epsilon 2 --ledger new.jsonl --out new.json
votes analyze release votes.csv --classes 3 --mechanism gnmax --sigma 40 --order 0 --epsilon 2 --ledger new.jsonl --out new.json

# plan
plan
plan --simulate-accuracy 0.8 --epsilon 1
plan --simulate-accuracy 0.8 --teachers 10 --classes 2
plan votes.csv --classes 3 --simulate-accuracy 0.8 --epsilon 1
plan --simulate-accuracy 1.5 --teachers 10 --classes 2 --epsilon 1
plan regime
plan table

# account
account
account none.json
account run.jsonl
account votes.csv
account rows.parquet
account broken.json
account unknown.json
account events.json --accountant rpd
account events.json --conversion best
account events.json --epsilon 1 --delta 1e-5
account events.json --plot plot.pdf
account events.json --rdp
account events.json --sigma 1
account events.json --orders 0.5

# calibrate
calibrate gnmax
calibrate gnmx
calibrate gaussian
calibrate gnmax --queries 5 --epsilon x
calibrate dpsgd --epsilon 1 --probability 0.1
calibrate gnmax --epsilon 1
calibrate gnmax --epsilon 1 --noise 4 --queries 7
calibrate gnmax --epsilon 0 --queries 7
calibrate gnmax --epsilon 1e300 --queries 7
calibrate dpsgd --epsilon 1 --probability 2 --steps 10
calibrate dpsgd --epsilon 1 --probability 0.1 --steps 10 --accountant strong

# law and explain
learn law gnmax
learn law gnmx
learn law gnmax --counts 3,x --sigma 2
learn law gnmax --counts -3,2 --sigma 2
learn law gnmax --counts 3,2 --sigma 0
learn law above-threshold
learn explain noisy-agmax
learn explain noisy-argmax --counts 3,x

# data

# ledger and statement
ledger show
ledger show none.jsonl
ledger show labels.csv
ledger show folder
ledger show damaged.jsonl
ledger verify
ledger verify run.jsonl --head 6
ledger verify run.jsonl --labels changed.csv
ledger verify run.jsonl --labels none.csv
ledger verify run.jsonl --statement votes.csv
ledger verify run.jsonl --statement other.html
ledger verify run.jsonl --statement edited.html
ledger verify run.jsonl --signature run.jsonl.head
ledger verify run.jsonl --signature run.jsonl --public-key votes.csv
ledger sign run.jsonl
ledger sign
ledger sign run.jsonl --key votes.csv
ledger statement
ledger statement labels.csv
ledger statement none.jsonl
ledger statement damaged.jsonl
ledger statement run.jsonl --out page.pdf
ledger statement run.jsonl --out run.jsonl
ledger statement run.jsonl --format csv
ledger statement run.jsonl --about votes.csv
ledger statement run.jsonl --about wrong.json
ledger statement run.jsonl --labels changed.csv
ledger statement run.jsonl run.jsonl
ledger statement run.jsonl visits.jsonl

# compare and dpsgd
compare --epsilon -1
compare --learner kernel-rigde
compare --methods magic
compare --methods dpsgd/linaer
compare --data none
compare --data labels.csv --label answer
compare --data run.jsonl --label answer
compare --data page.html --label answer
compare --data rows.parquet --label answer
compare --data dates.parquet --label outcome
compare --data adlut
compare --kind photos
compare --data ragged.csv --header no --label 1
compare --data blobs.csv --delta 1e-4 --out new
compare --data votes.csv --delta 1e-4 --out new
compare --data blobs.csv --label kind --delta 0.05 --out new
compare --data mnist --classes 10
compare --data mnist --label x
compare --data blobs.csv --label kind --delta 1e-4 --out new --epsilon inf
compare --data blobs.csv --label kind --delta 1e-4 --out new --features hog
compare --data blobs.csv --label kind --delta 1e-4 --out new --separator ab
compare --data blobs.csv --label kind --delta 1e-4 --out new --classes 1
compare --data blobs.csv --label kind --delta 1e-4 --out new --classes 3 --class-names a,b
compare --data blobs.csv --label kind --delta 1e-4 --out new --class-names a,b,a
compare --data blobs.csv --label kind --delta 1e-4 --out new --class-names a,b
compare --data blobs.csv --label kind --delta 1e-4 --out new --kind table
compare --data blobs.csv --label kind --delta 1e-4 --out new --kind pictures
dpsgd --data blobs.csv --label kind --epsilon 0
dpsgd --data blobs.csv --label kind --epsilon 1 --noise-multiplier 2
dpsgd --data blobs.csv --label kid
dpsgd --data blobs.csv --label kind --optimizer adm
dpsgd --data blobs.csv --label kind --model tree
dpsgd --data blobs.csv --label kind --ledger run.jsonl
dpsgd --data blobs.csv --label kind --spend 1
dpsgd --data blobs.csv --label kind --delta 1e-4 --out new --epsilon 1,two
dpsgd --data blobs.csv --label kind --delta 1e-4 --out new --epsilon inf
dpsgd --data blobs.csv --label kind --delta 1e-4 --out new --epsilon 1,1
dpsgd --data blobs.csv --label kind --delta 1e-4 --out new --epsilon=
dpsgd --data blobs.csv --label kind --delta 1e-4 --out new --noise-multiplier NaN
dpsgd --data blobs.csv --label kind --delta 1e-4 --out new --features magic
dpsgd --data blobs.csv --label kind --delta 1e-4 --out new --features hog
dpsgd --data blobs.csv --label kind --delta 1e-4 --out new --steps -1
dpsgd --data blobs.csv --label kind --delta 1e-4 --out new --batch NaN
dpsgd --data blobs.csv --label kind --delta 1e-4 --out new --clip 0
dpsgd --data blobs.csv --label kind --delta 1e-4 --out new --clip inf
dpsgd --data blobs.csv --label kind --delta 1e-4 --out new --learning-rate NaN
dpsgd --data blobs.csv --label kind --delta 1e-4 --out new --momentum 1
dpsgd --data blobs.csv --label kind --delta 1e-4 --out new --seeds -1
dpsgd --data blobs.csv --label kind --delta 1e-4 --out new --ledger new.jsonl
dpsgd --data blobs.csv --label kind --delta 1e-4 --out new --mode filter
dpsgd --data blobs.csv --label kind --delta 1e-4 --out new --no-privacy --epsilon 1
dpsgd --data blobs.csv --label kind --delta 1e-4 --out new --delta 0.05
dpsgd --data blobs.csv --label kind --ledger new.jsonl
dpsgd --data mnist --quick --bayes-delta 1e-9
dpsgd --data mnist --quick --bayes --bayes-distances all
dpsgd --data mnist --quick --bayes --bayes-delta 0
compare --data mnist --quick --bayes --bayes-samples 1
predict
predict labels.csv blobs.csv
predict damaged.model blobs.csv --split magic
predict damaged.model blobs.csv --out none/new.csv

# train, publish and dpsgd on two tables
train blobs.csv --label kind
train blobs.csv --public none.csv --label kind --out new.npy
train blobs.csv --public ./blobs.csv --label kind --out new.npy
train blobs.csv --public pool.csv --label kid --out new.npy --quiet
train blobs.csv --public renamed.csv --label kind --class-names a,b,c --out new.npy --quiet
train blobs.csv --public blobs.csv --label kind --unit who --class-names a,b,c --teachers 1 --out new.npy
train blobs.csv --public blobs.csv --label kind --unit who --class-names a,b,c --size 1 --out new.npy
train blobs.csv --public blobs.csv --label kind --unit who --class-names a,b,c --learner tree --out new.npy
train blobs.csv --public pool.csv --label kind --unit who --class-names a,b,c --out blobs.csv
train nounit.csv --public renamed.csv --label kind --unit who --class-names a,b,c --out new.npy --quiet
publish blobs.csv --public blobs.csv --label kind --unit who --class-names a,b,c --epsilon 2
publish blobs.csv --public blobs.csv --label kind --unit who --class-names a,b,c --epsilon 0 --out new
publish blobs.csv --public blobs.csv --label kind --unit who --class-names a,b,c --epsilon 2 --method sgd --out new
publish blobs.csv --public blobs.csv --label kind --unit who --class-names a,b,c --epsilon 2 --method dpsgd --out new
publish blobs.csv --public blobs.csv --label kind --unit who --class-names a,b,c --epsilon 2 --method dpsgd --size 300 --teachers 20 --out new
publish blobs.csv --public blobs.csv --label kind --unit who --class-names a,b,c --epsilon 2 --method dpsgd --size 300 --rows-per-unit 0 --out new
publish blobs.csv --public blobs.csv --label kind --unit who --class-names a,b,c --epsilon 2 --method dpsgd --size 300 --delta 0.01 --out new
publish blobs.csv --public blobs.csv --label kind --unit who --class-names a,b,c --epsilon 2 --rows-per-unit 4 --out new
publish blobs.csv --public pool.csv --label kind --unit who --class-names a,b,c --epsilon 2 --out labels.csv
publish dates.parquet --public days.parquet --label outcome --epsilon 2 --out new
dpsgd blobs.csv
dpsgd blobs.csv --public blobs.csv --data blobs.csv --label kind --epsilon 2
dpsgd blobs.csv --public blobs.csv --label kind --unit who --class-names a,b,c --rows-per-unit 0 --epsilon 2
student blobs.csv --labels none.csv --label kind --out new.model
student blobs.csv --labels labels.csv
predict none.model blobs.csv --out new.csv
predict damaged.model blobs.csv --out new.csv

# tune
tune
tune student --out new
tune else
tune --data blobs.csv --label kind --plan --law uniform
tune --data blobs.csv --label kind --plan --law negative-binomial:3
tune --data blobs.csv --label kind --plan --law geometric --runs 0.5
tune --data blobs.csv --label kind --plan --runs 1e9
tune --data blobs.csv --label kind --plan --learning-rate 1,x
tune --data blobs.csv --label kind --plan --clip 1,1.0
tune --data blobs.csv --label kind --plan --clip=-1
tune --data blobs.csv --label kind --plan --optimizer sgd,adm
tune --data blobs.csv --label kind --plan --settings none.json
tune --data blobs.csv --label kind --plan --settings votes.csv
tune --data blobs.csv --label kind --plan --settings votes.csv --clip 1
tune --data blobs.csv --label kind --plan --score secret
tune --data blobs.csv --label kind --plan --score-noise 3
tune --data blobs.csv --label kind --plan --score private --score-share 1
tune --data blobs.csv --label kind --plan --epsilon 0
tune --data blobs.csv --label kind --plan --epsilon 0.1 --score private --score-noise 0.5
tune --data blobs.csv --label kind --unit-name record --ledger beside.jsonl --epsilon 1 --spend 2 --out new
tune --data blobs.csv --label kind --plan --delta 0.5
tune --data blobs.csv --label kind --plan --steps -3
tune --data blobs.csv --label kind --plan --out new
tune --data blobs.csv --label kind --plan --ledger run.jsonl
tune --data blobs.csv --label kind --constant-time soon --out new
tune --data blobs.csv --label kind --unit who --ledger run.jsonl --out new
tune --data blobs.csv --label kind --spend 1 --out new
tune --data blobs.csv --label kind --model tree --out new

# audit
audit --suite gnmx
audit --suite=
audit --broken magic
audit --samples 1
audit --alpha 0

# what the operating system refuses
ledger statement run.jsonl --out full/page.html
ledger sign run.jsonl --key private.pem --out none/run.sig
ledger show long
`

// wrongFiles writes the files that the commands above name.
func wrongFiles(t *testing.T) {
	t.Helper()
	dates, err := os.ReadFile("../../dataset/testdata/parquet/dates.parquet")
	require.NoError(t, err)
	preparedFolder(t)
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	var votes strings.Builder
	for row := range 24 {
		cells := make([]string, 9)
		for teacher := range cells {
			vote := row % 3
			if (row*7+teacher*teacher*5)%11 < 2 {
				vote = (row + teacher) % 3
			}
			cells[teacher] = fmt.Sprint(vote)
		}
		votes.WriteString(strings.Join(cells, ",") + "\n")
	}
	write("votes.csv", votes.String())
	write("ragged.csv", "0,1,2\n0,1\n")
	write("page.html", "<!doctype html>\n<html><body>not found</body></html>\n")
	write("rows.parquet", "PAR1\x15\x04\x15\x00PAR1")
	write("dates.parquet", string(dates))
	write("days.parquet", string(dates))
	write("renamed.csv", "height,weight\n1,2\n3,5\n2,2\n")
	write("nounit.csv", "height,weight,who,kind\n1,2,u1,a\n3,5,,b\n")
	write("ids.txt", "a\nb\n")
	write("events.json", `{"relation":"add_remove","events":[{"type":"gnmax","sigma":40}]}`)
	write("broken.json", `{"relation":"add_remove","events":[{"type":"gnmax"}]}`)
	write("unknown.json", `{"relation":"add_remove","events":[{"type":"gnmx","sigma":40}]}`)
	write("about.json", `{"data_set":"visits","date":"2026-03-01"}`)
	write("wrong.json", `{"owner":"me"}`)
	pool, err := os.ReadFile("blobs.csv")
	require.NoError(t, err)
	write("pool.csv", string(pool)+"\n")
	require.NoError(t, os.Mkdir("folder", 0o700))
	label := func(name string, more ...string) {
		typed(t, shell.ExitDone, append([]string{"label", "votes.csv", "--classes", "3", "--mechanism", "gnmax", "--sigma", "4", "--epsilon", "12", "--force",
			"--ledger", name + ".jsonl", "--out", name + ".csv"}, more...)...)
	}
	label("run")
	label("visits", "--unit", "visit")
	require.NoError(t, os.Rename("run.csv", "labels.csv"))
	edit := func(from, old, new, to string) {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.Contains(t, string(text), old)
		write(to, strings.Replace(string(text), old, new, 1))
	}
	edit("labels.csv", "\n7,", "\n8,", "changed.csv")
	edit("run.jsonl", `"sigma":4,`, `"sigma":5,`, "damaged.jsonl")
	typed(t, shell.ExitDone, "ledger", "statement", "run.jsonl", "--out", "good.html")
	typed(t, shell.ExitDone, "ledger", "statement", "visits.jsonl", "--out", "other.html")
	edit("good.html", "neighbours", "friends", "edited.html")
	write("damaged.model", "pate model 1\n"+strings.Repeat("\x00", 100))
}

var (
	hashes   = regexp.MustCompile(`[0-9a-f]{32,}`)
	builds   = regexp.MustCompile(`\(devel\)|v[0-9]+\.[0-9]+\.[0-9]+\S*`)
	rootHelp = regexp.MustCompile(`(?m)^pate --help$`)
)

// TestEveryErrorSaysWhatWhyAndFix: the messages are in one file, to be read through.
// UPDATE_GOLDEN=1 rewrites it.
func TestEveryErrorSaysWhatWhyAndFix(t *testing.T) {
	golden, err := filepath.Abs(filepath.Join("testdata", "errors.txt"))
	require.NoError(t, err)
	wrongFiles(t)
	here, err := os.Getwd()
	require.NoError(t, err)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(here, "cache"))
	t.Setenv("PATE_DATA", here)
	var got strings.Builder
	got.WriteString("What users do wrong, and what they read. Written by UPDATE_GOLDEN=1 go test ./cmd/pate -run EveryError\n")
	for line := range strings.Lines(provoked) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			if line != "" {
				fmt.Fprintf(&got, "\n%s\n", line)
			}
			continue
		}
		args := strings.Fields(line)
		for i, arg := range args {
			if arg == "long" {
				args[i] = strings.Repeat("long", 80)
			}
		}
		var out, errs bytes.Buffer
		code := run(context.Background(), args, strings.NewReader(""), &out, &errs)
		if code == shell.ExitUsage || code == shell.ExitInvalidInput {
			assert.Empty(t, out.String(), line)
		}
		said := errs.String()
		said = hashes.ReplaceAllString(strings.ReplaceAll(said, here, "HERE"), "HASH")
		said = builds.ReplaceAllString(strings.ReplaceAll(said, args[len(args)-1], strings.Fields(line)[len(args)-1]), "BUILD")
		fmt.Fprintf(&got, "\n$ pate %s\nexit %d\n%s", line, code, said)
		assert.NotZero(t, code, line)
		assert.NotContains(t, said, "strconv.", line)
		assert.NotContains(t, said, "durable:", line)
		assert.NotContains(t, said, ".tmp", line)
		if !strings.HasPrefix(line, "lable") && !strings.HasPrefix(line, "conjure") && !strings.HasPrefix(line, "help") {
			assert.False(t, rootHelp.MatchString(said), "%s: the help of the root says nothing about it", line)
		}
		if lines := strings.Count(said, "\n"); assert.LessOrEqual(t, lines, 8, line) && !strings.Contains(line, "verify run.jsonl --") {
			assert.GreaterOrEqual(t, lines, 2, "%s: says neither why nor what to do", line)
		}
	}
	left, err := filepath.Glob("new*")
	require.NoError(t, err)
	require.Empty(t, left, "what is refused leaves nothing")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
		return
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	before, after := strings.Split(string(want), "\n$ "), strings.Split(got.String(), "\n$ ")
	require.Equal(t, len(before), len(after), "UPDATE_GOLDEN=1 rewrites testdata/errors.txt; read the difference")
	for i := range before {
		require.Equal(t, before[i], after[i], "UPDATE_GOLDEN=1 rewrites testdata/errors.txt; read the difference")
	}
}
