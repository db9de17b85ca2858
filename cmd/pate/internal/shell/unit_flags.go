package shell

import (
	"fmt"
	"math"

	"github.com/spf13/pflag"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/teachers/votes"
)

// UnitFlags adds the flags of a private model about its units.
func UnitFlags(flags *pflag.FlagSet, size, rows *int) {
	flags.IntVar(size, "size", 0, "about how many units are private, as you may say in public: sampling and noise follow from it (default: their number, which is then public)")
	flags.IntVar(rows, "rows-per-unit", 1, fmt.Sprintf("how many rows of a unit are trained on at most, 1 to %d: their gradients are averaged and count as one, at the same epsilon", dpsgd.MaxRows))
}

// CheckTeachers checks how many teachers were asked for, and the declared number of units
// that it may follow from.
func CheckTeachers(given func(string) bool, teachers, size int) error {
	if given("teachers") && (teachers < 2 || teachers > votes.MaxTeachers) {
		return fmt.Errorf("--teachers %d: must be from 2 to %d; left out, it follows from --size, or is 100", teachers, votes.MaxTeachers)
	}
	return checkSize(given, size)
}

func checkSize(given func(string) bool, size int) error {
	if given("size") && (size < 2 || size > math.MaxInt32) {
		return fmt.Errorf("--size %d: must be a number of units, at least 2", size)
	}
	return nil
}

// CheckUnits refuses numbers out of range.
func CheckUnits(given func(string) bool, size, rows int) error {
	if err := checkSize(given, size); err != nil {
		return err
	}
	if rows < 1 || rows > dpsgd.MaxRows {
		return fmt.Errorf("--rows-per-unit %d: must be from 1 to %d", rows, dpsgd.MaxRows)
	}
	return nil
}

// SayRecords says what is taken to be the public number of units.
func SayRecords(g *Globals, cfg recipe.Config) {
	n := cfg.Shape().Records
	if cfg.Records > 0 {
		g.Logf("units: %d, as declared", n)
		return
	}
	g.Logf("units: %d, a number that the noise and what is said of the model will tell; --size says another one in its place", n)
}

// SayRows says how many rows of a unit are trained on, and why.
func SayRows(g *Globals, cfg recipe.Config) {
	if cfg.RowsPerUnit <= 1 {
		g.Logf("rows of one %s: the first alone; --rows-per-unit takes more, at the same epsilon", cfg.Unit)
		return
	}
	g.Logf("rows of one %s: up to %d, as given; their gradients are averaged and count as one, so epsilon is for all of them", cfg.Unit, cfg.RowsPerUnit)
}
