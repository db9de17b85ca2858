package shell

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/internal/teachers/manifest"
)

// Stated is what a manifest beside votes, FILE.manifest.json, as pate train writes it, states of
// them; without one all is zero.
type Stated struct {
	manifest.Head
	Where string // the manifest
}

// StatedBeside reads the first manifest beside votes.
func StatedBeside(args []string) (Stated, error) {
	for _, path := range ExpandPaths(args) {
		where := manifest.Beside(path)
		head, silos, err := manifest.Load(where)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Stated{}, FaultError(err, "votes")
		}
		if head.Teachers == 0 { // each silo is one
			head.Teachers = len(silos)
		}
		return Stated{head, where}, nil
	}
	return Stated{}, nil
}

// Settle returns the value of a flag that says what the votes are: the stated one where the flag was
// not given. It refuses a value that the manifest contradicts.
func (s Stated) Settle(cmd *cobra.Command, flag, value, stated string) (string, error) {
	switch given := cmd.Flags().Changed(flag); {
	case stated == "" || value == stated:
		return value, nil
	case !given:
		return stated, nil
	}
	return "", InputError(fmt.Errorf("--%s %s: %s has %q", flag, value, s.Where, stated),
		"the teachers were made so that one changed "+s.Unit+" moves one vote a query; the claim would be about something else, and not be true",
		"leave out --"+flag+", or give the votes of teachers that were made for it", "votes")
}
