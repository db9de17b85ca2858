package label

import (
	"context"
	"strconv"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/teachers/label"
)

// countedQueries is from how many queries on it is not counted how many more a ledger of mode reserved
// would carry: searching by privacy loss distributions takes up to forty seconds then, and labels of two
// million queries two.
const countedQueries = 100_000

// tellMode prints the cost of mode filter of a new ledger in answers: the queries of this noise that its
// budget carries, and those in mode reserved, unless they are very many.
func tellMode(ctx context.Context, g *shell.Globals, r label.Result) error {
	d, err := mechanisms.Find(r.Setting.Mechanism)
	if err != nil || r.Account.Mode != ledger.Filter || r.Resumed || r.Entry != firstEntry || !plan.Plannable(d) || g.Quiet {
		return err
	}
	account := r.Account
	here, err := plan.MaxQueries(ctx, r.Setting, account)
	if err != nil {
		return err
	}
	const cost = "mode filter: others may charge this ledger later, so Rényi divergences claim, and with this noise epsilon %g carries %d " +
		"queries; --mode reserved would carry %s and take no other run"
	if here > countedQueries {
		g.Logf(cost, account.Epsilon, here, "more")
		return nil
	}
	account.Mode, account.Accountant, account.Orders, account.FailureDelta = ledger.Reserved, "auto", nil, 0
	reserved, err := plan.MaxQueries(ctx, r.Setting, account)
	if err != nil {
		return err
	}
	g.Logf(cost, account.Epsilon, here, strconv.Itoa(reserved))
	return nil
}

// firstEntry is the number of a ledger's first entry.
const firstEntry = 1
