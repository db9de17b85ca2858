package shell

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/teachers/manifest"
)

// statedTeachers returns the number of teachers that a manifest beside the votes states,
// FILE.manifest.json, as pate train writes it; 0 without one.
func statedTeachers(args []string) (teachers int, where string, err error) {
	for _, path := range args {
		where = path + ".manifest.json"
		f, err := durable.OpenRegular(where)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, where, err
		}
		head, silos, err := manifest.Read(f, func(manifest.SiloInfo, manifest.Hash) error { return nil })
		f.Close()
		if err != nil {
			return 0, where, InputError(fmt.Errorf("%s: %w", where, err), "a manifest beside the votes says how many teachers there are", "restore it, or move it away", "votes")
		}
		if head.Teachers == 0 { // each silo is one
			head.Teachers = len(silos)
		}
		if head.Teachers > 0 {
			return head.Teachers, where, nil
		}
	}
	return 0, "", nil
}
