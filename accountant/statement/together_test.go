package statement

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
)

func source(name string, file []byte) Source {
	return Source{Name: name, Ledger: bytes.NewReader(file)}
}

func reserved(unit string) ledger.Config {
	return ledger.Config{Unit: unit, Relation: accountant.AddRemove, Epsilon: 4, Delta: 1e-5, Noise: ledger.SecretNoise}
}

func TestLedgersTogether(t *testing.T) {
	events := []accountant.Event{accountant.GNMax{Sigma: 5, Discrete: true}, accountant.GNMax{Sigma: 7, Discrete: true}, accountant.GNMax{Sigma: 6, Discrete: true}}
	filter := reserved("patient")
	filter.Mode, filter.Epsilon = ledger.Filter, 3
	var fixed []Source
	sum := 0.0
	account := testkit.Must(accountant.NewRDP(accountant.RDPConfig{Relation: accountant.AddRemove}))
	for i, e := range events {
		file := ledgerFile(t, reserved("patient"), e)
		one := testkit.Must(FromReader("one", bytes.NewReader(file)))
		sum += one.epsilon()
		fixed = append(fixed, source(fmt.Sprintf("model-%d.jsonl", i), file))
		require.NoError(t, account.Compose(e, 1))
	}
	filterFile := ledgerFile(t, filter, events[0])
	s := testkit.Must(New(Options{}, append(fixed, source("labels.jsonl", filterFile))...))
	bound := testkit.Must(account.Epsilon(context.Background(), 3e-5))
	require.InEpsilon(t, bound.Upper+3, s.epsilon(), 1e-12)
	require.GreaterOrEqual(t, s.epsilon(), bound.Upper+3)
	require.Less(t, s.epsilon(), sum+3)
	require.Equal(t, 4e-5, s.Claims[0].Delta)
	var b strings.Builder
	require.NoError(t, s.WriteMarkdown(&b))
	page := b.String()
	require.Contains(t, page, "| all together | 15 | "+up(s.epsilon())+" | 4e-05 |")
	require.Contains(t, page, "| labels.jsonl | 3 | 3 | 1e-05 |")
	require.Contains(t, page, "divergences is smaller, so it is the total")
	require.Equal(t, 4, strings.Count(page, "\npate verify "))
	require.Contains(t, page, "at most "+percent(Right(s.epsilon(), 4e-5)))

	other := filter
	other.Epsilon = 1.5
	s = testkit.Must(New(Options{}, source("a", filterFile), source("b", ledgerFile(t, other, events[1]))))
	require.Equal(t, 4.5, s.epsilon())
	require.Equal(t, 2e-5, s.Claims[0].Delta)
}

func TestWhatDoesNotGoTogether(t *testing.T) {
	e := accountant.GNMax{Sigma: 50}
	replace := reserved("patient")
	replace.Relation = accountant.ReplaceOne
	file := ledgerFile(t, reserved("patient"), e)
	for why, other := range map[string][]byte{
		"the same ledger, or copies": file,
		"the first ledger protects one patient, but the second protects one visit": ledgerFile(t, reserved("visit"), e),
		"the first ledger has relation add_remove, but the second has":             ledgerFile(t, replace, e),
	} {
		require.ErrorContains(t, testkit.Err(New(Options{}, source("a", file), source("b", other))), why)
	}
	require.Error(t, testkit.Err(New(Options{})))
	seeded := reserved("patient")
	seeded.Noise = ledger.SeededNoise
	s := testkit.Must(New(Options{}, source("a", file), source("b", ledgerFile(t, seeded, e))))
	require.False(t, *s.Release)
	require.Contains(t, testkit.Must(s.sections())[5].List[0], "from a seed")
	waived := reserved("patient")
	waived.Waived = []string{"duplicates"}
	s = testkit.Must(New(Options{}, source("a", file), source("b", ledgerFile(t, waived, e))))
	require.False(t, *s.Release)
	text, alarm := s.verdict()
	require.True(t, alarm)
	require.Equal(t, "NOT FOR RELEASE: refusals were waived for b (duplicates), so the numbers below may be wrong.", text)
	unknown := reserved("patient")
	unknown.Noise = ""
	s = testkit.Must(New(Options{}, source("a", file), source("b", ledgerFile(t, unknown, e))))
	require.Nil(t, s.Release)
}

