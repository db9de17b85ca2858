package manifest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/teachers/votes"
)

// Report is the result of [Check].
type Report struct {
	Head   Head // of all manifests together
	Silos  []SiloInfo
	Units  int64
	Shared int64 // number of units in more than one silo
	Most   int   // largest number of silos in which one unit occurs
	// Overlaps lists pairs of silos with common units, at most [MaxOverlaps]. The pairs with the most common
	// units come first.
	Overlaps []Overlap
}

// Overlap is a pair of silos with common units.
type Overlap struct {
	A, B  string
	Units int64
}

const MaxOverlaps = 1000

const passUnits = 1 << 22

// Check reads the manifests of all silos, in one or several files, and finds silos with common units. It
// refuses a silo that occurs twice. It also refuses manifests with different units or salts, because their
// hashes are not comparable. Apart from silo names, Check uses less than 150 MB of memory. An error is a
// [*fault.Error] or wraps ctx.Err().
func Check(ctx context.Context, paths []string) (*Report, error) {
	return check(ctx, paths, passUnits, openFile)
}

// CheckText checks a manifest in memory. Errors use `name` as the file name.
func CheckText(ctx context.Context, name string, text []byte) (*Report, error) {
	open := func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	return check(ctx, []string{name}, passUnits, open)
}

type opener func(name string) (io.ReadCloser, error)

func openFile(path string) (io.ReadCloser, error) { return durable.OpenRegular(path) }

func check(ctx context.Context, paths []string, room int, open opener) (*Report, error) {
	if len(paths) == 0 {
		return nil, errors.New("manifest: no file is given")
	}
	r := &Report{}
	names := map[string]string{}
	for i, path := range paths {
		head, silos, err := open.read(ctx, path, func(SiloInfo, Hash) error { return nil })
		if err != nil {
			return nil, err
		}
		if i == 0 {
			r.Head = head
		} else if err := r.Head.join(head); err != nil {
			return nil, &fault.Error{File: path, What: err.Error(),
				Why: "all manifests of one ensemble must agree; " + paths[0] + " is the first", Fix: "create them again with the same salt"}
		}
		for _, s := range silos {
			if first, twice := names[s.Name]; twice {
				return nil, &fault.Error{File: path, What: fmt.Sprintf("names the silo %q, which %s names too", s.Name, first),
					Why: "each silo is one teacher", Fix: "give each its own name"}
			}
			names[s.Name] = path
			r.Silos = append(r.Silos, s)
			r.Units += int64(s.Units)
		}
	}
	return r, r.compare(ctx, paths, room, open)
}

func (h *Head) join(other Head) error {
	switch {
	case other.SaltID != h.SaltID:
		return errors.New("has another salt")
	case other.Unit != h.Unit:
		return fmt.Errorf("has units %q, not %q", other.Unit, h.Unit)
	}
	return cmp.Or(agree("teachers", &h.Teachers, other.Teachers), agree("classes", &h.Classes, other.Classes),
		agree("votes", &h.Votes, other.Votes))
}

func agree[T comparable](what string, have *T, other T) error {
	var unstated T
	if *have == unstated {
		*have = other
	}
	if other != unstated && other != *have {
		return fmt.Errorf("has %s %v, not %v", what, other, *have)
	}
	return nil
}

type entry struct {
	unit Hash
	silo int32
}

func (r *Report) compare(ctx context.Context, paths []string, room int, open opener) error {
	passes := (uint64(r.Units) + uint64(room)/4*3) / (uint64(room) / 4 * 3)
	place := make(map[string]int32, len(r.Silos))
	for i, s := range r.Silos {
		place[s.Name] = int32(i)
	}
	pairs := map[[2]int32]int64{}
	entries := make([]entry, 0, min(int64(room), r.Units))
	for pass := range passes {
		entries = entries[:0]
		for _, path := range paths {
			_, _, err := open.read(ctx, path, func(s SiloInfo, unit Hash) error {
				if part, _ := bits.Mul64(binary.BigEndian.Uint64(unit[:8]), passes); part != pass {
					return nil
				}
				if len(entries) == room {
					return errors.New("the hashes are not distributed like hashes")
				}
				entries = append(entries, entry{unit, place[s.Name]})
				return nil
			})
			if err != nil {
				return err
			}
		}
		slices.SortFunc(entries, func(a, b entry) int {
			return cmp.Or(bytes.Compare(a.unit[:], b.unit[:]), cmp.Compare(a.silo, b.silo))
		})
		r.count(entries, pairs)
	}
	for pair, n := range pairs {
		r.Overlaps = append(r.Overlaps, Overlap{r.Silos[pair[0]].Name, r.Silos[pair[1]].Name, n})
	}
	slices.SortFunc(r.Overlaps, func(a, b Overlap) int {
		return cmp.Or(cmp.Compare(b.Units, a.Units), cmp.Compare(place[a.A], place[b.A]), cmp.Compare(place[a.B], place[b.B]))
	})
	return nil
}

func (r *Report) count(entries []entry, pairs map[[2]int32]int64) {
	for len(entries) > 0 {
		n := 1
		for n < len(entries) && entries[n].unit == entries[0].unit {
			n++
		}
		run := entries[:n]
		entries = entries[n:]
		if r.Most = max(r.Most, n); n > 1 {
			r.Shared++
		}
		for i, a := range run {
			for _, b := range run[i+1:] {
				pair := [2]int32{a.silo, b.silo}
				if _, known := pairs[pair]; !known && len(pairs) == MaxOverlaps {
					break
				}
				pairs[pair]++
			}
		}
	}
}

