package account

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/theorems"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/table"
)

func estimators() map[string]func(rel accountant.Relation) (theorems.Estimator, error) {
	return map[string]func(accountant.Relation) (theorems.Estimator, error){
		"strong": theorems.NewStrongComposition,
		"clt":    theorems.NewCentralLimit,
	}
}

func parseAccountants(list string) ([]string, error) {
	var names []string
	for _, name := range strings.Split(list, ",") {
		name = strings.TrimSpace(name)
		add := []string{name}
		if name == "all" {
			add = shell.AccountantNames()
		} else if _, ok := estimators()[name]; !ok {
			if err := shell.CheckAccountant(name); err != nil {
				return nil, err
			}
		}
		for _, n := range add {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names, nil
}

func composeAll(compose func(accountant.Event, int64) error, events []accountant.Event) (unsupported string, err error) {
	for i, e := range events {
		err := compose(e, 1)
		if refusal := (*accountant.UnsupportedEventError)(nil); errors.As(err, &refusal) {
			return fmt.Sprintf("events[%d], %s: %s", i, refusal.Type(), refusal.Reason), nil
		}
		if err != nil {
			return "", shell.InputError(fmt.Errorf("events[%d]: %w", i, err), "", "", "account")
		}
	}
	return "", nil
}

func accountBy(ctx context.Context, g *shell.Globals, name string, cfg accountant.RDPConfig, schedule accountant.Schedule,
	report accountReport, curve bool) (accountResult, error) {
	if start, ok := estimators()[name]; ok {
		return estimateBy(accountResult{Accountant: name}, start, schedule, report)
	}
	result := accountResult{Accountant: name}
	entry, ok := shell.FindAccountant(name)
	if !ok {
		return result, shell.CheckAccountant(name)
	}
	account, err := entry.Start(cfg)
	if err == nil {
		result.Unsupported, err = composeAll(account.Compose, schedule.Events)
	}
	if err != nil || result.Unsupported != "" {
		return result, err
	}
	var b accountant.Bound
	if report.Epsilon != nil {
		b, err = account.Delta(ctx, *report.Epsilon)
		result.Delta = (*shell.Number)(&b.Upper)
	} else {
		b, err = account.Epsilon(ctx, *report.Delta)
		result.Epsilon = (*shell.Number)(&b.Upper)
		if b.Lower > 0 {
			result.EpsilonLower = (*shell.Number)(&b.Lower)
		}
	}
	if err != nil {
		return result, err
	}
	if b.Order > 1 && !math.IsInf(b.Order, 1) {
		result.Order = &b.Order
	}
	if name == "rdp" || name == "moments" || name == "zcdp" {
		result.Conversion = b.Conversion.String()
	}
	result.FailureDelta = &b.FailureDelta
	rdp, ok := account.(*accountant.RDP)
	if !ok {
		return result, nil
	}
	if b.AtGridEdge {
		g.Logf("pate: the best order, %v, is the smallest or largest that was tried: a wider range of --orders may give a smaller bound", b.Order)
	}
	if curve {
		values, _, err := rdp.RDP(cfg.Orders)
		if err != nil {
			return result, err
		}
		result.Orders = cfg.Orders
		for _, v := range values {
			result.RDP = append(result.RDP, shell.Number(v))
		}
	}
	return result, nil
}

func estimateBy(result accountResult, start func(accountant.Relation) (theorems.Estimator, error), schedule accountant.Schedule,
	report accountReport) (accountResult, error) {
	if report.Delta == nil {
		result.Unsupported = "an estimate exists only of epsilon at a given delta"
		return result, nil
	}
	estimator, err := start(schedule.Relation)
	if err == nil {
		result.Unsupported, err = composeAll(estimator.Compose, schedule.Events)
	}
	if err != nil || result.Unsupported != "" {
		return result, err
	}
	e, err := estimator.Estimate(*report.Delta)
	if err == nil {
		result.Estimate, result.Flaw = (*shell.Number)(&e.Epsilon), e.Flaw
	}
	return result, err
}

func writeAccount(g *shell.Globals, r accountReport) error {
	format := g.ParsedFormat()
	if format == table.JSON {
		return shell.WriteJSON(g.Stdout, r)
	}
	exact := format == table.CSV
	t := shell.TableOf("<accountant", "epsilon", "delta", "order", "<conversion", "failure delta", "<why it differs")
	curves := shell.TableOf("order", "rdp")
	for _, res := range r.Results {
		switch {
		case res.Unsupported != "":
			g.Logf("pate: %s: unsupported: %s", res.Accountant, res.Unsupported)
			t.Rows = append(t.Rows, []string{res.Accountant, "unsupported", "", "", "", "", "cannot hold an event of this list"})
			continue
		case res.Estimate != nil:
			t.Rows = append(t.Rows, []string{res.Accountant, "~" + shell.FormatUp(float64(*res.Estimate), exact), shell.FormatUp(*r.Delta, exact),
				"", "", "", res.Flaw})
			continue
		}
		epsilon, delta, order := (*float64)(res.Epsilon), r.Delta, ""
		if r.Epsilon != nil {
			epsilon, delta = r.Epsilon, (*float64)(res.Delta)
		}
		if res.Order != nil {
			order = strconv.FormatFloat(*res.Order, 'g', 5, 64)
		} else if res.Accountant == "rdp" {
			order = "inf"
		}
		entry, _ := shell.FindAccountant(res.Accountant)
		why := entry.Why
		if res.EpsilonLower != nil {
			why += ": at least " + shell.FormatDown(float64(*res.EpsilonLower))
		}
		t.Rows = append(t.Rows, []string{res.Accountant, shell.FormatUp(*epsilon, exact), shell.FormatUp(*delta, exact),
			order, res.Conversion, shell.FormatUp(*res.FailureDelta, exact), why})
		for i, v := range res.RDP {
			curves.Rows = append(curves.Rows, []string{number.Exact(res.Orders[i]), shell.FormatUp(float64(v), exact)})
		}
	}
	tables := reasonsBelow(t, format)
	for _, more := range []table.Table{r.riskTable(exact), curves} {
		if len(more.Rows) > 0 {
			tables = append(tables, more)
		}
	}
	tables = append(tables, r.Explained.tables(format)...)
	for i, t := range tables {
		if i > 0 {
			fmt.Fprintln(g.Stdout)
		}
		if err := t.Write(g.Stdout, format); err != nil {
			return err
		}
	}
	return nil
}

func reasonsBelow(t table.Table, format table.Format) []table.Table {
	if format != table.Text {
		return []table.Table{t}
	}
	last := len(t.Header) - 1
	why := shell.TableOf("<"+t.Header[0], "<"+t.Header[last])
	for i, row := range t.Rows {
		why.Rows = append(why.Rows, []string{row[0], row[last]})
		t.Rows[i] = row[:last]
	}
	t.Header, t.Left = t.Header[:last], t.Left[:last]
	return []table.Table{t, why}
}
