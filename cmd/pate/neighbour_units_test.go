package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// oddUnit is a private person in place of an ordinary one.
type oddUnit struct {
	name    string
	rows    []string // of a table; without any the person is not there
	refused bool     // the file cannot be read
}

// ordinaryRow is what odd units take the place of.
const ordinaryRow = "1.00,2.00,red,WHO,a"

// oddUnits are persons of the table of people. WHO is the name of the person.
func oddUnits() []oddUnit {
	many := make([]string, 400)
	for i := range many {
		many[i] = fmt.Sprintf("%d,-1,red,WHO,b", i%9)
	}
	one := func(name, row string) oddUnit { return oddUnit{name: name, rows: []string{row}} }
	width := func(name, cell string) oddUnit { return one(name, "1.00,"+cell+",red,WHO,a") }
	colour := func(name, cell string) oddUnit { return one(name, "1.00,2.00,"+cell+",WHO,a") }
	return []oddUnit{
		{name: "removed"},
		one("new class", "1.00,2.00,red,WHO,rare"),
		one("no class", "1.00,2.00,red,WHO,"),
		one("another class", "1.00,2.00,red,WHO,b"),
		one("hostile class", `1.00,2.00,red,WHO,"=cmd|' /C calc'!A0, <b>"`),
		colour("new category", "ultraviolet"),
		width("huge", "-1e308"),
		width("beyond float64", "1e400"),
		width("infinite", "-inf"),
		width("not a number", "NaN"),
		width("subnormal", "5e-324"),
		width("negative zero", "-0"),
		width("hexadecimal", "0x1p-3"),
		width("words", "word"),
		width("date", "2024-02-29"),
		width("decimal comma", `"1,5"`),
		width("thousands", "1_234"),
		width("unit of measure", "12 %"),
		width("truth value", "true"),
		width("many digits", strings.Repeat("7", 5000)),
		width("digits of another script", "١٢"),
		width("blanks", "  1.00  "),
		width("missing", "NA"),
		one("empty cells", ",,,WHO,a"),
		colour("long cell", strings.Repeat("x", 200_000)),
		colour("right to left", "\u202eder"),
		colour("terminal escape", "\x1b[31mred\a"),
		colour("NUL", "re\x00d"),
		colour("bad UTF-8", "re\xff\xfed"),
		one("byte order mark", "\ufeff1.00,2.00,red,WHO,a"),
		one("carriage return", "1.00,2.00,red,WHO,a\r"),
		colour("newline", "\"re\nd\""),
		colour("quotes", `"re""d"`),
		one("separators", `"1;2;3","4	5",";",WHO,a`),
		{name: "400 rows", rows: many},
		one("long name", "1.00,2.00,red,WHO"+strings.Repeat("o", 10_000)+",a"),
		one("like the header", "length,width,colour,WHO,kind"),
		one("comment", "#1.00,2.00,red,WHO,a"),
		{name: "no name", rows: []string{"1.00,2.00,red,,a"}, refused: true},
		{name: "ragged", rows: []string{"1.00,2.00,red,WHO,a,b,c"}, refused: true},
		{name: "open quote", rows: []string{`1.00,2.00,"red,WHO,a`}, refused: true},
	}
}

// of returns the rows of the person, under a name that is private where a table is cut in two and
// among those that score where its private rows are cut again; or, if apart, under one that
// would be public, had the table no public rows beside it.
func (u oddUnit) of(apart bool) []string {
	rows := slices.Clone(u.rows)
	for i, row := range rows {
		_, tail, _ := strings.Cut(row, "WHO")
		tail, _, _ = strings.Cut(tail, ",")
		for n := 0; ; n++ {
			name := fmt.Sprintf("p%d.", n)
			if place("literature", name+tail) < 0.7 != apart && (apart || place("development", name+tail) >= 0.7) {
				rows[i] = strings.ReplaceAll(row, "WHO", name)
				break
			}
		}
	}
	return rows
}

// place returns where the split of a table puts a unit: below 0.7 it is private.
func place(split, unit string) float64 {
	mac := hmac.New(sha256.New, []byte("pate dataset split 1 "+split))
	mac.Write([]byte(unit))
	return float64(binary.BigEndian.Uint64(mac.Sum(nil))>>11) / (1 << 53)
}

// people is a table of three classes, without a header if bare, with further rows on top,
// one in the middle.
func people(bare bool, further ...string) []byte {
	rnd := rand.New(rand.NewPCG(5, 6))
	var rows []string
	for i := range 150 {
		class := i % 3
		rows = append(rows, fmt.Sprintf("%.2f,%.2f,%s,who%d,%c", 4*float64(class)+rnd.NormFloat64(), rnd.NormFloat64()-3*float64(class%2),
			[]string{"red", "blue"}[rnd.IntN(2)], i, 'a'+class))
	}
	for i, row := range further {
		rows = slices.Insert(rows, i*70%len(rows), row)
	}
	if !bare {
		rows = slices.Insert(rows, 0, "length,width,colour,who,kind")
	}
	return []byte(strings.Join(rows, "\n") + "\n")
}

