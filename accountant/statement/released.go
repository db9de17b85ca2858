package statement

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pate-go/pate/accountant/ledger"
)

var errNotReleased = errors.New("not released")

// File is a released file.
type File struct {
	Name   string // name on the page; the file is not opened
	SHA256 [sha256.Size]byte
}

// Released is a file that the ledger records as released.
type Released struct {
	SHA256  string `json:"sha256"`         // SHA-256 of the file in hexadecimal
	Name    string `json:"name,omitempty"` // empty unless Options lists the file
	Run     string `json:"run,omitempty"`
	Entries string `json:"entries"` // entries that were charged for the file, such as "3" or "3-5"
	entries []int64
}

const mostReleased = 100

type outcomes struct {
	list   []Released
	at     map[[sha256.Size]byte]int
	wanted map[[sha256.Size]byte]File
	found  map[[sha256.Size]byte]bool // by the hash of a wanted file
	runs   map[int64]string           // run of an entry
	more   int64                      // number of commits that are not listed
}

func newOutcomes(files []File) *outcomes {
	o := &outcomes{at: map[[sha256.Size]byte]int{}, wanted: map[[sha256.Size]byte]File{},
		found: map[[sha256.Size]byte]bool{}, runs: map[int64]string{}}
	for _, f := range files {
		o.wanted[f.SHA256] = f
	}
	return o
}

func (o *outcomes) entry(e ledger.Entry) error {
	if e.Run != "" && len(o.runs) < 10*mostReleased {
		o.runs[e.Number] = e.Run
	}
	return nil
}

func (o *outcomes) commit(entry int64, hash [sha256.Size]byte) {
	i, listed := o.at[hash]
	if !listed {
		file, wanted := o.wanted[hash]
		if !wanted && len(o.list) >= mostReleased {
			o.more++
			return
		}
		one := Released{SHA256: hex.EncodeToString(hash[:]), Run: o.runs[entry]}
		if wanted {
			one.Name, one.SHA256 = Plain(file.Name), hex.EncodeToString(file.SHA256[:])
			o.found[file.SHA256] = true
		}
		i = len(o.list)
		o.at[hash], o.list = i, append(o.list, one)
	}
	o.list[i].entries = append(o.list[i].entries, entry)
}

func (o *outcomes) released() []Released {
	for i := range o.list {
		o.list[i].Entries = spanOf(o.list[i].entries)
	}
	return o.list
}

func spanOf(entries []int64) string {
	var parts []string
	for i := 0; i < len(entries); {
		j := i
		for j+1 < len(entries) && entries[j+1] == entries[j]+1 {
			j++
		}
		part := strconv.FormatInt(entries[i], 10)
		if j > i {
			part += "-" + strconv.FormatInt(entries[j], 10)
		}
		if parts = append(parts, part); len(parts) == 10 && j+1 < len(entries) {
			return strings.Join(parts, ", ") + fmt.Sprintf(" and %d more", len(entries)-j-1)
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}