func (open opener) read(ctx context.Context, path string, visit func(SiloInfo, Hash) error) (Head, []SiloInfo, error) {
	f, err := open(path)
	if err != nil {
		return Head{}, nil, &fault.Error{File: path, What: "the manifest cannot be read", Err: err}
	}
	defer f.Close()
	head, silos, err := Read(stoppable{ctx, f}, visit)
	switch {
	case ctx.Err() != nil:
		return head, nil, fmt.Errorf("manifest: reading: %w", ctx.Err())
	case err != nil:
		return head, nil, &fault.Error{File: path, What: "is not a valid manifest",
			Why: strings.TrimPrefix(err.Error(), "manifest: "), Fix: "create the manifest again with pate votes check hash-ids"}
	}
	return head, silos, nil
}

type stoppable struct {
	ctx context.Context
	r   io.Reader
}

func (s stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

// Join merges the manifest files at the given paths and writes one manifest to w. The argument `r` is the
// result of [Check] for the same paths. The argument `checked` gives the numbers of teachers and classes, and
// the hash of the votes. Join stores this hash only as an HMAC under the salt. If the Salt is zero, Join
// records no hash. A hash without a key would reveal a small vote matrix.
func Join(ctx context.Context, w io.Writer, paths []string, r *Report, checked *votes.Report, salt Salt) error {
	head := r.Head
	head.Teachers, head.Classes, head.Votes = checked.Teachers, checked.Classes, ""
	if !salt.IsZero() {
		if salt.ID() != head.SaltID {
			return errOtherSalt
		}
		head.Votes = salt.Votes(checked.Hash)
	}
	out, err := newWriter(w, head)
	if err != nil {
		return err
	}
	for _, path := range paths {
		last := ""
		_, _, err := opener(openFile).read(ctx, path, func(s SiloInfo, unit Hash) error {
			if s.Name != last {
				out.silo(s.Name)
				last = s.Name
			}
			out.unit(unit)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return out.end()
}

var errOtherSalt = errors.New("manifest: the salt is not the salt of the manifests")

// Findings reports whether the silos are disjoint. If checked is not nil, Findings also compares the numbers
// of teachers and classes with checked. If salt is also not zero, Findings also compares the keyed hashes of
// the votes (see [Join]).
func (r *Report) Findings(checked *votes.Report, salt Salt) []votes.Finding {
	out := []votes.Finding{r.disjoint()}
	if checked == nil {
		return out
	}
	match := func(check, what string, manifest, actual int, stated bool) {
		switch {
		case !stated:
			out = append(out, votes.Finding{Check: check, Level: votes.LevelNote, Detail: "the manifest does not state it"})
		case manifest != actual:
			detail := fmt.Sprintf("%s: %v and %v", what, manifest, actual)
			out = append(out, votes.Finding{Check: check, Level: votes.LevelFail, Detail: detail})
		default:
			out = append(out, votes.Finding{Check: check, Level: votes.LevelOK, Detail: fmt.Sprint(manifest)})
		}
	}
	if n := checked.Teachers; n > 0 {
		if r.Head.Training == nil || len(r.Silos) > 0 {
			match("silos", "silos in the manifest and teachers in the votes", len(r.Silos), n, true)
		}
		match("manifest teachers", "teachers in the manifest and in the votes", r.Head.Teachers, n, r.Head.Teachers > 0)
	}
	match("manifest classes", "classes in the manifest and in the votes", r.Head.Classes, checked.Classes, r.Head.Classes > 0)
	return append(out, r.sameVotes(checked, salt))
}

func (r *Report) sameVotes(checked *votes.Report, salt Salt) votes.Finding {
	f := votes.Finding{Check: "manifest votes", Level: votes.LevelNote}
	switch {
	case r.Head.Votes == "":
		f.Detail = "the manifest does not state it"
	case salt.IsZero():
		f.Detail = "the manifest holds for certain votes; comparing it with these votes needs its salt"
	case salt.ID() != r.Head.SaltID:
		f.Level, f.Detail = votes.LevelFail, "the salt is not the salt of the manifests"
	case r.Head.Votes != salt.Votes(checked.Hash):
		f.Level, f.Detail = votes.LevelFail, "the manifest is for other votes"
	default:
		f.Level, f.Detail = votes.LevelOK, "the manifest is for these votes"
	}
	return f
}

func (r *Report) disjoint() votes.Finding {
	f := votes.Finding{Check: "disjoint", Level: votes.LevelOK}
	switch {
	case r.Head.Training != nil && len(r.Silos) == 0:
		f.Detail = fmt.Sprintf("one program gave each unit (%s) to one teacher, by a keyed hash", r.Head.Unit)
		return f
	case r.Shared == 0:
		f.Detail = fmt.Sprintf("no unit is in two silos: %d silos, %d units (%s)", len(r.Silos), r.Units, r.Head.Unit)
		return f
	}
	var pairs []string
	for i, o := range r.Overlaps {
		if i == 8 {
			pairs = append(pairs, "...")
			break
		}
		pairs = append(pairs, fmt.Sprintf("%s and %s %d", o.A, o.B, o.Units))
	}
	f.Level = votes.LevelFail
	f.Detail = fmt.Sprintf("%d units (%s) are in more than one silo: %s", r.Shared, r.Head.Unit, strings.Join(pairs, "; "))
	return f
}