// declared are ranges of the columns of people.
const declared = "length,-8.0..16.0\nwidth,-8.0..8.0\ncolour,red,blue\n"

// units are the rows of odd persons of this name that a file can have.
func units(name string) map[string][]string {
	found := map[string][]string{}
	for _, u := range oddUnits() {
		if u.refused || len(u.rows) == 0 {
			continue
		}
		for _, row := range u.rows {
			found[u.name] = append(found[u.name], strings.ReplaceAll(row, "WHO", name))
		}
	}
	return found
}

// tables are files of people: the first has the ordinary person, and each other an odd one. A
// table that is apart has no public rows.
func tables(file string, bare, apart bool) (found []neighbour) {
	ordinary := oddUnit{rows: []string{ordinaryRow}}
	for _, u := range append([]oddUnit{ordinary}, oddUnits()...) {
		found = append(found, neighbour{name: u.name, files: map[string][]byte{file: people(bare, u.of(apart)...)}, refused: u.refused, removed: len(u.rows) == 0})
	}
	return found
}

// Who is in the data is public, and who of them carries a label that is no class is not: the
// number of units, and all that follows from it, are the same whoever does.
func TestNobodysLabelMovesTheNumberOfUnits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, private, public := filepath.Join(dir, "t.csv"), filepath.Join(dir, "private.csv"), filepath.Join(dir, "public.csv")
	row := func(label string) string { return oddUnit{rows: []string{"1.00,2.00,red,WHO," + label}}.of(false)[0] }
	write := func(path, text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	write(public, string(people(false)))
	// Of one unit all rows are left out, of another one of two rows.
	of := func(label string) string {
		return string(people(false, row(label), row(label), "2.00,1.00,red,who3,"+label, "2.00,1.00,red,who3,b"))
	}
	x, y := filepath.Join(dir, "x.npy"), filepath.Join(dir, "y.txt")
	u := filepath.Join(dir, "u.npy")
	write(x, string(npyFile(200, 3, noise)))
	write(u, string(npyFile(200, 1, func(i, _ int) float64 { return float64(i) })))
	shared := []string{"--label", "kind", "--unit", "who", "--class-names", "a,b,c", "--other-labels", "drop", "--delta", "1e-4", "--seed", "1", "--format", "json"}
	one := append([]string{"--data", data}, shared...)
	for name, args := range map[string][]string{
		"dpsgd":   append([]string{"dpsgd", "--steps", "4"}, one...),
		"quick":   append([]string{"dpsgd", "--steps", "4", "--quick", "--batch", "2", "--delta", "1e-3"}, one...),
		"pair":    append([]string{"dpsgd", private, "--public", public, "--steps", "4"}, shared...),
		"rows":    append([]string{"dpsgd", "--steps", "4", "--rows-per-unit", "2"}, one...),
		"compare": append([]string{"compare", "--methods", "dpsgd/linear,pate/gnmax"}, one...),
		"drawn":   append([]string{"compare", "--methods", "pate/gnmax", "--pool", "none", "--ranges", filepath.Join(dir, "ranges.csv")}, one...),
		"matrix":  {"dpsgd", "--data", x, "--labels", y, "--units", u, "--steps", "4", "--class-names", "a,b", "--other-labels", "drop", "--delta", "1e-4", "--seed", "1", "--format", "json"},
		"tune":    append([]string{"dpsgd", "tune", "--steps", "4", "--learning-rate", "0.5,1", "--law", "geometric", "--runs", "1.5", "--score", "private"}, one...),
	} {
		t.Run(name, func(t *testing.T) {
			write(filepath.Join(dir, "ranges.csv"), declared)
			on := func(label string) map[string]any {
				write(data, of(label))
				write(private, of(label))
				write(y, strings.Repeat("a\nb\n", 50)+strings.Repeat(label+"\n", 50)+strings.Repeat("b\n", 50))
				out := filepath.Join(t.TempDir(), "run")
				text, errs := typed(t, shell.ExitDone, append(slices.Clone(args), "--out", out)...)
				var r map[string]any
				require.NoError(t, json.Unmarshal([]byte(text), &r))
				require.NotContains(t, strings.ToLower(errs), "no class")
				rows, _ := r["rows"].([]any)
				numbers := map[string]any{"private": r["private"], "teachers": r["teachers"], "noise": r["noise_multiplier"]}
				for _, row := range rows {
					for _, key := range []string{"sigma", "noise_multiplier", "sampling_probability", "steps", "clip_norm", "account"} {
						list, _ := numbers[key].([]any)
						numbers[key] = append(list, row.(map[string]any)[key])
					}
				}
				return numbers
			}
			require.Equal(t, on("a"), on("none of the classes"))
		})
	}
}
