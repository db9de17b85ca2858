package compare

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/namedsets"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/internal/unpack"
)

func listSets(g *shell.Globals) error {
	var sets []shell.Object
	var wrong []string
	t := shell.TableOf("<name", "<where", "<sha256", "<licence", "<how to get it")
	for _, k := range namedsets.All() {
		where, sums := "embedded", ""
		var files []shell.Object
		for _, f := range k.Files {
			path, err := k.Find(f)
			if errors.Is(err, fs.ErrNotExist) {
				where, sums, files = "", "", nil
				break
			}
			if err != nil {
				return shell.FaultError(err, "data")
			}
			where = filepath.Dir(path)
			sum, err := unpack.Sum(path)
			if err != nil {
				return err
			}
			sums += sum[:12] + " "
			found := shell.Object{"path", path, "sha256", sum}
			if f.SHA256 != "" {
				found = append(found, "matches", sum == f.SHA256)
				if sum != f.SHA256 {
					wrong, sums = append(wrong, path), sums+"DIFFERS "
				}
			}
			files = append(files, found)
		}
		sets = append(sets, shell.Object{"name", k.Name, "where", where, "licence", k.Licence, "install?", k.Install,
			"files?", files})
		t.Rows = append(t.Rows, []string{k.Name, cmp.Or(where, "not here"), strings.TrimSpace(sums), k.Licence,
			k.Install})
	}
	report := shell.Object{"schema", "pate.data/1", "sets", sets}
	if err := g.Print(report, func(table.Format) table.Table { return t }); err != nil {
		return err
	}
	if len(wrong) > 0 {
		return &shell.CommandError{Code: shell.ExitCheckFailed, What: fmt.Errorf("%s is not the file that was recorded", wrong[0]),
			Why: "the SHA-256 of the file is different, so results cannot be compared with recorded results", Fix: "get it again", Topic: "data"}
	}
	return nil
}
