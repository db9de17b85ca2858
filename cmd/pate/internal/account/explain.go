package account

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/accountant/theorems"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/table"
)

func explainAccount(ctx context.Context, g *shell.Globals, cfg accountant.RDPConfig, schedule accountant.Schedule, report accountReport) error {
	out := g.Stdout
	if !g.Prose() { // the explanation is no data
		out = g.Stderr
	}
	if report.Delta != nil {
		t := shell.TableOf("<the same run by", "epsilon", "<what that changes")
		for _, v := range explainVariants() {
			account, err := accountant.NewRDP(accountant.RDPConfig{Relation: cfg.Relation, Orders: v.orders, Conversion: v.conversion})
			if err != nil {
				return err
			}
			b, refused, err := epsilonOf(ctx, account, schedule, *report.Delta)
			if err != nil {
				return err
			}
			if refused != "" {
				break
			}
			t.Rows = append(t.Rows, []string{v.name, shell.FormatUp(b.Upper, false), v.what})
		}
		if len(t.Rows) > 0 {
			format := g.ParsedFormat()
			if format != table.Markdown {
				format = table.Text
			}
			for _, t := range reasonsBelow(t, format) {
				fmt.Fprintln(out)
				if err := t.Write(out, format); err != nil {
					return err
				}
			}
		}
	}
	_, err := fmt.Fprint(out, explanation(schedule))
	return err
}

type explainVariant struct {
	name       string
	orders     []float64
	conversion accountant.Conversion
	what       string
}

func explainVariants() []explainVariant {
	grid, _ := shell.ParseOrders("1.1:10.9:0.1,11:63") // both lists are valid
	integers, _ := shell.ParseOrders("2:63")
	return []explainVariant{
		{"all real orders, improved conversion", nil, accountant.Improved, "what pate answers"},
		{"orders 1.1 to 10.9 and 11 to 63", grid, accountant.Improved, "the grid of Opacus, without the best"},
		{"whole orders 2 to 63", integers, accountant.Improved, "loses where the best order is low"},
		{"the same, classic conversion", integers, accountant.Classic, "conversion: as in papers before 2020"},
		{"whole orders 2 to 33, classic conversion", integers[:32], accountant.Classic, "the moments accountant of 2016"},
	}
}

//go:embed explain.txt
var explanations string

func explanation(schedule accountant.Schedule) string {
	text := strings.Replace(explanations, "{{relation}}", schedule.Relation.String(), 1)
	if !hasSampling(schedule.Events) {
		text = text[:strings.Index(text, "sampler ")] + text[strings.Index(text, "counts "):]
	}
	return text
}

func hasSampling(events []accountant.Event) bool {
	return slices.ContainsFunc(events, func(e accountant.Event) bool {
		switch e := e.(type) {
		case accountant.PoissonSampled, accountant.SampledWithoutReplacement, accountant.TruncatedPoisson:
			return true
		case accountant.Repeated:
			return hasSampling([]accountant.Event{e.Event})
		case accountant.Composed:
			return hasSampling(e.Events)
		case accountant.WithFailure:
			return hasSampling([]accountant.Event{e.Event})
		}
		return false
	})
}

type explained struct {
	Tightest string   `json:"tightest"`
	Gaps     []gap    `json:"gaps"`
	SaidAs   []saidAs `json:"said_as"`
}

type gap struct {
	Accountant   string        `json:"accountant"`
	Epsilon      *shell.Number `json:"epsilon,omitempty"`
	EpsilonLower *shell.Number `json:"epsilon_lower,omitempty"` // lower bound from the dominating pairs
	Above        *shell.Number `json:"above,omitempty"`         // Epsilon minus the smallest epsilon
	Unsupported  string        `json:"unsupported,omitempty"`
	Why          string        `json:"why"` // reason for the difference
}

