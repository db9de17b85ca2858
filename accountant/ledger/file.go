package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/durable"
)

// Schema names the file format: JSON lines, each holding the SHA-256 of the
// line before it.
const Schema = "pate.ledger/1"

// maxFile bounds what is read back.
const maxFile = 64 << 20

// ErrCorrupt is returned when a ledger file is not a whole chain of lines.
var ErrCorrupt = errors.New("ledger: corrupt")

// ErrBroken is returned by every Reserve and Commit from the first write or sync
// on that failed: what is on disk is not known then, so nothing may be built on
// it. Opening the file again reads what is there.
var ErrBroken = errors.New("ledger: broken by a failed write, nothing may be released")

// ErrOtherConfig is returned when a ledger file was made with another Config.
var ErrOtherConfig = errors.New("ledger: another configuration")

// line is one line of the file. The first has Schema and Config, a reservation
// has Event and the total epsilon with it, a commit has Entry and Outcome.
type line struct {
	Schema  string          `json:"schema,omitempty"`
	Config  *Config         `json:"config,omitempty"`
	Event   json.RawMessage `json:"event,omitempty"`
	Epsilon float64         `json:"epsilon,omitempty"`
	Entry   int             `json:"entry,omitempty"`
	Outcome string          `json:"outcome,omitempty"`
	Prev    string          `json:"prev"`
}

// check refuses a line that is not exactly one of the three kinds.
func (l line) check(first bool) error {
	header := l.Schema != "" || l.Config != nil
	reservation := len(l.Event) > 0 || l.Epsilon != 0
	commit := l.Entry != 0 || l.Outcome != ""
	switch {
	case first && (l.Schema != Schema || l.Config == nil || reservation || commit):
		return errors.New("it is not the first line of a ledger")
	case first:
		return nil
	case header:
		return errors.New("it is a first line, further down")
	case reservation == commit:
		return errors.New("it is neither a reservation nor a commit")
	case reservation && len(l.Event) == 0:
		return errors.New("it charges no event")
	case commit && l.Outcome == "":
		return errors.New("it commits no outcome")
	}
	return nil
}

// store is what a ledger needs of its file.
type store interface {
	io.WriteCloser
	Sync() error
}

type file struct {
	f      store
	prev   string // hash of the last line
	broken error  // of the first append that failed

	outcomes map[int]string // committed outcome of each entry
}

