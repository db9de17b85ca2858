package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// commands is the table: what is typed, on which private inputs, and what may leave.
func commands() []leaving {
	return slices.Concat(onPairs(), onTexts(), onTables(), onMatrices(), onVotes(), predicting())
}

// lines splits command lines into words.
func lines(commands ...string) (steps [][]string) {
	for _, c := range commands {
		steps = append(steps, strings.Fields(c))
	}
	return steps
}

// onPairs are commands on private.csv, whose public rows are another file.
func onPairs() []leaving {
	const (
		reading  = " --label kind --unit who --class-names a,b,c --other-labels other --format json"
		teachers = " --teachers 24 --learner softmax --min-accuracy 0.6 --out out" + reading
		labels   = "out/public/labels.csv"
	)
	rows := []leaving{
		{name: "publish", steps: lines("publish private.csv --public public.csv --epsilon 5000" + teachers), charged: []string{labels}},
		{name: "publish, in words", steps: lines("publish private.csv --public public.csv --epsilon 5000" + teachers + " --format table"), charged: []string{labels}},
		{name: "publish and destroy", steps: lines("publish private.csv --public public.csv --epsilon 5000 --destroy-private" + teachers), charged: []string{labels}},
		{name: "publish ranges", steps: lines("publish private.csv --pool none --ranges ranges.csv --epsilon 9" + teachers), charged: []string{labels}, slow: true},
		{name: "publish marginals", steps: lines("publish private.csv --pool marginals --ranges ranges.csv --epsilon 9" + teachers), charged: []string{labels, "out/public/marginals.csv"}},
		{name: "publish marginals, mostly of one bin", steps: lines("publish private.csv --pool marginals --ranges wide.csv --epsilon 9" + teachers), charged: []string{labels, "out/public/marginals.csv"}},
		{name: "publish tree", steps: lines("publish private.csv --pool tree --ranges ranges.csv --size 150 --epsilon 9 --out out" + reading), charged: []string{labels, "out/public/marginals.csv", "out/public/tree.csv"}},
		{name: "publish nearest", steps: lines("publish private.csv --public public.csv --method nearest --size 150 --epsilon 8 --out out" + reading), charged: []string{labels}},
		{name: "publish nearest, all statements", steps: lines("publish private.csv --public labelled.csv --method nearest --group colour --size 150 --epsilon 8 --destroy-private --out out"+reading,
			"ledger statement out/public/ledger.jsonl --out s.md", "ledger statement out/public/ledger.jsonl --out s.json", "ledger statement out/public/ledger.jsonl --about about.json --model out/public/student.model --out s.html",
			"ledger statement out/public/ledger.jsonl --out out/public/s.yaml", "verify out --format json"), charged: []string{labels}},
		{name: "votes nearest", steps: lines("votes nearest private.csv --public public.csv --ranges ranges.csv --votes 3 --questions 12 --size 150 --silo a --out a.counts" + reading), private: []string{"a.counts"}},
		{name: "label, silos", steps: lines("votes nearest private.csv --public public.csv --votes 3 --questions 12 --out a.counts"+reading,
			"label a.counts --mechanism nearest-questions --epsilon 8 --ledger l.jsonl --out labels.csv --format json"), private: []string{"a.counts", "l.jsonl.id"}, charged: []string{"labels.csv"}},
		{name: "serve quota", steps: lines("serve asked.jsonl --out out --mechanism quota --private private.csv --public public.csv --size 150 --classes a,b,c --queries 6 --votes 3 --epsilon 5000 --label kind --unit who --other-labels other",
			"serve again.jsonl --out out --finish"), charged: []string{labels}},
		{name: "publish sample", steps: lines("publish private.csv --public public.csv --method sample --size 150 --epsilon 8 --out out" + reading), charged: []string{labels}},
		{name: "publish dpsgd", steps: lines("publish private.csv --public public.csv --method dpsgd --size 150 --rows-per-unit 4 --epsilon 8 --out out" + reading)},
		{name: "dpsgd of a pair", steps: lines("dpsgd private.csv --public labelled.csv --size 150 --steps 6 --delta 1e-4 --out out" + reading)},
		{name: "train", steps: lines("train private.csv --public public.csv --teachers 6 --learner softmax --out v.npy" + reading), private: []string{"v.npy", "v.npy.private"}},
		{name: "train in parts", steps: lines("train private.csv --public public.csv --teachers 6 --learner softmax --shard 1/2 --out v.npy" + reading), private: []string{"v.npy.parts", "v.npy.private"}},
	}
	for i := range rows {
		rows[i].files = map[string][]byte{"public.csv": clearPublic(), "ranges.csv": []byte(declared), "wide.csv": []byte(strings.Replace(declared, "-8.0..16.0", "-1.0..100000.0", 1)), "labelled.csv": labelledPublic(), "about.json": []byte(`{"data_set": "made rows"}`),
			"asked.jsonl": []byte(onlineRows), "again.jsonl": []byte(onlineRows + `{"query": 9, "row": [3, -3, "blue"]}`)}
		rows[i].inputs = tables("private.csv", false, true)
	}
	return rows
}