func gapAccountants() []shell.AccountantEntry {
	all := shell.Accountants()
	for i, entry := range all {
		if entry.Name == "rdp" {
			classic := shell.AccountantEntry{Name: "rdp classic", Gap: "the same divergences by the looser rule of 2017"}
			classic.Start = func(c accountant.RDPConfig) (accountant.Accountant, error) {
				c.Conversion = accountant.Classic
				return entry.Start(c)
			}
			return slices.Insert(all, i+1, classic)
		}
	}
	return all
}

func epsilonOf(ctx context.Context, a accountant.Accountant, schedule accountant.Schedule,
	delta float64) (accountant.Bound, string, error) {
	refused, err := composeAll(a.Compose, schedule.Events)
	if err != nil || refused != "" {
		return accountant.Bound{}, refused, err
	}
	b, err := a.Epsilon(ctx, delta)
	return b, "", err
}

func explain(ctx context.Context, cfg accountant.RDPConfig, schedule accountant.Schedule, delta float64) (*explained, error) {
	out := &explained{}
	least := math.Inf(1)
	for _, a := range gapAccountants() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		account, err := a.Start(accountant.RDPConfig{Relation: cfg.Relation})
		if err != nil {
			return nil, err
		}
		g := gap{Accountant: a.Name, Why: a.Gap}
		var b accountant.Bound
		if b, g.Unsupported, err = epsilonOf(ctx, account, schedule, delta); err != nil {
			return nil, err
		}
		if g.Unsupported == "" {
			g.Epsilon = (*shell.Number)(&b.Upper)
			if b.Lower > 0 {
				g.EpsilonLower = (*shell.Number)(&b.Lower)
			}
			if b.Upper < least {
				least, out.Tightest = b.Upper, a.Name
			}
		}
		out.Gaps = append(out.Gaps, g)
	}
	for i, g := range out.Gaps {
		if g.Epsilon != nil && !math.IsInf(least, 1) {
			above := shell.Number(float64(*g.Epsilon) - least)
			if out.Gaps[i].Above = &above; above == 0 {
				out.Gaps[i].Why = "the least here: " + g.Why
			}
		}
	}
	var err error
	out.SaidAs, err = saidWays(ctx, schedule, delta)
	return out, err
}

func (e *explained) tables(format table.Format) []table.Table {
	if e == nil {
		return nil
	}
	exact := format == table.CSV
	gaps := shell.TableOf("<accountant", "epsilon", "at least", "above the least", "by %", "<why it is above")
	for _, g := range e.Gaps {
		row := []string{g.Accountant, "unsupported", "", "", "", g.Unsupported}
		if g.Epsilon != nil {
			row = []string{g.Accountant, shell.FormatUp(float64(*g.Epsilon), exact), "", "", "", g.Why}
		}
		if g.EpsilonLower != nil {
			row[2] = shell.FormatDown(float64(*g.EpsilonLower))
		}
		if g.Above != nil {
			row[3] = shell.FormatUp(float64(*g.Above), exact)
			if share := float64(*g.Above) / (float64(*g.Epsilon) - float64(*g.Above)); share > 0 && !math.IsInf(share, 1) {
				row[4] = strconv.FormatFloat(100*share, 'f', 1, 64)
			}
		}
		if format == table.Text && g.Unsupported != "" { // the reason may be long and is printed above the table
			row[5] = "cannot hold an event of this list"
		}
		gaps.Rows = append(gaps.Rows, row)
	}
	said := shell.TableOf("<said as", "<which is", "epsilon", "finds at 1 %", "<what that leaves out")
	for _, s := range e.SaidAs {
		said.Rows = append(said.Rows, []string{s.As, s.Value, shell.FormatUp(float64(s.Epsilon), exact), shell.FormatUp(s.TPR, exact), s.Loss})
	}
	return append(reasonsBelow(gaps, format), reasonsBelow(said, format)...)
}

// saidAs is a privacy guarantee in one form, such as rho-zCDP. Epsilon and TPR are the values that this form
// implies.
type saidAs struct {
	As      string       `json:"as"`
	Value   string       `json:"value"`
	Epsilon shell.Number `json:"epsilon"`  // at the requested delta
	TPR     float64      `json:"tpr_at_1"` // maximum true positive rate at a false positive rate of 1 %
	Loss    string       `json:"loss"`
}

