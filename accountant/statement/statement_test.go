package statement_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/internal/testkit"
)

var config = ledger.Config{Unit: "<record> & co", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5, Noise: ledger.SecretNoise}

func state(t *testing.T, cfg ledger.Config, use func(l *ledger.Ledger)) *statement.Statement {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	l := testkit.Must(ledger.Open(t.Context(), path, cfg, ledger.VerifyOptions{}))
	use(l)
	require.NoError(t, l.Close())
	f := testkit.Must(os.Open(path))
	defer f.Close()
	return testkit.Must(statement.FromReader("run.jsonl", f))
}

func charge(t *testing.T, commit bool, events ...accountant.Event) func(l *ledger.Ledger) {
	return func(l *ledger.Ledger) {
		reservations := testkit.Must(l.ReserveBatch(events))
		if commit {
			require.NoError(t, l.Commit(reservations[0], []byte("labels")))
		}
	}
}

var (
	votes = accountant.Composed{Events: []accountant.Event{
		accountant.Repeated{Event: accountant.Threshold{Sigma: 150}, Count: 100},
		accountant.Repeated{Event: accountant.GNMax{Sigma: 60, Discrete: true}, Count: 50},
	}}
	sgd = accountant.Repeated{Count: 200, Event: accountant.PoissonSampled{Probability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 2}}}
)

func markdown(t *testing.T, s *statement.Statement) string {
	var b strings.Builder
	require.NoError(t, s.WriteMarkdown(&b))
	return b.String()
}

func TestPATEAndDPSGDTakeTheSameWay(t *testing.T) {
	s := state(t, config, charge(t, true, votes, sgd))
	account := testkit.Must(accountant.NewRDP(accountant.RDPConfig{Relation: accountant.AddRemove}))
	require.NoError(t, account.Compose(accountant.Composed{Events: []accountant.Event{votes, sgd}}, 1))
	require.Len(t, s.Claims, 3)
	for _, c := range s.Claims {
		b := testkit.Must(account.Epsilon(context.Background(), c.Delta))
		require.InEpsilon(t, b.Upper, float64(*c.Epsilon), 1e-9)
		require.GreaterOrEqual(t, float64(*c.Epsilon), b.Upper*(1-1e-12))
	}
	require.Equal(t, []accountant.Part{
		{Mechanism: "threshold test of the top vote", Parameters: "Gaussian, σ 150", Count: 100},
		{Mechanism: "noisy argmax of votes", Parameters: "discrete Gaussian, σ 60", Count: 50},
		{Mechanism: "noisy sum, on a Poisson sample", Parameters: "Gaussian, 2 × sensitivity, q 0.01", Count: 200},
	}, s.Charged)
	text := markdown(t, s)
	order := 0
	for i, title := range []string{"What is protected", "How strongly", "What that means", "Mechanisms and accountant",
		"What was charged, and what was not", "What has to be trusted", "How to verify"} {
		at := strings.Index(text, "\n## "+string(rune('1'+i))+". "+title+"\n")
		require.Greater(t, at, order, title)
		order = at
	}
	require.Contains(t, text, "2 reservations, each with its worst case over all data, before its mechanism ran. 1 of them led")
	const known = "a group of two: twice ε, and (1 + e^ε) times δ"
	require.Contains(t, text, known, "where the number of records is known")
	s.Relation = accountant.ReplaceOne
	require.NotContains(t, markdown(t, s), known)
}

