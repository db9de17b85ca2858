package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// repair is the treatment of a last line that was cut off.
type repair struct {
	// write replaces the fragment; empty drops it. It begins with the fragment's own bytes as far as they
	// determine the kind of line, so that a crash in the middle of writing leaves a fragment that is read
	// the same way again.
	write []byte
	what  string
}

// mend reads a fragment at the end of a file. Its append never returned, so nothing ran under it and
// nothing was released; still no charge is dropped that might have been one, for the fragment may also be
// the rest of a whole line on a bad disk or in a bad copy. So
//
//   - a whole line that lacks its newline is a line,
//   - a reservation that names its event is that reservation,
//   - a seal is that seal: it may have been whole, and answers given under it,
//   - a reservation of a resumable run, or what may be one on a ledger that only such runs have charged,
//     is dropped, as the run will ask for it again before it goes on, and be charged for it then,
//   - another reservation, or what may be one, is all of the budget that was left: nothing more can be reserved,
//   - any other line charges nothing, and is dropped,
//   - and what no append can have left is corrupt.
//
// The chain is not changed.
func (c *chain) mend(fragment []byte) (repair, error) {
	l, err := decode(fragment)
	if err == nil {
		return repair{append(bytes.Clone(fragment), '\n'), "it lacked its newline"}, nil
	}
	// A tornLine that was itself cut off, over the fragment it was to replace: no other line begins so,
	// whatever follows.
	half := bytes.HasPrefix(fragment, fmt.Appendf(nil, `{"line":%d,"t`, c.lines+1)) && !errors.Is(err, errMore)
	if !errors.Is(err, errShort) && !half {
		return repair{}, err
	}
	if l.number != 0 && l.number != c.lines+1 { // 0 is one that was cut off itself
		return repair{}, errors.New("it is cut off, and not the next line either")
	}
	own := l.kind == reserveLine && l.run == 0 // of no named run, whoever else is there
	resumes := c.header.Run != "" || l.run != 0 || !own && len(c.runs) > 0 && c.named() == c.entries
	switch {
	case c.lines == 0:
		return repair{what: "it never became a ledger"}, nil
	case half: // below
	case l.kind == reserveLine && l.text != nil && l.run <= int64(len(c.runs)) && c.mayReserve() == nil && l.entry == c.entries+1:
		more, err := c.balance.chargeOf(l.text)
		if err != nil {
			return repair{}, err
		}
		whole := c.next(reserveLine)
		whole.run, whole.entry, whole.text = l.run, l.entry, l.text
		if whole.epsilon, _, err = c.balance.price(c.balance.cfg.Method(), more); err != nil {
			return repair{}, err
		}
		return repair{append(whole.encode(nil), '\n'), "a reservation, cut off after its event: charged"}, nil
	case l.kind == sealLine && c.header.Mode == Reserved && !c.sealed && c.entries > 0:
		if l.entry != 0 && l.entry != c.entries {
			return repair{}, fmt.Errorf("it is cut off and seals %d entries, there are %d", l.entry, c.entries)
		}
		whole := c.next(sealLine)
		whole.entry = c.entries
		total, err := c.total()
		if err != nil {
			return repair{}, err
		}
		whole.claim(total, c.header)
		return repair{append(whole.encode(nil), '\n'), "a seal: nothing more can be reserved"}, nil
	case c.exhausted || c.sealed,
		l.kind == sealLine || l.kind == commitLine || l.kind == runLine || l.kind == headerLine:
		return repair{what: "it charged nothing: dropped"}, nil
	case resumes:
		return repair{what: "a reservation of a run that will repeat it: dropped"}, nil
	}
	torn := c.next(tornLine)
	torn.text, err = json.Marshal(string(fragment[:min(len(fragment), 256)]))
	if err != nil {
		return repair{}, err
	}
	return repair{append(torn.encode(nil), '\n'), "a reservation of unknown cost: taken to be all that was left"}, nil
}
