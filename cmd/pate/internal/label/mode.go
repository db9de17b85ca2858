package label

import (
	"context"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate/mechanisms"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/teachers/label"
)

// tellMode says what a new ledger of mode filter costs in answers: how many queries of this
// noise its whole budget carries, and how many it would in mode reserved.
func tellMode(ctx context.Context, g *shell.Globals, r label.Result) error {
	d, err := mechanisms.Find(r.Setting.Mechanism)
	if err != nil || r.Account.Mode != ledger.Filter || r.Resumed || r.Entry != firstEntry || !plan.Plannable(d) || g.Quiet {
		return err
	}
	account := r.Account
	here, err := plan.Carries(ctx, r.Setting, account)
	if err != nil {
		return err
	}
	account.Mode, account.Accountant, account.Orders, account.FailureDelta = ledger.Reserved, "auto", nil, 0
	reserved, err := plan.Carries(ctx, r.Setting, account)
	if err != nil {
		return err
	}
	g.Logf("mode filter: others may charge this ledger later, so Rényi divergences claim, and with this noise epsilon %g carries %d queries; --mode reserved would carry %d and take no other run",
		account.Epsilon, here, reserved)
	return nil
}

// firstEntry is the number of a ledger's first entry.
const firstEntry = 1