// onlineRows are requests on people.
const onlineRows = `{"query": 1, "row": [0, 0, "red"]}
{"query": 2, "row": [4, -3, "red"]}
{"query": 3, "row": [8, 0, "blue"]}
{"query": 4, "row": [0.1, 0, "red"]}
{"query": 5, "row": [-8, 900, null]}
`

// onTexts are commands on texts in a table and in JSON lines.
func onTexts() (rows []leaving) {
	const reading = " --public public.csv --text note --label kind --unit who --class-names a,b,c --other-labels other --size 150 --epsilon 8 --out out --format json"
	var found [2][]neighbour
	odd := oddTexts()
	for _, name := range append([]string{"ordinary"}, slices.Sorted(maps.Keys(odd))...) {
		table := letters(150, true, odd[name]...)
		found[0] = append(found[0], neighbour{name: name, files: map[string][]byte{"private.csv": table}})
		found[1] = append(found[1], neighbour{name: name, files: map[string][]byte{"private.jsonl": jsonLines(table)}})
	}
	whole := string(jsonLines(letters(150, true)))
	for first, refused := range map[string]bool{
		`{"who":"someone","note":"fever","kind":"a"}`: false, `{"note":"fever","kind":"a"}`: true, `{"note":["fever"],"kind":"a","who":"someone"}`: true,
		`{"note":"fever","kind":"a","who":"someone"`: true} {
		found[1] = append(found[1], neighbour{name: first, files: map[string][]byte{"private.jsonl": []byte(first + "\n" + whole)}, refused: refused})
	}
	for i, file := range []string{"private.csv", "private.jsonl"} {
		for _, method := range []string{"nearest", "dpsgd"} {
			row := leaving{name: "publish " + method + ", " + file, steps: lines("publish " + file + " --method " + method + reading),
				files: map[string][]byte{"public.csv": letters(24, false)}, inputs: found[i]}
			if method == "nearest" {
				row.charged = []string{"out/public/labels.csv"}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// labelledPublic are public rows with labels.
func labelledPublic() []byte {
	text := "length,width,colour,who,kind\n"
	for i, line := range strings.Split(strings.TrimSpace(string(clearPublic())), "\n")[1:] {
		text += fmt.Sprintf("%s,q%d,%c\n", line, i, 'a'+i%3)
	}
	return []byte(text)
}

// onTables are commands on t.csv, which is cut into private and public units.
func onTables() []leaving {
	const own = " --data t.csv --label kind --unit who --delta 1e-4 --other-labels other --out run --format json"
	var rows []leaving
	add := func(name, line string) {
		rows = append(rows, leaving{name: name, steps: lines(line), files: map[string][]byte{"ranges.csv": []byte(declared)}, inputs: tables("t.csv", false, false), slow: strings.Contains(line, "--ranges"),
			units: !strings.Contains(line, "--size"), secret: strings.Contains(line, "pate/")}) // with diagnostics of the teachers
	}
	add("dpsgd", "dpsgd --steps 6 --epsilon 1,4 --seeds 2"+own)
	add("dpsgd, other labels left out", "dpsgd --steps 6"+own+" --other-labels drop")
	add("dpsgd, declared classes", "dpsgd --steps 6"+own+" --class-names a,b,c,d --other-labels d")
	add("dpsgd, declared size", "dpsgd --steps 6 --size 100 --rows-per-unit 3"+own)
	add("dpsgd, cyclic", "dpsgd --steps 6 --size 100 --sampling cyclic --bands 2 --batch 20"+own)
	rows = append(rows, leaving{name: "dpsgd, no header", steps: lines("dpsgd --steps 6 --data t.csv --label 5 --unit 4 --delta 1e-4 --other-labels other --header no --out run --format json"), inputs: tables("t.csv", true, false), units: true})
	for name, flags := range map[string]string{"": "", " privately": " --score private", ", declared size": " --size 100"} {
		add("tune"+name, "dpsgd tune --steps 4 --learning-rate 0.5,1 --law geometric --runs 1.5"+flags+own)
	}
	for _, method := range []string{"pate/gnmax", "pate/confident-gnmax", "pknn/sampled", "pknn/reverse", "dpsgd/linear", "pate/lnmax", "pate/exponential", "pate/permute-and-flip",
		"pate/m-stab", "pate/stable-svt", "pate/m-svec"} {
		add("compare "+method, "compare --teachers 12 --methods "+method+own)
		if slices.Contains([]string{"pate/m-stab", "pate/stable-svt", "pate/m-svec"}, method) { // so little that all is declined, with an exit code of its own
			stable := &rows[len(rows)-1]
			stable.steps, stable.code = lines("compare --teachers 12 --epsilon 0.2 --methods "+method+own), shell.ExitAllDeclined
		}
	}
	add("compare, marginals", "compare --teachers 12 --methods pate/gnmax,pknn/reverse --pool marginals --ranges ranges.csv"+own)
	add("compare, tree", "compare --methods pknn/reverse --pool tree --ranges ranges.csv"+own)
	add("compare, ranges", "compare --teachers 12 --methods pate/gnmax --pool none --ranges ranges.csv"+own)
	add("compare, other labels left out", "compare --methods dpsgd/linear"+own+" --class-names a,b --other-labels drop")
	slices.SortFunc(rows, func(a, b leaving) int { return strings.Compare(a.name, b.name) })
	return rows
}

// onMatrices are commands on matrices and images.
func onMatrices() []leaving {
	const reading = " --classes 2 --other-labels drop --delta 1e-4 --format json --out run"
	public := map[string][]byte{"public.npy": npyFile(20, 3, func(i, j int) float64 { return 3*float64(i%2) + noise(1000+i, j) }),
		"truth.npy": integers(20, func(i int) int64 { return int64(i % 2) })}
	pictured := leaving{name: "dpsgd of images", steps: lines("dpsgd --data images --delta 1e-3 --steps 4 --features hog --no-cache --other-labels other --out run --format json"), inputs: pictures()}
	return []leaving{
		{name: "dpsgd of a matrix", steps: lines("dpsgd --data x.npy --labels y.npy --units u.npy --steps 6 --size 20" + reading), inputs: matrices(true)},
		{name: "dpsgd of matrices", steps: lines("dpsgd x.npy --labels y.npy --units u.npy --public public.npy --public-labels truth.npy --steps 6 --size 30" + reading), inputs: matrices(true), files: public},
		{name: "publish matrices", steps: lines("publish x.npy --labels y.npy --public public.npy --teachers 12 --learner softmax --epsilon 5000 --min-accuracy 0.6" + reading), inputs: matrices(false), files: public, charged: []string{"run/public/labels.csv"}},
		pictured,
	}
}

// onVotes are commands on votes: label, with every flag that a plan or a check has, what
// students learn from its labels, and the release of a cost.
func onVotes() []leaving {
	const ledger = " --delta 1e-4 --ledger l.jsonl --format json"
	known := ""
	for q := range 40 {
		known += fmt.Sprintln(q % 3)
	}
	predictions := strings.Repeat("0.98,0.01,0.01\n0.01,0.98,0.01\n0.01,0.01,0.98\n", 7)[:len("0.98,0.01,0.01\n")*20]
	files := map[string][]byte{"right.csv": []byte(known), "predictions.csv": []byte(predictions), "public.csv": twentyPublic(), "about.json": []byte(`{"date": "2026-03-01"}`)}
	secrets := []string{"l.jsonl.*"}
	var rows []leaving
	add := func(name, flags, out string, inputs []neighbour) {
		code, waived := 0, strings.HasPrefix(name, "--force=") && name != "--force=few"
		if name == "--calibrate-on" {
			code = shell.ExitUsage
		}
		rows = append(rows, leaving{name: "label, " + name, secret: waived, code: code, steps: lines("label v.csv --header no" + ledger + " --out " + out + flags), inputs: inputs, files: files, private: secrets, charged: []string{out}})
	}
	for flag, with := range map[string]string{
		"--pilot no":         "--classes 3 --teachers 60 --yes --pilot no",
		"--min-accuracy":     "--classes 3 --teachers 60 --yes --pilot no --min-accuracy 0.7",
		"--teacher-accuracy": "--classes 3 --teachers 60 --yes --teacher-accuracy 0.95 --correlation 0.2 --confusion 0.5",
		"--class-names":      "--class-names a,b,c --first-class 0 --teachers 60 --yes --pilot no",
		"--teachers":         "--classes 3 --teachers 60 --yes --pilot no --queries 2:",
		"--mode":             "--classes 3 --teachers 60 --yes --pilot no --mode filter",
		"--accountant":       "--classes 3 --teachers 60 --yes --pilot no --mode reserved --accountant rdp",
		"--calibrate-on":     "--classes 3 --teachers 60 --yes --calibrate-on known.csv,right.csv",
		"--force":            "--classes 3 --teachers 60 --yes --pilot no --min-accuracy 0.999999999 --force",
		"--force=few":        "--classes 3 --teachers 60 --yes --pilot no --queries 0:5 --force=few",
		"--force=duplicates": "--classes 3 --teachers 60 --yes --pilot no --force=duplicates",
		"--force=checks":     "--classes 3 --teachers 60 --yes --pilot no --force=checks",
		"gnmax":              "--classes 3 --teachers 60 --mechanism gnmax --sigma 8",
		"confident":          "--classes 3 --teachers 60 --mechanism confident --threshold 20 --sigma1 8 --sigma2 8",
		"interactive":        "--classes 3 --teachers 60 --mechanism interactive --threshold 20 --sigma1 8 --sigma2 8 --predictions predictions.csv",
		"lnmax":              "--classes 3 --teachers 60 --mechanism lnmax",
		"exponential":        "--classes 3 --teachers 60 --mechanism exponential",
		"permute-and-flip":   "--classes 3 --teachers 60 --mechanism permute-and-flip",
		"m-stab":             "--classes 3 --teachers 60 --mechanism m-stab",
		"stable-svt":         "--classes 3 --teachers 60 --mechanism stable-svt --mode reserved",
		"m-svec":             "--classes 3 --teachers 60 --mechanism m-svec",
	} {
		add(flag, " --epsilon 60 "+with, "labels.csv", ballots())
	}
	add("--counts", " --epsilon 60 --counts --teachers 60 --yes --pilot no", "labels.csv", counted())
	add("JSON lines", " --epsilon 9 --classes 3 --teachers 60 --mechanism gnmax --sigma 20", "labels.jsonl", ballots())
	add("NPY", " --epsilon 9 --classes 3 --teachers 60 --mechanism gnmax --sigma 20", "labels.npy", ballots())
	rows = append(rows,
		leaving{name: "label, a plan by a pilot", steps: lines("label v.csv --header no --classes 3 --teachers 60 --yes --epsilon 60 --out labels.csv" + ledger), inputs: ballots(),
			private: []string{"l.jsonl.id", "l.jsonl.head"}, charged: []string{"labels.csv", "l.jsonl.pilot-1.json"}},
		leaving{name: "label, --probabilities", steps: lines("label p/*.csv --probabilities --classes 3 --teachers 30 --mechanism gnmax --sigma 20 --epsilon 9 --out labels.csv" + ledger), inputs: probabilities(), private: secrets, charged: []string{"labels.csv"}},
		leaving{name: "analyze release", steps: lines("votes analyze release v.csv --header no --classes 3 --teachers 60 --mechanism gnmax --sigma 20 --epsilon 9 --out cost.json" + ledger), inputs: ballots(), private: secrets, charged: []string{"cost.json"}},
		leaving{name: "student", steps: lines("label v.csv --header no --classes 3 --teachers 60 --mechanism gnmax --sigma 1 --epsilon 5000 --out labels.csv"+ledger,
			"student public.csv --header yes --labels labels.csv --ledger l.jsonl --class-names a,b,c --out student.model --export student.json --format json",
			"predict student.model public.csv --public-rows --out predicted.csv --format json",
			"ledger statement l.jsonl --out statement.html", "ledger statement l.jsonl --about about.json --out entry.yaml"), inputs: ballots(), files: files, private: secrets, charged: []string{"labels.csv"}})
	slices.SortFunc(rows, func(a, b leaving) int { return strings.Compare(a.name, b.name) })
	return rows
}

// twentyPublic are the public rows that ballots are about.
func twentyPublic() []byte {
	rnd := rand.New(rand.NewPCG(1, 20))
	text := "length,width\n"
	for q := range 20 {
		text += fmt.Sprintf("%.2f,%.2f\n", 4*float64(q%3)+rnd.Float64(), rnd.Float64()-3*float64(q%3%2))
	}
	return []byte(text)
}

// predicting are questions to a model about the file that it was trained on: about its public
// rows, and by doors through which private ones come.
func predicting() []leaving {
	letters := func(file string, apart bool) (found []neighbour) {
		for _, n := range tables(file, false, apart) {
			if !n.refused {
				n.files = map[string][]byte{file: lettersOf(n.files[file])}
				found = append(found, n)
			}
		}
		return found
	}
	var rows []leaving
	add := func(name string, inputs []neighbour, files map[string][]byte, secret bool, code int, train, ask string) {
		rows = append(rows, leaving{name: "predict, " + name, inputs: inputs, files: files, secret: secret, code: code,
			steps: lines("dpsgd --steps 4 --delta 1e-4 --other-labels other --size 50 --format json --out run "+train, "predict run/public/models/epsilon-2-run-0.model --format json "+ask)})
	}
	public := map[string][]byte{"labelled.csv": lettersOf(labelledPublic()), "public.npy": npyFile(20, 3, func(i, j int) float64 { return 3*float64(i%2) + noise(1000+i, j) }),
		"truth.npy": integers(20, func(i int) int64 { return int64(i % 2) })}
	const (
		reading = "--label kind --unit who"
		refused = shell.ExitInvalidInput
	)
	add("rows that scored", tables("t.csv", false, false), nil, false, 0, "--data t.csv "+reading, "t.csv --scored "+reading)
	add("another split of numbers", tables("t.csv", false, false), nil, true, 0, "--data t.csv "+reading, "t.csv "+reading)
	add("another split of categories", letters("t.csv", false), nil, false, refused, "--data t.csv "+reading, "t.csv --scored --split development "+reading)
	add("private file of a pair", letters("private.csv", true), public, false, refused, "private.csv --public labelled.csv "+reading, "private.csv --scored "+reading)
	add("matrix without its units", matrices(true), nil, false, refused, "--data x.npy --labels y.npy --units u.npy", "x.npy --labels y.npy")
	add("private matrix of a pair", matrices(false), public, false, refused, "x.npy --labels y.npy --public public.npy --public-labels truth.npy", "x.npy --labels y.npy --scored")
	add("images that scored", pictures(), nil, false, 0, "--data images --no-cache --features hog", "images")
	add("images of another split", pictures(), nil, true, 0, "--data images --no-cache --features hog", "images --split development")
	return rows
}

// lettersOf makes categories of all columns of a table of people but names and classes.
func lettersOf(table []byte) []byte {
	var out strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(string(table)), "\n") {
		cells := strings.Split(line, ",")
		if i > 0 && len(cells) == 5 {
			for j, middle := range []float64{4, -1.5} {
				if v, err := strconv.ParseFloat(cells[j], 64); err == nil {
					cells[j] = map[bool]string{true: "high", false: "low"}[v > middle]
				}
			}
		}
		out.WriteString(strings.Join(cells, ",") + "\n")
	}
	return []byte(out.String())
}