const saidAt = 0.01

func saidWays(ctx context.Context, schedule accountant.Schedule, delta float64) ([]saidAs, error) {
	account, err := tightOf(accountant.ByAuto, schedule)
	if err != nil {
		return nil, err
	}
	claim, err := account.Claim(ctx, delta)
	if err != nil {
		return nil, err
	}
	risk, err := account.Risk(ctx)
	if err != nil {
		return nil, err
	}
	tpr, err := risk.TPR(saidAt)
	if err != nil {
		return nil, err
	}
	all := []saidAs{
		{"a trade-off curve", "by " + string(risk.By), shell.Number(claim.Upper), tpr.Upper, "nothing: every line below follows from it"},
		{"(epsilon, delta)", fmt.Sprintf("(%s, %v)", shell.FormatUp(claim.Upper, false), delta), shell.Number(claim.Upper),
			statement.TPR(claim.Upper, delta, saidAt), "all other deltas; exact for the worst run that keeps it"},
	}
	gaussian, err := asGaussian(risk.GDP(), delta)
	concentrated, err2 := asConcentrated(ctx, schedule, delta)
	pure, err3 := asPure(ctx, schedule, delta)
	for _, way := range []*saidAs{gaussian, concentrated, pure} {
		if way != nil {
			all = append(all, *way)
		}
	}
	return all, cmp.Or(err, err2, err3)
}

func asGaussian(gdp accountant.GDP, delta float64) (*saidAs, error) {
	if math.IsInf(gdp.Mu, 1) || gdp.Mu == 0 || delta <= gdp.Delta {
		return nil, nil
	}
	epsilon, err := accountant.GaussianEpsilon(1/gdp.Mu, delta-gdp.Delta)
	if err != nil {
		return nil, err
	}
	loss := fmt.Sprintf("a test finds up to %s less than its curve says", shell.FormatUp(gdp.Regret, false))
	if gdp.Regret == 0 {
		loss = "nothing: it is Gaussian noise"
	}
	tpr := distuv.UnitNormal.CDF(distuv.UnitNormal.Quantile(saidAt)+gdp.Mu)*(1+1e-12) + gdp.Delta
	return &saidAs{"mu of Gaussian DP", "mu = " + shell.FormatUp(gdp.Mu, false), shell.Number(epsilon * (1 + 1e-12)), math.Min(1, tpr), loss}, nil
}

func asConcentrated(ctx context.Context, schedule accountant.Schedule, delta float64) (*saidAs, error) {
	z, err := theorems.NewZCDP(schedule.Relation, accountant.Improved)
	if err != nil {
		return nil, err
	}
	b, refused, err := epsilonOf(ctx, z, schedule, delta)
	rho, failure := z.Rho()
	if err != nil || refused != "" || math.IsInf(rho, 1) {
		return nil, err
	}
	tpr, err := z.TPR(saidAt)
	value := "rho = " + shell.FormatUp(rho, false)
	if failure > 0 {
		value += " but for " + strconv.FormatFloat(failure, 'g', 3, 64)
	}
	return &saidAs{"rho of zCDP", value, shell.Number(b.Upper), tpr, "all but one line above the divergences of all orders"}, err
}

func asPure(ctx context.Context, schedule accountant.Schedule, delta float64) (*saidAs, error) {
	basic, err := theorems.NewBasic(schedule.Relation)
	if err != nil {
		return nil, err
	}
	b, refused, err := epsilonOf(ctx, basic, schedule, 0)
	if err != nil || refused != "" || math.IsInf(b.Upper, 1) {
		return nil, err
	}
	return &saidAs{"a pure epsilon", shell.FormatUp(b.Upper, false), shell.Number(theorems.PairEpsilon(b.Upper, 0, delta)),
		statement.TPR(b.Upper, 0, saidAt), "how rare the worst is; exact for one randomised response"}, nil
}