func TestSumsAreRoundedUp(t *testing.T) {
	require.Equal(t, 4.5, sumUp([]float64{3, 1.5}))
	require.Zero(t, sumUp(nil))
	require.Equal(t, math.Nextafter(1, 2), sumUp([]float64{1, 1e-300}))
	require.True(t, math.IsInf(sumUp([]float64{1, math.Inf(1)}), 1))
}

func TestPagesAreChecked(t *testing.T) {
	file := ledgerFile(t, reserved("patient"), accountant.GNMax{Sigma: 50})
	more := reserved("patient")
	more.Mode = ledger.Filter
	other := ledgerFile(t, more, accountant.GNMax{Sigma: 50})
	of := func(file []byte) func() (io.ReadCloser, error) {
		return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(file)), nil }
	}
	about := testkit.Must(ParseAbout([]byte(`{"data_set": "visits <!-- ", "date": "2026-03-01"}`)))
	compared := func() bool { return true }
	s := testkit.Must(New(Options{About: &about}, Source{Name: "a.jsonl", Ledger: bytes.NewReader(file), Compared: compared}))
	for name, write := range map[string]func(*Statement, io.Writer) error{
		"html": (*Statement).WriteHTML, "md": (*Statement).WriteMarkdown, "json": (*Statement).WriteJSON,
	} {
		var b bytes.Buffer
		require.NoError(t, write(s, &b))
		page := b.Bytes()
		found, err := Check(bytes.NewReader(page), of(file))
		require.NoError(t, err, name)
		require.True(t, found.Rewritten, name)
		require.EqualValues(t, s.Head.Lines, found.Lines)
		longer := append(bytes.Clone(file), []byte("what came later\n")...)
		testkit.Must(Check(bytes.NewReader(page), of(longer))) // lines after the page are not asked for
		require.ErrorIs(t, testkit.Err(Check(bytes.NewReader(page), of(other))), ErrPage, name)
		for i := 0; i < len(page); i += 97 {
			changed := bytes.Clone(page)
			changed[i] ^= 1
			_, err = Check(bytes.NewReader(changed), of(file))
			require.ErrorIs(t, err, ErrPage, "%s: byte %d", name, i)
		}
		forged := seal(bytes.ReplaceAll(bytes.Clone(page), []byte("visits"), []byte("babies")))
		testkit.Must(Check(bytes.NewReader(forged), of(file))) // what an About says is not in the ledger
		forged = seal(bytes.ReplaceAll(bytes.Clone(page), []byte("Protect"), []byte("protect")))
		forged = seal(bytes.ReplaceAll(forged, []byte("secret"), []byte("public")))
		_, err = Check(bytes.NewReader(forged), of(file))
		require.ErrorContains(t, err, "differs from the statement that this program writes", name)
		elsewhere := bytes.ReplaceAll(page, []byte(`"version":"`+s.Program.Version), []byte(`"version":"v9`))
		elsewhere = bytes.ReplaceAll(elsewhere, []byte(`"version": "`+s.Program.Version), []byte(`"version": "v9`))
		found, err = Check(bytes.NewReader(seal(bytes.Clone(elsewhere))), of(file))
		require.NoError(t, err, name)
		require.Equal(t, name == "json", found.Rewritten, "the page names its program, JSON in the record alone")
		for _, field := range []string{`"delta":0.00001,"digest"`, `"delta": 0.00001,`} {
			elsewhere = bytes.ReplaceAll(elsewhere, []byte(field), []byte(strings.Replace(field, "0.00001", "0.00002", 1)))
		}
		require.ErrorIs(t, testkit.Err(Check(bytes.NewReader(seal(elsewhere)), of(file))), ErrPage, name)
	}
	for _, page := range []string{"", "{}", "<!-- {", `"digest":"` + strings.Repeat("0", 64) + `"`} {
		require.ErrorIs(t, testkit.Err(Check(strings.NewReader(page), of(file))), ErrPage, page)
	}
}

