package account

import (
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/figure"
)

// riskPlotPoints is the number of points of a trade-off curve; they are denser at low rates of false alarms.
const riskPlotPoints = 80

// plotRisk draws the least share that an attacker misses against false alarms, beside the curve of (epsilon,
// delta) alone: by pld or rdp where only one was asked for, else by the tightest.
func plotRisk(ctx context.Context, path string, names []string, schedule accountant.Schedule, delta float64) error {
	method := accountant.ByAuto
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
	var curve, pair []figure.Point
	for i := range riskPlotPoints + 1 {
		fpr := math.Pow(float64(i)/riskPlotPoints, 2)
		v, err := risk.Tradeoff(fpr)
		if err != nil {
			return err
		}
		curve = append(curve, figure.Point{X: fpr, Y: v.Lower})
	}
	for i := range 1001 {
		fpr := math.Pow(float64(i)/1000, 2)
		pair = append(pair, figure.Point{X: fpr, Y: 1 - statement.TPR(claim.Upper, delta, fpr)})
	}
	return durable.WriteBytes(path, 0o644, drawRisk(curve, pair, claim.Upper, delta, risk.By))
}

func drawRisk(curve, pair []figure.Point, epsilon, delta float64, by accountant.Method) []byte {
	return figure.Figure{
		Title: "Share of participants that an attack misses against its share of false alarms",
		X:     figure.Axis{Label: "share of those who did not take part that is wrongly accused", High: 1},
		Y:     figure.Axis{Label: "share of those who did that is missed", High: 1},
		Lines: []figure.Line{
			{Name: "guessing", Colour: -1, Dashed: true, Points: []figure.Point{{Y: 1}, {X: 1}}},
			{Name: "at least, by the whole curve (" + string(by) + ")", Points: curve},
			{Name: "at least, by ε = " + shell.FormatUp(epsilon, false) + ", δ = " + strconv.FormatFloat(delta, 'g', -1, 64) + " alone",
				Colour: 1, Dashed: true, Points: pair},
		},
	}.SVG()
}
