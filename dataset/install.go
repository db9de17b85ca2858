package dataset

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/durable"
)

// tagInstall marks files that are being installed.
const tagInstall = "get"

// Target returns where [Known.Install] puts a file: in the folder $PATE_DATA, which must
// be set, since that is where [Named] looks.
func (k Known) Target(f KnownFile) (string, error) {
	root := os.Getenv("PATE_DATA")
	if root == "" {
		return "", &fault.Error{File: k.Name, What: "has no place to go", Why: "sets are looked for in the folder that PATE_DATA names, and it is not set",
			Fix: "name a folder: export PATE_DATA=$HOME/pate-data"}
	}
	return filepath.Join(root, f.Path), nil
}

// InstallFile puts a file of the set where [Named] finds it, unpacked: all of it, with the
// recorded SHA-256, or nothing. Packed, if not empty, is the SHA-256 that r must have as it
// is, in hexadecimal. From names r in messages.
func (k Known) InstallFile(f KnownFile, r io.Reader, from, packed string) (string, error) {
	path, err := k.Target(f)
	if err != nil {
		return "", err
	}
	if err := durable.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", &fault.Error{File: filepath.Dir(path), What: "cannot be made", Err: err}
	}
	durable.Sweep(path, tagInstall) // of a run that was killed
	sum := sha256.New()
	raw := io.TeeReader(r, sum)
	err = durable.WriteTagged(path, tagInstall, 0o644, func(w io.Writer) error {
		plain, err := unpack(raw)
		if err != nil {
			return &fault.Error{File: from, What: "cannot be unpacked", Err: err}
		}
		got := sha256.New()
		if _, err := io.Copy(io.MultiWriter(w, got), plain); err != nil {
			return &fault.Error{File: from, What: "cannot be read to its end", Err: err, Fix: "try again: what is whole already stays"}
		}
		if _, err := io.Copy(io.Discard, io.LimitReader(raw, MaxBytes)); err != nil { // what a packed file has behind its end
			return &fault.Error{File: from, What: "cannot be read to its end", Err: err}
		}
		return cmp.Or(differs(from, "the SHA-256 that was asked for", sum.Sum(nil), packed), differs(from, "the one that was recorded for "+f.Path, got.Sum(nil), f.SHA256))
	})
	if err != nil {
		return "", err
	}
	return path, nil
}

// differs reports bytes with another hash than is wanted, if one is.
func differs(from, wanted string, got []byte, want string) error {
	if want == "" || hex.EncodeToString(got) == want {
		return nil
	}
	return &fault.Error{File: from, What: fmt.Sprintf("has SHA-256 %x, which is not %s", got, wanted), Why: "with other data, results cannot be compared with others; nothing was kept",
		Fix: "get the file from where it was published", Check: true}
}