func TestAbout(t *testing.T) {
	about := testkit.Must(ParseAbout([]byte("{\"schema\":\"pate.about/1\",\"controller\":\"A\\u001b[31m\\u202e\\nB\",\"contact\":\" x \"}")))
	require.Equal(t, "A�[31m��B", about.Controller)
	require.Equal(t, "x", about.Contact)
	for text, why := range map[string]string{
		`{"owner":"x"}`:                "unknown field \"owner\"",
		`{"date":"1.3.2026"}`:          "is not a day",
		`{"purpose":3}`:                "purpose",
		`{"access":"open"}`:            "not one of non-interactive",
		`{} {}`:                        "text after the object",
		`{"schema":"pate.about/2"}`:    "this version reads",
		`{"purpose":"` + "\xff" + `"}`: "UTF-8",
		`{"contact":"` + strings.Repeat("x", 2001) + `"}`: "more than 2000",
		strings.Repeat(" ", 1<<17):                        "longer than",
		"":                                                "EOF",
	} {
		require.ErrorContains(t, testkit.Err(ParseAbout([]byte(text))), why, "%.40q", text)
	}
}

func FuzzParseAbout(f *testing.F) {
	f.Add([]byte(`{"data_set":"a","date":"2026-03-01"}`))
	f.Add([]byte(`{"controller":"\u202e"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		about, err := ParseAbout(text)
		if err != nil {
			return
		}
		for _, field := range about.fields() {
			require.Equal(t, Plain(*field.value), *field.value)
		}
	})
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(`<!-- {"schema":"pate.statement-record/1","ledgers":[{"head":{"lines":1,"hash":"00"}}],"digest":"` + strings.Repeat("0", 64) + `"} -->`))
	f.Add([]byte(`{"record":{"digest":"` + strings.Repeat("a", 64) + `"}}`))
	f.Fuzz(func(t *testing.T, page []byte) {
		_, err := Check(bytes.NewReader(seal(bytes.Clone(page))), func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("{}\n")), nil })
		require.Error(t, err)
	})
}

func TestAbsurdClaims(t *testing.T) {
	require.Empty(t, Warning(20))
	require.Contains(t, Warning(138.56), "odds of 1 to 1 may become more than 10^60 to 1")
	require.NotEmpty(t, Warning(math.Inf(1)))
	require.Empty(t, Warning(math.NaN()))
}

func TestPartsOfAClaimAreRoundedUp(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 2: "2", 0.1: "0.1", 1.000004e-5: "1.0001e-05", 1.23454: "1.2346", 9.99999: "10", math.Inf(1): "+Inf"} {
		require.Equal(t, want, most(x), "%v", x)
	}
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(1e-300, 1e300).Draw(t, "x")
		shown := testkit.Must(strconv.ParseFloat(most(x), 64))
		require.GreaterOrEqual(t, shown, x)
		require.LessOrEqual(t, shown, x*(1+1.1e-4))
	})
}

func ledgerFile(t *testing.T, cfg ledger.Config, e accountant.Event) []byte {
	path := filepath.Join(t.TempDir(), "l")
	l := testkit.Must(ledger.Open(t.Context(), path, cfg, ledger.VerifyOptions{}))
	testkit.Must(l.Reserve(e))
	require.NoError(t, l.Close())
	return testkit.Must(os.ReadFile(path))
}

func markdown(t *testing.T, name string, file []byte) string {
	s := testkit.Must(FromReader(name, bytes.NewReader(file)))
	var b strings.Builder
	require.NoError(t, s.WriteMarkdown(&b))
	return b.String()
}

func TestDeltaAndBudgetAreExact(t *testing.T) {
	page := markdown(t, "l", ledgerFile(t, ledger.Config{
		Unit: "record", Relation: accountant.AddRemove, Epsilon: 1.23454, Delta: 1.00004e-5, Mode: ledger.Filter,
	}, accountant.GNMax{Sigma: 400}))
	require.Contains(t, page, "ε = 1.2346 at δ = 1.00004e-05 for one record")
	require.Contains(t, page, "The budget was ε = 1.23454 at δ = 1.00004e-05.")
	require.Contains(t, page, "| 1.00004e-06 | ")
	require.Contains(t, page, "| 1.00004e-08 | ")
}

func TestWordsOfOthersAreMadePlain(t *testing.T) {
	file := ledgerFile(t, ledger.Config{
		Unit: "rec\x1b[31mRED [click](http://evil) ![x](y) \u202e*b*", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5, Data: "line1\nline2",
	}, accountant.GNSS{Beta: 0.01, Sigma: 100, Margin: 2})
	page := markdown(t, "it's; rm -rf x", file)
	require.NotContains(t, page, "\x1b")
	require.NotContains(t, page, "\u202e")
	require.NotContains(t, page, " [click](")
	require.NotContains(t, page, "![x]")
	require.Contains(t, page, `\[click\]`)
	require.NotContains(t, page, "*b*")
	require.Contains(t, page, `pate verify 'it'\''s; rm -rf x' --head 2:`)
	require.Contains(t, page, "| noisy value of smooth sensitivity | Gaussian, σ 100 × sensitivity, β 0.01, margin 2 σ | 1 |")
	s := testkit.Must(FromReader("-x", bytes.NewReader(file)))
	var b strings.Builder
	require.NoError(t, s.WriteHTML(&b))
	require.NotContains(t, b.String(), "\x1b")
	require.Contains(t, b.String(), "pate verify ./-x --head")
}

func TestAStatementOfATornHeader(t *testing.T) {
	file := ledgerFile(t, ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5}, accountant.GNMax{Sigma: 400})
	page := markdown(t, "l", file[:bytes.IndexByte(file, '\n')])
	require.Contains(t, page, "pate verify l\n")
	require.NotContains(t, page, "--head")
}

func TestClaimsAreRoundedUp(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 2: "2", 1.2: "1.2", 1.99999999: "2", math.Nextafter(2, 3): "2.0001", 0.70641: "0.7065", 100: "100",
		0.01234561: "0.01235", 3.00001e-9: "0.000000003001", math.Inf(1): "none known",
	} {
		require.Equal(t, want, up(x), "%v", x)
	}
	require.Equal(t, "88.08 %", percent(0.88079708))
	require.Equal(t, "50 %", percent(0.5))
	require.Equal(t, "50.01 %", percent(0.500000001))
	require.Equal(t, "100 %", percent(1))
}

