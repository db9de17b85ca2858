package run

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/durable"
)

// HeadFile returns the path of the file with the last recorded head of the ledger at path.
func HeadFile(path string) string { return path + ".head" }

// IDFile returns the path of the secret key of the ledger at path. The ledger identifies private inputs by
// hashes under this key.
func IDFile(path string) string { return path + ".id" }

func target(path string) string {
	if _, err := os.Readlink(path); err != nil {
		return path
	}
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path // the link is broken, so opening it fails
}

// Keys returns the paths of key files for unfinished runs on the ledger at path.
func Keys(path string) ([]string, error) {
	beside, err := os.ReadDir(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	var keys []string
	for _, file := range beside {
		if name := file.Name(); strings.HasPrefix(name, filepath.Base(path)+".") && strings.HasSuffix(name, ".key") {
			keys = append(keys, filepath.Join(filepath.Dir(path), name))
		}
	}
	return keys, nil
}

// markFile returns the path of the second copy of a ledger's head, in the user's state folder.
func markFile(id string) (string, error) {
	dir, err := durable.StateFolder()
	return filepath.Join(dir, id+".head"), err
}

func indexFile(path string) (string, error) {
	dir, err := durable.StateFolder()
	if err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", fmt.Errorf("run: %w", err)
	}
	name := sha256.Sum256([]byte(path))
	return filepath.Join(dir, hex.EncodeToString(name[:16])+".at"), nil
}

func replaces(path string) bool {
	index, err := indexFile(path)
	if err != nil {
		return false
	}
	there, err := durable.Exists(index)
	return there && err == nil
}

func readHead(path string) (ledger.Head, error) {
	f, err := durable.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ledger.Head{}, nil
	}
	if err != nil {
		return ledger.Head{}, fmt.Errorf("the file with the head of the ledger cannot be read: %w", err)
	}
	defer f.Close()
	text := make([]byte, 128)
	n, _ := f.Read(text)
	line, _, _ := strings.Cut(string(text[:n]), "\n")
	head, err := ParseHead(line)
	if err != nil {
		return head, &fault.Error{What: path + " is not the head of a ledger",
			Why: "the head shows whether lines at the end of the ledger are missing", Fix: "restore it", Check: true}
	}
	return head, nil
}

// ParseHead parses a text LINES:HASH.
func ParseHead(text string) (ledger.Head, error) {
	lines, hash, _ := strings.Cut(text, ":")
	n, err := strconv.ParseInt(lines, 10, 64)
	if err != nil || n < 1 || len(hash) != 64 || strings.Trim(hash, "0123456789abcdef") != "" {
		return ledger.Head{}, fmt.Errorf("run: %q is not LINES:HASH", text)
	}
	return ledger.Head{Lines: n, Hash: hash}, nil
}

func formatHead(head ledger.Head) []byte { return fmt.Appendf(nil, "%d:%s\n", head.Lines, head.Hash) }

// Heads holds the recorded heads of a ledger. A missing head is zero.
type Heads struct {
	path   string
	Beside ledger.Head // from HeadFile
	Mark   ledger.Head // from the user's state folder
	Given  ledger.Head // from the caller
}

// ReadHeads reads the head beside the ledger at path. Call ReadHeads before you read the ledger, because
// another process may append lines. To verify the ledger, set [ledger.VerifyOptions].Heads to the method
// [Heads.Of].
func ReadHeads(path string) (*Heads, error) {
	path = target(path)
	beside, err := readHead(HeadFile(path))
	return &Heads{path: path, Beside: beside}, err
}

// Of returns the recorded heads of the ledger with the given id.
func (h *Heads) Of(id string) ([]ledger.Head, error) {
	if id != "" {
		if path, err := markFile(id); err == nil { // without a home folder no such file exists
			if h.Mark, err = readHead(path); err != nil {
				return nil, err
			}
		}
	}
	return []ledger.Head{h.Beside, h.Mark, h.Given}, nil
}

// keep only warns if the second copy of a shared ledger's head cannot be written.
func (b *Book) keep() error {
	head := b.Ledger.Head()
	if err := durable.WriteBytes(HeadFile(b.file.Path), 0o600, formatHead(head)); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	if b.shared {
		b.mark(head)
	}
	return nil
}

func (b *Book) mark(head ledger.Head) {
	path, err := markFile(b.Ledger.State().ID)
	if err == nil {
		err = durable.PrivateFolder(filepath.Dir(path))
	}
	if err == nil {
		durable.Sweep(path, "") // remains of a killed process; this process holds the ledger
		err = durable.WriteBytes(path, 0o600, formatHead(head))
	}
	if index, wrong := indexFile(b.file.Path); err == nil && wrong == nil {
		durable.Sweep(index, "")
		if is, wrong := os.ReadFile(index); wrong != nil || string(is) != b.Ledger.State().ID+"\n" {
			err = durable.WriteBytes(index, 0o600, []byte(b.Ledger.State().ID+"\n"))
		}
	}
	if err != nil {
		b.file.warn("the head of %s is kept only beside the ledger, so an old copy of the whole folder would have a matching old head: %v",
			b.file.Path, err)
	}
}