func TestWhatIsSaidOfEachLedger(t *testing.T) {
	filter, seeded, unknown, replace, pure, waived := config, config, config, config, config, config
	waived.Waived = []string{"calibration", "duplicates"}
	both := waived
	both.Noise = ""
	filter.Mode = ledger.Filter
	seeded.Noise, unknown.Noise = ledger.SeededNoise, ""
	replace.Relation, replace.Unit = accountant.ReplaceOne, "patient"
	pure.Mode, pure.Orders = ledger.Filter, []float64{8, 32, math.Inf(1)}
	for name, c := range map[string]struct {
		cfg        ledger.Config
		use        func(*ledger.Ledger)
		epsilon    float64
		releasable any
		says       []string
	}{
		"nothing yet": {config, func(*ledger.Ledger) {}, 0, true, []string{"ε = 0 at", "Nothing has been charged", "0 reservations"}},
		"not sealed":  {config, charge(t, false, votes), 0.7, true, []string{"More charges are possible, up to ε = 2", "1 reservation,"}},
		"sealed":      {config, charge(t, true, votes), 0.7, true, []string{"All charges were fixed before", "at the best order"}},
		"filter":      {filter, charge(t, true, votes), 2, true, []string{"The guarantee is the whole budget", "as a filter at order 10.2"}},
		"pure":        {pure, charge(t, true, votes), 2, true, []string{"as a filter at order 8, 32, infinity", "δ split among"}},
		"seeded":      {seeded, charge(t, true, votes), 0.7, false, []string{"**NOT FOR RELEASE", "from a seed"}},
		"waived":      {waived, charge(t, true, votes), 0.7, false, []string{"**NOT FOR RELEASE: refusals were waived for run.jsonl (calibration, duplicates)", "noise came from a secret key"}},
		"both":        {both, charge(t, true, votes), 0.7, false, []string{"refusals were waived", "Randomness: the ledger does not record"}},
		"unknown":     {unknown, charge(t, true, votes), 0.7, nil, []string{"**The ledger does not record", "Release nothing"}},
		"replace":     {replace, charge(t, true, votes), 0.7, true, []string{"differ only in the data of one patient", "which of two values one patient has"}},
	} {
		s := state(t, c.cfg, c.use)
		require.InDelta(t, c.epsilon, float64(*s.Claims[0].Epsilon), 0.1, name)
		text := markdown(t, s)
		for _, says := range c.says {
			require.Contains(t, text, says, name)
		}
		var b bytes.Buffer
		require.NoError(t, s.WriteJSON(&b))
		var back struct {
			Schema     string
			Releasable any
			Claims     []statement.Claim
			Events     accountant.Schedule
		}
		require.NoError(t, json.Unmarshal(b.Bytes(), &back), name)
		require.Equal(t, "pate.statement/1", back.Schema)
		require.Equal(t, c.releasable, back.Releasable, name)
		require.Equal(t, float64(*s.Claims[2].Epsilon), float64(*back.Claims[2].Epsilon))
	}
}

func TestThePageIsWholeAndEscaped(t *testing.T) {
	cfg := config
	cfg.Data = "</code><script>alert(1)</script>|*"
	s := state(t, cfg, charge(t, true, votes))
	var b bytes.Buffer
	require.NoError(t, s.WriteHTML(&b))
	page := b.String()
	for _, loads := range []string{"src=", "href=", "url(", "<script", "<link", "@import", "<record>"} {
		require.NotContains(t, page, loads)
	}
	require.Contains(t, page, "&lt;record&gt; &amp; co")
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
	}
	text := markdown(t, s)
	require.NotContains(t, text, "<script")
	require.NotContains(t, text, "<record")
}

func TestACorruptLedgerHasNoStatement(t *testing.T) {
	require.ErrorIs(t, testkit.Err(statement.FromReader("x", strings.NewReader("{}\n"))), ledger.ErrCorrupt)
}

func TestTheAttackerIsTheBestThereIs(t *testing.T) {
	require.InDelta(t, 0.5, statement.Right(0, 0), 1e-12)
	require.Equal(t, 1.0, statement.Right(math.Inf(1), 0))
	require.Equal(t, 1.0, statement.TPR(math.Inf(1), 0, 0.1))
	require.Equal(t, 1.0, statement.Right(1, 1))
	require.Zero(t, statement.TPR(800, 0, 0))
	require.Equal(t, 1.0, statement.TPR(800, 0, 0.1))
	for _, eps := range []float64{0.1, 1, 5, 20} {
		for _, delta := range []float64{0, 1e-5, 0.1} {
			// With chance delta the input itself, otherwise randomised response.
			p := 1 / (1 + math.Exp(-eps))
			in := []float64{delta, 0, (1 - delta) * p, (1 - delta) * (1 - p)}
			out := []float64{0, delta, (1 - delta) * (1 - p), (1 - delta) * p}
			right := 0.0
			for i := range in {
				right += math.Max(in[i], out[i]) / 2
			}
			require.InDelta(t, right, statement.Right(eps, delta), 1e-12)
			fpr, tpr := 0.0, in[0]
			for _, i := range []int{2, 3, 1} {
				require.InDelta(t, tpr, statement.TPR(eps, delta, fpr), 1e-12+1e-16*math.Exp(eps), "%v %v %v", eps, delta, fpr)
				mid := statement.TPR(eps, delta, fpr+out[i]/2)
				require.InDelta(t, tpr+in[i]/2, mid, 1e-12+1e-16*math.Exp(eps))
				fpr, tpr = fpr+out[i], tpr+in[i]
			}
		}
	}
}