// Votes that cost (2, 1e-5): one point of the curve would say 88 %.
func TestOddsComeFromTheWholeCurve(t *testing.T) {
	t.Parallel()
	e := accountant.Repeated{Event: accountant.GNMax{Sigma: 49.9, Discrete: true}, Count: 312}
	for _, mode := range []ledger.Mode{ledger.Reserved, ledger.Filter} {
		path := filepath.Join(t.TempDir(), "run.jsonl")
		cfg := ledger.Config{Unit: "patient", Relation: accountant.AddRemove, Epsilon: 2.2, Delta: 1e-5, Mode: mode, Accountant: accountant.ByAuto}
		l := testkit.Must(ledger.Open(t.Context(), path, cfg, ledger.VerifyOptions{}))
		require.NoError(t, l.Commit(testkit.Must(l.Reserve(e)), []byte("labels")))
		require.NoError(t, l.Close())
		f := testkit.Must(os.Open(path))
		s := testkit.Must(FromReader("run.jsonl", f))
		require.NoError(t, f.Close())
		if mode == ledger.Filter {
			assert.False(t, s.Attacker.Curve, "of a filter only the budget is known")
			assert.Greater(t, s.Attacker.Right, 0.85)
			continue
		}
		assert.InDelta(t, 2, s.epsilon(), 0.01)
		assert.True(t, s.Attacker.Curve)
		assert.LessOrEqual(t, s.Attacker.Right, 0.6)
		assert.Greater(t, s.Attacker.Right, 0.59)
		require.Equal(t, 0.01, s.Attacker.Rates[1].FPR)
		assert.LessOrEqual(t, s.Attacker.Rates[1].TPR, 0.035)
		assert.Contains(t, testkit.Must(s.sections())[2].Text[0], "at most 599 are right")
		assert.Contains(t, testkit.Must(s.sections())[3].After[0], "privacy loss distributions")
	}
}
