// Package serve is the command `pate serve`, which answers questions one at a time.
package serve

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/online"
	"github.com/pate-go/pate/internal/tokens"
	"github.com/pate-go/pate/run"
)

type serveFlags struct {
	shell.ParameterFlags
	out, ledger, classes, unit, relation string
	vocabulary                           int
	queries                              int64
	epsilon                              float64
	finish                               bool
	http                                 httpFlags
	quota                                quotaFlags
}

func New(g *shell.Globals) *cobra.Command {
	var f serveFlags
	cmd := shell.Command("serve [REQUESTS]", "format", shell.Needs(cobra.MaximumNArgs(1), "out"),
		func(cmd *cobra.Command, args []string) error { return f.run(cmd, g, args) })
	f.Known, f.Others = online.Mechanisms(), []string{online.Quota}
	f.AddParameters(cmd, "mechanism that draws answers (required for a new run)", nil)
	shell.Declare(cmd.Flags(), "serve", shell.To{"out": &f.out, "classes": &f.classes, "vocabulary": &f.vocabulary, "queries": &f.queries,
		"epsilon": &f.epsilon, "ledger": &f.ledger, "unit": &f.unit, "relation": &f.relation, "finish": &f.finish,
		"listen": &f.http.listen, "cert": &f.http.cert, "cert-key": &f.http.key, "tokens": &f.http.tokens, "access-log": &f.http.log})
	f.quota.declare(cmd.Flags())
	shell.CompleteArgs(cmd, shell.Files("jsonl"))
	return cmd
}

// elsewhere has the flags that may change when a run is resumed.
var elsewhere = map[string]bool{"out": true, "finish": true, "listen": true, "cert": true, "cert-key": true, "tokens": true,
	"access-log": true, "quiet": true, "private": true}

func (f *serveFlags) terms(cmd *cobra.Command, g *shell.Globals) (t online.Terms, err error) {
	described := false
	cmd.Flags().Visit(func(flag *pflag.Flag) { described = described || !elsewhere[flag.Name] })
	if !described {
		if there, err := run.Settings(f.out, &t); there || err != nil {
			return t, err
		}
	}
	given := cmd.Flags().Changed
	if f.Mechanism == "" {
		return t, shell.Usagef("serve", "a new run needs --mechanism")
	}
	if err := f.checkQuota(cmd); err != nil {
		return t, err
	}
	var s aggregate.Setting
	if f.Mechanism != online.Quota {
		if _, s, err = f.Setting(cmd, false); err != nil {
			return t, err
		}
	} else {
		g.DefaultDelta(given, f.quota.size, f.ledger)
	}
	t.Settings = online.Settings{Mechanism: f.Mechanism, Values: s.Values, Queries: f.queries, Tokens: f.vocabulary}
	if f.classes != "" {
		if t.Classes, err = shell.Names(f.classes); err != nil {
			return t, shell.Usagef("serve", "--classes: %v", err)
		}
		if n, err := strconv.Atoi(f.classes); err == nil {
			t.Classes = nil
			for i := range min(max(n, 0), online.MostClasses+1) {
				t.Classes = append(t.Classes, strconv.Itoa(i))
			}
		}
	}
	t.Epsilon, t.Delta, t.Unit, t.Relation = f.epsilon, g.Delta, f.unit, f.relation
	shell.Put(g.Seeded, &t.Seed, &g.Seed)
	if f.ledger != "" {
		if t.Ledger, err = filepath.Abs(f.ledger); err != nil {
			return t, err
		}
	}
	if f.Mechanism == online.Quota {
		if t, err = f.quotaTerms(cmd, t); err != nil {
			return t, err
		}
	}
	if err := t.Settings.Check(); err != nil {
		return t, shell.UsageError("serve", err)
	}
	return t, shell.Refuse("serve", shell.Positive(given("epsilon"), "epsilon", f.epsilon))
}

