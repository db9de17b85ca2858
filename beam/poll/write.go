package poll

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"

	"github.com/pate-go/pate/internal/durable"
)

// Sharded is the destination of counts: Shards files with names that begin with Prefix. In the order of their
// names, the files concatenate to the file of `pate votes counts`. Prefix is a path that all workers can
// write, or a URL with a scheme of the engine, such as gs.
type Sharded struct {
	Prefix string
	Shards int // 1 to [MaxShards]; some files are empty if there are fewer blocks
}

const MaxShards = 99999

func (o Sharded) Validate() error {
	switch {
	case o.Prefix == "":
		return errors.New("poll: Prefix is empty, want how the names of the files begin")
	case o.Shards < 1 || o.Shards > MaxShards:
		return fmt.Errorf("poll: Shards is %d, want 1 to %d", o.Shards, MaxShards)
	}
	return nil
}

func (o Sharded) Files() []string {
	names := make([]string, o.Shards)
	for i := range names {
		names[i] = o.file(int64(i))
	}
	return names
}

func (o Sharded) file(shard int64) string {
	return fmt.Sprintf("%s-%05d-of-%05d.csv", o.Prefix, shard, o.Shards)
}

type piece struct {
	Block int64 // outsideBlocks for a piece that only announces the shard
	Text  []byte
}

// WriteCounts writes the counts c to files and returns the file names. If a check of [CheckVotes] fails, no
// file is written. A file that is written again has the same bytes. On a disk, files are written atomically
// with mode 0600, because counts are as secret as the votes.
func WriteCounts(s beam.Scope, c Counts, to Sharded) beam.PCollection {
	if err := to.Validate(); err != nil {
		panic(err)
	}
	s = s.Scope("WriteCounts")
	n := int64(to.Shards)
	pieces := beam.ParDo(s, &textFn{Poll: c.poll, Shards: n}, c.blocks)
	all := beam.ParDo(s, &shardsFn{Shards: n}, beam.Impulse(s))
	shards := beam.GroupByKey(s, beam.Flatten(s, pieces, all))
	return beam.ParDo(s, &writeFn{Poll: c.poll, To: to}, shards, beam.SideInput{Input: c.report})
}

type textFn struct {
	Poll   Poll
	Shards int64
}

func (f *textFn) ProcessElement(block int64, t tally, emit func(int64, piece)) {
	if block == outsideBlocks {
		return // the report contains these votes
	}
	emit(f.Poll.shardOf(block, f.Shards), piece{block, f.Poll.lines(block, t.s.counts)})
}

func (p Poll) lines(block int64, counts []uint32) []byte {
	rows := p.rows(block)
	if counts == nil {
		counts = make([]uint32, rows*p.Classes)
	}
	text := make([]byte, 0, rows*p.Classes*3)
	for i, n := range counts[:rows*p.Classes] {
		text = strconv.AppendUint(text, uint64(n), 10)
		if i%p.Classes == p.Classes-1 {
			text = append(text, '\n')
		} else {
			text = append(text, ',')
		}
	}
	return text
}

type shardsFn struct{ Shards int64 }

func (f *shardsFn) ProcessElement(_ []byte, emit func(int64, piece)) {
	for shard := range f.Shards {
		emit(shard, piece{Block: outsideBlocks})
	}
}

type writeFn struct {
	Poll Poll
	To   Sharded
}

func (f *writeFn) ProcessElement(ctx context.Context, shard int64, pieces func(*piece) bool, report tally) (string, error) {
	if err := report.s.check(); err != nil {
		return "", err
	}
	shards := int64(f.To.Shards)
	from, to := f.Poll.shardBlocks(shard, shards)
	texts := make([][]byte, to-from)
	var p piece
	for pieces(&p) {
		if p.Block == outsideBlocks {
			continue
		}
		if p.Block < from || p.Block >= to || texts[p.Block-from] != nil {
			return "", fmt.Errorf("poll: block %d of the counts came twice, or to shard %d of %d", p.Block, shard, shards)
		}
		texts[p.Block-from] = p.Text
	}
	for i, text := range texts {
		if text == nil {
			texts[i] = f.Poll.lines(from+int64(i), nil)
		}
	}
	name := f.To.file(shard)
	return name, writeFile(ctx, name, texts)
}

func writeFile(ctx context.Context, name string, texts [][]byte) error {
	all := bytes.Join(texts, nil)
	if !strings.Contains(name, "://") {
		return durable.WriteBytes(name, 0o600, all)
	}
	if err := writeRemote(ctx, name, all); err != nil {
		return fmt.Errorf("poll: %w", err)
	}
	return nil
}

func writeRemote(ctx context.Context, name string, all []byte) error {
	files, err := filesystem.New(ctx, name)
	if err != nil {
		return err
	}
	defer files.Close()
	w, err := files.OpenWrite(ctx, name)
	if err != nil {
		return err
	}
	if _, err := w.Write(all); err != nil {
		w.Close()
		return err
	}
	return w.Close()
}
