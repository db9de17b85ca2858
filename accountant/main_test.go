package accountant_test

import (
	"os"
	"testing"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/theorems"
)

func TestMain(m *testing.M) {
	accountant.NewBasic = func(r accountant.Relation) (accountant.Accountant, error) { return theorems.NewBasic(r) }
	accountant.NewOptimal = func(r accountant.Relation) (accountant.Accountant, error) { return theorems.NewOptimal(r) }
	accountant.NewMoments = func(r accountant.Relation) (accountant.Accountant, error) { return theorems.NewMoments(r) }
	advanced := func(t theorems.Theorem) func(accountant.Relation) (accountant.Accountant, error) {
		return func(r accountant.Relation) (accountant.Accountant, error) { return theorems.NewAdvanced(r, t) }
	}
	accountant.NewAdvanced = advanced(theorems.BestTheorem)
	accountant.NewDworkRoth = advanced(theorems.DworkRoth)
	accountant.NewKairouzOh = advanced(theorems.KairouzOhViswanath)
	accountant.NewZCDP = func(r accountant.Relation, c accountant.Conversion) (accountant.Accountant, error) {
		return theorems.NewZCDP(r, c)
	}
	os.Exit(m.Run())
}
