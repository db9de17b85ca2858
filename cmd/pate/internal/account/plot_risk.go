package account

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/figure"
)

// riskPlotPoints is how many rates of false alarms a trade-off curve is drawn through: more
// of them where few are accused.
const riskPlotPoints = 80

// plotRisk draws what an attacker at least misses against false alarms, beside what
// (epsilon, delta) alone says: by pld or rdp where only one of them was asked for, else by
// the tightest.
func plotRisk(ctx context.Context, path string, names []string, schedule accountant.Schedule, delta float64) error {
	method := accountant.ByTightest
	if byPLD := slices.Contains(names, string(accountant.ByPLD)); byPLD != slices.Contains(names, string(accountant.ByRDP)) {
		method = accountant.ByRDP
		if byPLD {
			method = accountant.ByPLD
		}
	}
	account, err := tightOf(method, schedule)
	if err != nil {
		return err
	}
	claim, err := account.Claim(ctx, delta)
	if err != nil {
		return err
	}
	risk, err := account.Risk(ctx)
	if err != nil {
		return err
	}
	var curve, pair plotter.XYs
	for i := range riskPlotPoints + 1 {
		fpr := math.Pow(float64(i)/riskPlotPoints, 2)
		v, err := risk.Tradeoff(fpr)
		if err != nil {
			return err
		}
		curve = append(curve, plotter.XY{X: fpr, Y: v.Lower})
	}
	for i := range 1001 {
		fpr := math.Pow(float64(i)/1000, 2)
		pair = append(pair, plotter.XY{X: fpr, Y: 1 - statement.TPR(claim.Upper, delta, fpr)})
	}
	data, err := drawRisk(curve, pair, claim.Upper, delta, risk.By, strings.ToLower(filepath.Ext(path)))
	if err != nil {
		return err
	}
	return durable.WriteBytes(path, 0o644, data)
}

func drawRisk(curve, pair plotter.XYs, epsilon, delta float64, by accountant.Method, ext string) ([]byte, error) {
	p := figure.New("share of those who did not take part that is wrongly accused", "share of those who did that is missed")
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	p.Legend.Top = true
	for _, l := range []struct {
		name   string
		points plotter.XYs
		style  func(*plotter.Line)
	}{
		{"guessing", plotter.XYs{{X: 0, Y: 1}, {X: 1, Y: 0}}, func(l *plotter.Line) {
			l.Color, l.Width, l.Dashes = figure.Grey(), 1, []vg.Length{2, 2}
		}},
		{"at least, by the whole curve (" + string(by) + ")", curve, func(l *plotter.Line) { l.Color, l.Width = figure.Colour(0), 1.7 }},
		{"at least, by ε = " + shell.FormatUp(epsilon, false) + ", δ = " + strconv.FormatFloat(delta, 'g', -1, 64) + " alone", pair,
			func(l *plotter.Line) { l.Color, l.Width, l.Dashes = figure.Colour(1), 1.7, []vg.Length{5, 3} }},
	} {
		drawn, err := plotter.NewLine(l.points)
		if err != nil {
			return nil, fmt.Errorf("--plot: %s: %w", l.name, err)
		}
		l.style(drawn)
		p.Add(drawn)
		p.Legend.Add(l.name, drawn)
	}
	if ext == ".svg" {
		return figure.SVG(p)
	}
	return figure.PNG(p)
}
