package experiments

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate/neighbours"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/aggregate/nearby"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/silos"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/teachers"
)

type election struct {
	name  string            // of its files
	as    string            // name in the keys of its randomness
	note  string            // words after the note of its plan
	units int               // number of units, which is public
	all   neighbours.Rows   // the rows that vote
	silos []neighbours.Rows // the same rows, by silo, if silos count by themselves
}

func (c point) elections(p prepared, method string) []election {
	all := neighbours.Rows{X: p.private, Y: c.Task.Private.Y, Units: c.Task.Private.Units, Classes: p.classes}
	e := election{name: method, as: method, units: c.units, all: all}
	switch method {
	case allSilos:
		e.as, e.silos = ReverseKNN, c.bySilo(all)
		e.note = fmt.Sprintf("; the counts of %d silos are added", len(e.silos))
	case oneSilo:
		var each []election
		for i, rows := range c.bySilo(all) {
			name := fmt.Sprintf("%s/%d", method, i+1)
			units := max(1, dataset.Set{Units: rows.Units}.UnitCount())
			each = append(each, election{name: name, as: name, units: units, all: rows})
		}
		return each
	}
	return []election{e}
}

// overSilos returns the mean over silos. Each unit is in one silo, so the total cost is the cost of the
// costliest silo.
func overSilos(runs []Row) Row {
	row := mean(runs)
	if len(runs) == 1 {
		return row
	}
	row.Sigma, row.Note = 0, fmt.Sprintf("mean and sd over %d silos, each by itself", len(runs))
	for _, one := range runs {
		row.bySilo = append(row.bySilo, one.Account)
		if *one.Epsilon > *row.Epsilon {
			row.Epsilon, row.Accountant, row.Account, row.Charged = one.Epsilon, one.Accountant, one.Account, one.Charged
		}
	}
	return row
}

func (c point) bySilo(all neighbours.Rows) []neighbours.Rows {
	rows := make([][]int, len(c.Task.Silos))
	for i, u := range all.Units {
		s := c.Task.SiloOf[u]
		rows[s] = append(rows[s], i)
	}
	parts := make([]neighbours.Rows, len(rows))
	for s, of := range rows {
		parts[s] = neighbours.Rows{X: dense.Pick(all.X, of), Classes: all.Classes}
		for _, i := range of {
			parts[s].Y, parts[s].Units = append(parts[s].Y, all.Y[i]), append(parts[s].Units, all.Units[i])
		}
	}
	return parts
}

func (e election) release(ctx context.Context, plan nearby.Plan, r *ledger.Reservation, key rng.Key, asked dense.Matrix) (nearby.Labels, error) {
	if e.silos == nil {
		return plan.Release(ctx, r, key, e.all, asked)
	}
	whole, err := neighbours.Cast(ctx, e.all, asked, plan.Near)
	if err != nil {
		return nearby.Labels{}, err
	}
	sum := silos.Counts{Cells: make([]int64, len(whole))}
	for _, part := range e.silos {
		cells, err := neighbours.Cast(ctx, part, asked, plan.Near)
		if err == nil {
			err = sum.Plus(&silos.Counts{Cells: cells})
		}
		if err != nil {
			return nearby.Labels{}, err
		}
	}
	// Both releases have the same noise, so a difference of the counts would be released without noise.
	if !slices.Equal(sum.Cells, whole) {
		return nearby.Labels{}, errors.New("the counts of silos are not the counts of all rows")
	}
	return plan.ReleaseVotes(r, key, e.all.Classes, sum.Cells)
}

// partition returns the teacher of each private row. With silos, each teacher has rows of only one silo.
func (c Config) partition(key rng.Key) ([]int, error) {
	units, each := c.Task.Private.Units, c.teachers()
	if c.Task.Silos != nil {
		each /= len(c.Task.Silos)
	}
	share, err := teachers.Partition(units, each, key)
	for i := range share {
		share[i] += each * c.Task.SiloOf[units[i]]
	}
	return share, err
}
