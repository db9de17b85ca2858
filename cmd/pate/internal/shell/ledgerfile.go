package shell

import (
	"fmt"
	"os"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/filekind"
	"github.com/pate-go/pate/run"
)

// LedgerConfig returns how a ledger is to be opened, and whether it is new: then it must be
// known what it is for, and its folder must be there.
func LedgerConfig(file run.File) (account ledger.Config, fresh bool, err error) {
	account, fresh, err = file.Look()
	if err == nil && fresh {
		if account.Epsilon == 0 {
			return account, true, UsageError("privacy", fmt.Errorf("--epsilon is required: %s is new", file.Path))
		}
		err = Target{Flag: "--ledger", Path: file.Path, Topic: "ledger"}.CheckWritable()
	}
	return account, fresh, FaultError(err, "ledger")
}

// OpenLedgerFile opens a ledger to read, and returns what is known of it; a ledger that
// is being written may be read as well.
func OpenLedgerFile(path string) (*os.File, *run.Heads, error) {
	if err := WrongKind(path, "a ledger", "ledger", filekind.Ledger, filekind.Folder, filekind.Empty); err != nil {
		return nil, nil, err
	}
	known, err := run.ReadHeads(path)
	if err != nil {
		return nil, nil, FaultError(err, "ledger")
	}
	f, err := durable.OpenRegular(path)
	if err != nil {
		return nil, nil, InputError(err, "the ledger is read from this file", "check its name", "ledger")
	}
	return f, known, nil
}

// HeadNames names the heads that a ledger was found to hold.
func HeadNames(known *run.Heads) []string {
	names := []string{}
	for _, head := range []struct {
		name string
		head ledger.Head
	}{{"kept beside the ledger", known.Beside}, {"kept in the user's state folder", known.Mark}, {"given with --head", known.Given}} {
		if head.head != (ledger.Head{}) {
			names = append(names, head.name)
		}
	}
	return names
}
