package dataset

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"slices"
)

// splitTable splits units by a hash of their names: 70 % private rows, 20 % pool, 10 % test rows.
func splitTable(t *Table, p Protocol, keep []string, declared *Ranges) (task Task, err error) {
	// If columns are declared, they are encoded as declared, and the pool is drawn from the declaration. Rows
	// of the pool's units are dropped, so private and test rows are the same as without a declaration.
	switch {
	case t.numbers != nil:
		defer t.close()
		err = t.nameUnits()
	case declared != nil:
		declared, err = declared.pick(t)
	}
	if err != nil {
		return Task{}, err
	}
	parts, err := t.parts(p)
	if err != nil {
		return Task{}, err
	}
	if declared != nil {
		parts[1] = nil
	}
	classes, err := t.classesOf(slices.Concat(parts[1], parts[2]))
	if err != nil {
		return Task{}, err
	}
	task = Task{Name: t.Name, Protocol: p, Classes: classes, Kind: Columns, Grouped: t.keyBytes == 0, Provenance: t.Provenance, Ranges: declared}
	s := &Schema{}
	if t.numbers != nil {
		if err := t.fitPool(&task, s, parts[1]); err != nil {
			return Task{}, err
		}
	}
	kept, err := t.fill(&task, parts)
	if err == nil && t.split != nil && t.split.accept != nil {
		err = t.split.accept(task.Private.UnitCount(), true)
	}
	if err == nil && t.silos != nil {
		err = t.fillSilos(&task, kept)
	}
	switch {
	case err != nil || t.numbers != nil:
	case declared != nil:
		task.Encoder = declared.encoder
	default:
		if err = t.enough(kept); err == nil {
			task.Encoder, err = fitEncoder(t.Rows(kept[1]), keep)
		}
	}
	for i, set := range task.sets() {
		switch {
		case err != nil:
			return Task{}, err
		case t.numbers != nil:
			set.X, err = s.matrix(&Table{path: t.path, numbers: some{t.numbers, kept[i]}}, nil)
		default:
			set.X, err = task.Encoder.encodeRows(t, kept[i])
		}
	}
	if err == nil && declared != nil {
		task, err = task.Drawn(nil, nil)
	}
	if err != nil {
		return Task{}, err
	}
	return task, task.validate()
}

func (t *Table) parts(p Protocol) (parts [3][]int, err error) {
	parts = t.splitUnits(upTo(t.Len()), Literature)
	switch p {
	case Literature:
	case Development:
		parts = t.splitUnits(parts[0], Development)
	default:
		return parts, fmt.Errorf("dataset: unknown protocol %q", p)
	}
	return parts, t.enough(parts)
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func (t *Table) enough(parts [3][]int) error {
	private, pool, test := len(parts[0]), len(parts[1]), len(parts[2])
	if min(private, pool, test) > 0 {
		return nil
	}
	return wrong(t.Name, fmt.Sprintf("splits into %d private, %d pool and %d test rows", private, pool, test),
		"each part must have rows", "give a table with more units")
}

func (t *Table) fill(task *Task, parts [3][]int) (kept [3][]int, err error) {
	for i, set := range task.sets() {
		*set = Set{Name: t.Name, Classes: task.Classes, Image: task.Image, Provenance: t.Provenance}
		var out []int
		if kept[i], set.Y, out, err = t.classify(task.Classes, parts[i]); err != nil {
			return kept, err
		}
		set.Units, set.LeftOut = pickRows(t.Units, kept[i]), pickRows(t.Units, out)
		set.IDs = numbered(partNames[i], len(kept[i]))
	}
	return kept, nil
}

// splitUnits hashes each unit together with the protocol, so splits by different protocols are independent.
func (t *Table) splitUnits(rows []int, p Protocol) (parts [3][]int) {
	place := newSplit(p)
	for _, i := range rows {
		part := place.part(t.Units[i][:cmp.Or(t.keyBytes, len(t.Units[i]))])
		parts[part] = append(parts[part], i)
	}
	return parts
}

func newSplit(p Protocol) *placer { return newPlacer("pate dataset split 1 " + string(p)) }

type placer struct {
	mac hash.Hash
	sum []byte
}

func newPlacer(constant string) *placer {
	return &placer{mac: hmac.New(sha256.New, []byte(constant))}
}

func (p *placer) part(key string) int {
	switch u := p.of(key); {
	case u < 0.7:
		return 0
	case u < 0.9:
		return 1
	}
	return 2
}

func (p *placer) of(name string) float64 {
	p.mac.Reset()
	p.sum = append(p.sum[:0], name...)
	p.mac.Write(p.sum) // a hash never returns an error
	p.sum = p.mac.Sum(p.sum[:0])
	return float64(binary.BigEndian.Uint64(p.sum)>>11) / (1 << 53) // 53 bits, so never 1
}
