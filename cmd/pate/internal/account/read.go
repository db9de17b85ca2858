package account

import (
	"errors"
	"fmt"
	"io"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/accountant/imports"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/filekind"
)

// maxEventsFile bounds the input; the accountant has the same bound.
const maxEventsFile = 16 << 20

// readSchedule reads the events in path, or in stdin when that is "-".
func readSchedule(stdin io.Reader, path, from string) (accountant.Schedule, error) {
	in := stdin
	if path != "-" {
		file, err := durable.OpenRegular(path)
		if err != nil {
			return accountant.Schedule{}, shell.InputError(err, "the events are read from this file",
				"check its name, or give - and pipe them in", "account")
		}
		defer file.Close()
		in = file
	}
	schedule, err := parseScheduleFrom(in, from)
	if err == nil {
		return schedule, nil
	}
	switch is := filekind.Of(path); {
	case path == "-":
	case is == filekind.Ledger:
		return accountant.Schedule{}, shell.InputError(fmt.Errorf("%s is a ledger, not a list of events", path),
			"it says itself what was charged, and what that costs",
			"what it spent: pate ledger show "+shell.ShellWord(path)+"; its events alone: pate ledger "+
				"statement "+shell.ShellWord(path)+" --format json, in the field events", "account")
	default:
		if wrong := shell.WrongKind(path, "a list of events", "account", filekind.Events, filekind.JSON); wrong != nil {
			return accountant.Schedule{}, wrong
		}
	}
	why, fix := "every field of every event must be there, known, and in range", "pate account --help lists the types of events and their fields"
	switch {
	case errors.Is(err, accountant.ErrUnsupportedEvent):
		why = "an event that does not mean exactly the same here is refused, not guessed"
		fix = "write the schedule as pate events"
	case from != "pate":
		fix = "give the text as Python prints it, and --from what printed it"
	}
	return accountant.Schedule{}, shell.InputError(fmt.Errorf("%s: %w", path, err), why, fix, "account")
}

func parseScheduleFrom(in io.Reader, from string) (accountant.Schedule, error) {
	switch from {
	case "dp_accounting":
		return imports.DPAccounting(in)
	case "opacus":
		return imports.Opacus(in)
	}
	data, err := io.ReadAll(io.LimitReader(in, maxEventsFile+1))
	if err != nil {
		return accountant.Schedule{}, err
	}
	return accountant.ParseSchedule(data)
}
