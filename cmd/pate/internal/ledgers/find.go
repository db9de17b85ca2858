package ledgers

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/filekind"
	"github.com/pate-go/pate/internal/results"
)

// find returns the path of the ledger in a folder, and checks the other files of the folder. A path that is
// not a folder is returned unchanged.
func (c *checks) find(path string) (string, error) {
	if filekind.Of(path) != filekind.Folder {
		return path, nil
	}
	c.folder = filepath.Clean(path) + string(filepath.Separator)
	folder := results.Folder(filepath.Clean(path))
	parts := []string{folder.Private("ledger"), folder.Private("results"), folder.Private(), folder.Public()}
	if there, err := durable.Exists(folder.Public()); err == nil && !there {
		if there, err = durable.Exists(folder.Private()); err == nil && !there {
			parts = []string{filepath.Clean(path)}
		}
	}
	var ledgers []string
	keys := &check{Check: "keys", Result: isRight, Says: "no key of a run is left here"}
	if gone := folder.Removed(); gone != "" {
		keys.Says = "removed: " + gone
	}
	for _, part := range parts {
		err := filepath.WalkDir(part, func(at string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				if err == nil && at != part && part != folder.Public() {
					return filepath.SkipDir
				}
				return err
			}
			switch kind := filekind.Of(at); kind {
			case filekind.Ledger:
				ledgers = append(ledgers, at)
			case filekind.Key:
				if part == folder.Public() {
					keys.Result, keys.Path, keys.Says = isWrong, at, "a secret key lies among files that may leave"
				} else if filepath.Ext(at) != ".id" {
					keys.Result, keys.Path, keys.Says = unchecked, at, "the run is not complete, and its key can remove the noise"
				}
			case filekind.Labels, filekind.Model, filekind.Statement, filekind.Registry:
				if part == folder.Private() {
					return nil
				}
				name := map[filekind.Kind]string{filekind.Labels: "labels", filekind.Model: "model"}[kind]
				return c.add(cmp.Or(name, "statement"), at)
			case filekind.Signature:
				c.list = append(c.list, &check{Check: "signature", Result: unchecked, Path: at, Says: "give --signature and --public-key"})
			default:
				c.report(at)
			}
			return nil
		})
		if err != nil && !os.IsNotExist(err) {
			return "", shell.InputError(err, "all files of the folder are checked", "give a folder that you can read", "ledger")
		}
	}
	c.list = append(c.list, keys)
	if len(ledgers) == 0 {
		return "", shell.InputError(fmt.Errorf("%s has no ledger", path), "files are compared with the ledger of their release",
			"give the folder of a run, or a ledger", "ledger")
	}
	for _, other := range ledgers[1:] {
		one := &check{Check: "copy", Result: isRight, Path: other, Says: "equal to the ledger"}
		if same, err := equal(other, ledgers[0]); err != nil || !same {
			one.Result, one.Says = isWrong, "differs from the ledger"
		}
		if filepath.Base(other) != filepath.Base(ledgers[0]) {
			return "", shell.InputError(fmt.Errorf("%s has several ledgers, such as %s and %s", path, ledgers[0], other),
				"each ledger has its own budget", "give one of the ledgers, with its files", "ledger")
		}
		c.list = append(c.list, one)
	}
	return ledgers[0], nil
}

func equal(a, b string) (bool, error) {
	x, err := shell.HashFile(a)
	if err != nil {
		return false, err
	}
	y, err := shell.HashFile(b)
	return x == y, err
}

var listing = regexp.MustCompile(`<a href="([^"/\\]+)">[^<]*</a></td><td><code>([0-9a-f]{64})</code>`)

func (c *checks) report(path string) {
	text, err := shell.ReadStart(path, 1<<20)
	if err != nil || !strings.Contains(string(text), "<title>What was published</title>") {
		return
	}
	files := listing.FindAllStringSubmatch(string(text), -1)
	one := &check{Check: "report", Result: isRight, Path: path, Says: fmt.Sprintf("the %d files that it lists have their hashes", len(files))}
	for _, f := range files {
		at := filepath.Join(filepath.Dir(path), f[1])
		sum, err := shell.HashFile(at)
		if err != nil || fmt.Sprintf("%x", sum) != f[2] {
			one.Result, one.Says = isWrong, f[1]+" is missing, or is not the listed file"
			break
		}
	}
	c.list = append(c.list, one)
}