func TestEveryEventHasWords(t *testing.T) {
	g := accountant.Gaussian{NoiseMultiplier: 2}
	for _, e := range []accountant.Event{
		g, accountant.Laplace{NoiseMultiplier: 2}, accountant.DiscreteGaussian{Sigma: 2, Sensitivity: 1}, accountant.DiscreteLaplace{Scale: 2, Sensitivity: 1},
		accountant.ExponentialMechanism{Epsilon: 1}, accountant.PureDP{Epsilon: 1}, accountant.RandomizedResponse{Epsilon: 1},
		accountant.KaryResponse{Epsilon: 1, Categories: 3}, accountant.ZCDP{Rho: 1}, accountant.GNMax{Sigma: 1}, accountant.Threshold{Sigma: 1},
		accountant.LNMax{Scale: 1, Discrete: true}, accountant.MStab{Epsilon: 1, Threshold: 1}, accountant.AboveThreshold{Epsilon1: 1, Epsilon2: 1, Answers: 1},
		accountant.StableSVT{B1: 1, B2: 1, Threshold: 1, Failures: 1}, accountant.NonPrivate{},
		accountant.SampledWithoutReplacement{Size: 1, Population: 2, Event: g}, accountant.TruncatedPoisson{Probability: 0.1, MaxBatch: 5, Population: 9, Event: g},
		accountant.Selection{Eta: 1, Gamma: 0.1, Event: g}, accountant.PoissonSelection{Mean: 3, Event: g}, accountant.Group{Size: 2, Event: g},
		accountant.WithFailure{Event: g, Delta: 0.1},
	} {
		parts := statement.Parts(accountant.Repeated{Event: accountant.Composed{Events: []accountant.Event{e, e}}, Count: 3})
		require.Len(t, parts, 2)
		require.EqualValues(t, 3, parts[1].Count)
		require.NotContains(t, parts[0].Mechanism, "accountant.")
		require.NotEmpty(t, parts[0].Mechanism)
	}
	huge := accountant.Repeated{Event: accountant.Repeated{Event: g, Count: 1 << 62}, Count: 1 << 62}
	require.EqualValues(t, math.MaxInt64, statement.Parts(huge)[0].Count)
	require.Zero(t, statement.Parts(accountant.Repeated{Event: g})[0].Count)
}

func TestAStatementNamesTheLargerOfSealAndProof(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	cfg := config
	cfg.Accountant = accountant.ByAuto
	l := testkit.Must(ledger.Open(t.Context(), path, cfg, ledger.VerifyOptions{}))
	charge(t, false, sgd)(l)
	require.NoError(t, testkit.Must(l.Reserve(votes)).Begin(votes, ledger.Use{Secret: true}))
	honest := testkit.Must(l.Epsilon())
	require.NoError(t, l.Close())
	file := testkit.Must(os.ReadFile(path))
	for _, c := range []struct {
		seal, claim float64
		words       string
	}{
		{honest - 1e-4, honest, "The claim is the larger: the upper end that this version finds"},
		{honest + 1e-3, honest + 1e-3, "The claim is the larger: the sealed one"},
		{honest, honest, ""},
	} {
		s := testkit.Must(statement.FromReader("run.jsonl", bytes.NewReader(sealedAt(t, file, honest, c.seal))))
		require.Equal(t, c.claim, float64(*s.Claims[0].Epsilon))
		require.Contains(t, s.Seal, c.words)
		require.Equal(t, c.words == "", s.Seal == "")
		require.Contains(t, strings.ReplaceAll(markdown(t, s), `\`, ""), s.Seal)
	}
}

func sealedAt(t *testing.T, file []byte, from, to float64) []byte {
	t.Helper()
	text := strings.Replace(string(file), fmt.Sprintf(`"epsilon":%v,"accountant":"pld"`, from), fmt.Sprintf(`"epsilon":%v,"accountant":"pld"`, to), 1)
	start, end := strings.LastIndex(text[:len(text)-1], "\n")+1, strings.LastIndex(text, `,"check":"`)
	require.Contains(t, text[start:], `"seal"`)
	return fmt.Appendf(nil, "%s,\"check\":\"%08x\"}\n", text[:end], crc32.Checksum([]byte(text[start:end]), crc32.MakeTable(crc32.Castagnoli)))
}

// What a guarantee means for an attacker, and what an event says in words.
func Example() {
	fmt.Printf("right with a chance of at most %.3f\n", statement.Right(1, 1e-5))
	event := accountant.Repeated{Event: accountant.GNMax{Sigma: 40, Discrete: true}, Count: 500}
	for _, p := range statement.Parts(event) {
		fmt.Printf("%d times %s: %s\n", p.Count, p.Mechanism, p.Parameters)
	}
	// Output:
	// right with a chance of at most 0.731
	// 500 times noisy argmax of votes: discrete Gaussian, σ 40
}