func openFile(path string, cfg Config) (_ *file, _ []accountant.Event, err error) {
	lf, err := lockedfile.Edit(path)
	if err != nil {
		return nil, nil, fmt.Errorf("ledger: %w", err)
	}
	defer func() {
		if err != nil {
			lf.Close()
		}
	}()
	if err := lf.Chmod(0o600); err != nil {
		return nil, nil, fmt.Errorf("ledger: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(lf, maxFile+1))
	if err != nil {
		return nil, nil, fmt.Errorf("ledger: %s: %w", path, err)
	}
	if len(data) > maxFile {
		return nil, nil, fmt.Errorf("ledger: %s is larger than %d bytes", path, maxFile)
	}
	f := &file{f: lf, outcomes: map[int]string{}}
	whole := bytes.LastIndexByte(data, '\n') + 1
	events, err := f.read(data[:whole], cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("%w (%s)", err, path)
	}
	if whole < len(data) {
		// The last append was cut off. It was not synced, so nothing that
		// depends on it was released; but without a resumable run nobody can
		// tell what it was, and dropping a charge is not ours to decide.
		if cfg.Run == "" && whole > 0 {
			return nil, nil, fmt.Errorf("%w: line %d is cut off and may be a charge (%s)", ErrCorrupt, bytes.Count(data[:whole], []byte("\n"))+1, path)
		}
		if err := lf.Truncate(int64(whole)); err != nil {
			return nil, nil, fmt.Errorf("ledger: %w", err)
		}
	}
	if _, err := lf.Seek(int64(whole), io.SeekStart); err != nil {
		return nil, nil, fmt.Errorf("ledger: %w", err)
	}
	if whole == 0 {
		if err := f.append(line{Schema: Schema, Config: &cfg}); err != nil {
			return nil, nil, err
		}
		if err := durable.SyncDir(filepath.Dir(path)); err != nil {
			return nil, nil, err
		}
	}
	return f, events, nil
}

// read checks the chain of whole lines and returns the reserved events.
func (f *file) read(data []byte, cfg Config) ([]accountant.Event, error) {
	var events []accountant.Event
	for n := 1; len(data) > 0; n++ {
		end := bytes.IndexByte(data, '\n')
		text := data[:end]
		data = data[end+1:]
		corrupt := func(why any) error { return fmt.Errorf("%w: line %d: %v", ErrCorrupt, n, why) }

		var l line
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&l); err != nil {
			return nil, corrupt(err)
		}
		if _, err := d.Token(); err != io.EOF {
			return nil, corrupt("something follows the entry")
		}
		if l.Prev != f.prev {
			return nil, corrupt("it does not follow the line before it")
		}
		if err := l.check(n == 1); err != nil {
			return nil, corrupt(err)
		}
		switch {
		case n == 1:
			if err := sameConfig(*l.Config, cfg); err != nil {
				return nil, err
			}
		case len(l.Event) > 0:
			e, err := accountant.UnmarshalEvent(l.Event)
			if err != nil {
				return nil, corrupt(err)
			}
			events = append(events, e)
			total, err := epsilonOf(cfg, events)
			if err != nil {
				return nil, corrupt(err)
			}
			if math.Abs(total-l.Epsilon) > 1e-9*total {
				return nil, corrupt(fmt.Sprintf("it says epsilon %v, the events make %v", l.Epsilon, total))
			}
		case l.Entry < 1 || l.Entry > len(events):
			return nil, corrupt(fmt.Sprintf("it commits entry %d of %d", l.Entry, len(events)))
		case f.outcomes[l.Entry] != "":
			return nil, corrupt(fmt.Sprintf("it commits entry %d a second time", l.Entry))
		default:
			f.outcomes[l.Entry] = l.Outcome
		}
		f.prev = digest(text)
	}
	return events, nil
}

func (f *file) reserve(e accountant.Event, total float64) error {
	event, err := accountant.MarshalEvent(e)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return f.append(line{Event: event, Epsilon: total})
}

// commit records the outcome of an entry; a resumed run that repeats its
// outcome writes nothing, one that would release another is stopped.
func (f *file) commit(entry int, outcome string) error {
	switch before, ok := f.outcomes[entry]; {
	case ok && before == outcome:
		return nil
	case ok:
		return fmt.Errorf("ledger: entry %d was committed with another outcome; releasing this one would be a second answer", entry)
	}
	if err := f.append(line{Entry: entry, Outcome: outcome}); err != nil {
		return err
	}
	f.outcomes[entry] = outcome
	return nil
}

// sameConfig names every field in which a ledger was made otherwise than it is
// opened.
func sameConfig(made, opened Config) error {
	var differ []string
	for _, field := range []struct {
		name         string
		made, opened any
	}{
		{"Unit", made.Unit, opened.Unit},
		{"Relation", made.Relation, opened.Relation},
		{"Epsilon", made.Epsilon, opened.Epsilon},
		{"Delta", made.Delta, opened.Delta},
		{"Run", made.Run, opened.Run},
	} {
		if field.made != field.opened {
			differ = append(differ, fmt.Sprintf("%s is %v, opened with %v", field.name, quoted(field.made), quoted(field.opened)))
		}
	}
	if differ == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrOtherConfig, strings.Join(differ, "; "))
}

// quoted shows where a string begins and ends, also one that is empty.
func quoted(v any) any {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return v
}

// append writes one line and returns when it is on disk. After it failed once the
// file ends nobody knows where, and it fails for ever.
func (f *file) append(l line) error {
	if f.broken != nil {
		return f.broken
	}
	l.Prev = f.prev
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	_, err = f.f.Write(append(text, '\n'))
	if err == nil {
		err = f.f.Sync()
	}
	if err != nil {
		f.broken = fmt.Errorf("%w: %w", ErrBroken, err)
		return f.broken
	}
	f.prev = digest(text)
	return nil
}

func (f *file) close() error { return f.f.Close() }

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