func (f *serveFlags) book(cmd *cobra.Command, g *shell.Globals, t online.Terms) (file run.File, err error) {
	file = run.File{Path: t.Ledger, Warn: g.Warn, New: ledger.Config{Unit: t.Unit, Epsilon: t.Epsilon, Delta: t.Delta}}
	if err := file.New.Relation.UnmarshalText([]byte(t.Relation)); err != nil {
		return file, shell.UsageError("serve", err)
	}
	given := cmd.Flags().Changed
	file.Expect = run.Expect{Epsilon: t.Epsilon}
	shell.Put(given("unit") || t.Rows != nil, &file.Expect.Unit, t.Unit)
	shell.Put(given("relation"), &file.Expect.Relation, file.New.Relation)
	shell.Put(given("delta"), &file.Expect.Delta, t.Delta)
	path := file.Path
	if path == "" {
		file.New.Accountant = accountant.ByAuto
		path = online.OwnLedger(f.out) // only this run charges it: mode Filter is not needed
	} else {
		file.New.Mode = ledger.Filter
	}
	if there, err := durable.Exists(path); err == nil && !there && t.Epsilon == 0 {
		return file, shell.Usagef("serve", "--epsilon is required, because the ledger %s is new", path)
	}
	return file, nil
}

func (f *serveFlags) run(cmd *cobra.Command, g *shell.Globals, args []string) error {
	if err := f.http.check(cmd, args, f.finish); err != nil {
		return err
	}
	t, err := f.terms(cmd, g)
	if err != nil {
		return err
	}
	if err := shell.CheckFolder(g, cmd, f.out); err != nil {
		return err
	}
	c := online.Config{Out: f.out, Terms: t, NewKey: g.Key, Finish: f.finish, Command: command(cmd)}
	if c.Ledger, err = f.book(cmd, g, t); err != nil {
		return err
	}
	var voters *online.Voters
	if t.Rows != nil {
		c.Voters = func() (v *online.Voters, err error) {
			voters, err = f.voters(t)
			return voters, err
		}
	}
	var door *door
	if f.http.listen != "" {
		if door, err = f.http.open(g); err != nil {
			return err
		}
		defer door.close()
	}
	c.Serve = func(ctx context.Context, s online.Settings, resumed bool, e *online.Engine) error {
		if resumed {
			g.Logf("resumed the run that was charged before, at no further cost")
		}
		if q := s.Quota; q != nil {
			g.Logf("%d votes of each %s, noise %.3g on every count; a row has the cells %s", q.Votes, t.Unit, q.Sigma,
				strings.Join(voters.Columns(), ", "))
		} else if d, is, err := s.Describe(); err == nil {
			given := func(p aggregate.Parameter) bool { return p.Name != "teachers" || is.Values[p.Name] > 0 }
			g.Logf("%s %s; %s", s.Mechanism, shell.FlagsOf(d, is, given), left(e.Counts().Left, s.Capped()))
		}
		format, err := online.NewFormat(s, voters)
		if err != nil {
			return err
		}
		format.Seeded = t.Seed != nil
		if door != nil {
			return door.serve(ctx, format, e)
		}
		return lines(ctx, cmd, args, format, e)
	}
	result, err := online.Run(cmd.Context(), c)
	if err != nil {
		return shell.FaultError(err, "serve")
	}
	switch {
	case result.Complete:
		g.Logf("this run is complete and its key is destroyed; its labels are in %s", result.Labels)
	case result.Labels != "":
		g.Logf("the run is complete, and its key is destroyed; its labels are in %s", result.Labels)
	default:
		g.Logf("stopped; the same command goes on, and --finish ends the run")
	}
	return nil
}

func left(l tokens.Left, capped bool) string {
	text := "no cap on questions"
	if l.Queries != tokens.Unlimited {
		text = fmt.Sprintf("%d questions left", l.Queries)
	}
	if capped {
		text += fmt.Sprintf(", %d answers by votes left", l.Answers)
	}
	return text
}

func command(cmd *cobra.Command) string {
	var names []string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !elsewhere[flag.Name] || flag.Name == "out" || flag.Name == "private" {
			names = append(names, flag.Name)
		}
	})
	return shell.Repeats(cmd, []string{"pate serve"}, names, shell.Given, nil)
}
