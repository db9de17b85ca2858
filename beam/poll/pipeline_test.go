package poll

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/votes"
)

// encodedVotes counts the single votes that went from one stage to another.
var encodedVotes atomic.Int64

func encodeVote(v Vote) []byte {
	encodedVotes.Add(1)
	b := binary.LittleEndian.AppendUint64(nil, uint64(v.Query))
	b = binary.LittleEndian.AppendUint32(b, uint32(v.Teacher))
	return binary.LittleEndian.AppendUint32(b, uint32(v.Class))
}

func decodeVote(b []byte) Vote {
	return Vote{int64(binary.LittleEndian.Uint64(b)), int32(binary.LittleEndian.Uint32(b[8:])), int32(binary.LittleEndian.Uint32(b[12:]))}
}

func init() {
	beam.RegisterCoder(reflect.TypeFor[Vote](), encodeVote, decodeVote)
	beam.RegisterFunction(trainOne)
	beam.RegisterDoFn(reflect.TypeFor[failsFn]())
}

// run runs a pipeline on Prism, in this process.
func run(build func(s beam.Scope)) error {
	p, s := beam.NewPipelineWithRoot()
	build(s)
	_, err := prism.Execute(context.Background(), p)
	return err
}

// counts returns what pate votes counts writes of votes in a matrix.
func counts(t *testing.T, m *votes.Matrix, classes int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "votes.npy")
	require.NoError(t, m.Save(path))
	source := testkit.Must(votes.Open(context.Background(), []string{path}, votes.Options{Classes: classes}))
	var b bytes.Buffer
	require.NoError(t, source.WriteCounts(context.Background(), &b, false))
	return b.String()
}

func matrix(t *testing.T, p Poll, all []Vote) *votes.Matrix {
	t.Helper()
	m := testkit.Must(votes.New(int(p.Queries), p.Teachers, p.Classes))
	for _, v := range all {
		require.NoError(t, m.Set(int(v.Query), int(v.Teacher), int(v.Class)))
	}
	return m
}

// written returns the shards, one after the other.
func written(t *testing.T, to Sharded) string {
	t.Helper()
	var b strings.Builder
	for _, name := range to.Files() {
		text := testkit.Must(os.ReadFile(name))
		require.Equal(t, os.FileMode(0o600), testkit.Must(os.Stat(name)).Mode().Perm())
		b.Write(text)
	}
	return b.String()
}

// The counts of the engine are the bytes that pate votes counts writes, and no vote goes from one stage to
// another by itself.
func TestCountsAreThoseOfPateCounts(t *testing.T) {
	p := Poll{Queries: 2500, Teachers: 30, Classes: 10}
	to := Sharded{filepath.Join(t.TempDir(), "counts"), 2}
	before := encodedVotes.Load()
	require.NoError(t, run(func(s beam.Scope) { WriteCounts(s, CountVotes(s, p, SyntheticVotes(s, p)), to) }))
	require.Len(t, to.Files(), 2)
	require.Equal(t, counts(t, matrix(t, p, allVotes(p)), p.Classes), written(t, to))
	// Beam encodes a sample to estimate sizes, one in a hundred or fewer.
	require.Less(t, encodedVotes.Load()-before, p.Queries*int64(p.Teachers)/50)

	// A shuffle before the count would be seen: it encodes every vote.
	p = Poll{Queries: 400, Teachers: 30, Classes: 10}
	before = encodedVotes.Load()
	require.NoError(t, run(func(s beam.Scope) { CheckVotes(s, CountVotes(s, p, beam.Reshuffle(s, SyntheticVotes(s, p)))) }))
	require.GreaterOrEqual(t, encodedVotes.Load()-before, p.Queries*int64(p.Teachers))
}

// Lines in any order, in either form and with classes in either way, are the same counts. A query on which
// nobody voted has a line too.
func TestLinesInAnyOrder(t *testing.T) {
	p := Poll{Queries: 120, Teachers: 9, Classes: 3}
	names := []string{"flu", "gout", "a cold"}
	var all []Vote
	for _, v := range allVotes(p) {
		if v.Query != 7 && v.Query < 110 {
			all = append(all, v)
		}
	}
	want := counts(t, matrix(t, p, all), p.Classes)
	rand.New(rand.NewPCG(4, 4)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, c := range []struct {
		lines Lines
		line  func(v Vote) string
	}{
		{Lines{Form: CSV}, func(v Vote) string { return fmt.Sprintf("%d,%d,%d", v.Query, v.Teacher, v.Class) }},
		{Lines{Form: CSV, ClassNames: names}, func(v Vote) string {
			if v.Class < 0 {
				return fmt.Sprintf("%d,%d,", v.Query, v.Teacher)
			}
			return fmt.Sprintf("%d,%d,%q", v.Query, v.Teacher, names[v.Class])
		}},
		{Lines{Form: JSONLines, FirstClass: 1}, func(v Vote) string {
			if v.Class < 0 {
				return fmt.Sprintf(`{"query": %d, "teacher": %d, "vote": null}`, v.Query, v.Teacher)
			}
			return fmt.Sprintf(`{"vote": %d, "query": %d, "teacher": %d}`, v.Class+1, v.Query, v.Teacher)
		}},
	} {
		dir := t.TempDir()
		for part := range 2 {
			var b strings.Builder
			if c.lines.Form == CSV {
				b.WriteString("query,teacher,vote\n")
			}
			for i := part; i < len(all); i += 2 {
				b.WriteString(c.line(all[i]) + "\n")
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("votes-%d.txt", part)), []byte(b.String()), 0o600))
		}
		to := Sharded{filepath.Join(dir, "counts"), 1}
		require.NoError(t, run(func(s beam.Scope) {
			WriteCounts(s, CountVotes(s, p, c.lines.Votes(s, textio.Read(s, filepath.Join(dir, "votes-*.txt")))), to)
		}))
		require.Equal(t, want, written(t, to))
	}
}

// Votes whose counts would protect nobody, or that are no votes, end the pipeline, and no file is written.
func TestWrongVotesAreRefused(t *testing.T) {
	p := Poll{Queries: 3000, Teachers: 20, Classes: 10}
	twin := allVotes(p)
	for i, v := range twin {
		if v.Teacher == 5 {
			twin[i].Class = twin[i-3].Class
		}
	}
	for name, c := range map[string]struct {
		votes []Vote
		want  string
	}{
		"twice":   {append(allVotes(p), Vote{2999, 4, 1}), "1 votes beyond the first of a teacher on a query: teacher 4 on query 2999"},
		"teacher": {append(allVotes(p), Vote{1, 20, 1}), "1 votes of none of the 20 teachers: teacher 20 on query 1"},
		"class":   {[]Vote{{0, 0, 1}, {1, 0, 10}}, "1 votes for none of the 10 classes: teacher 0 on query 1"},
		"query":   {[]Vote{{0, 0, 1}, {3000, 0, 1}}, "1 votes on none of the 3000 queries: teacher 0 on query 3000"},
		"twins":   {twin, "teachers 2 and 5 vote alike everywhere"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			err := run(func(s beam.Scope) {
				WriteCounts(s, CountVotes(s, p, beam.CreateList(s, c.votes)), Sharded{filepath.Join(dir, "counts"), 2})
			})
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, run(func(s beam.Scope) { CheckVotes(s, CountVotes(s, p, beam.CreateList(s, c.votes))) }), c.want)
			require.Empty(t, testkit.Must(os.ReadDir(dir)))
		})
	}
	for _, line := range []string{"1,2", "1,x,3", "1,2,3.5", "q,t,v", `{"query": 1}`} {
		require.Error(t, run(func(s beam.Scope) { CheckVotes(s, CountVotes(s, p, Lines{Form: CSV}.Votes(s, beam.Create(s, line)))) }), line)
	}
}

// failsFn fails once, at a vote in the middle of a bundle.
type failsFn struct{ At int64 }

var failed atomic.Bool

func (f *failsFn) ProcessElement(v Vote, emit func(Vote)) error {
	if v.Query == f.At && failed.CompareAndSwap(false, true) {
		return errors.New("this worker was lost")
	}
	emit(v)
	return nil
}

// A bundle that is lost and run again changes no count. Prism does not run it again: the pipeline fails,
// and is run once more.
func TestWhatIsRunAgainChangesNothing(t *testing.T) {
	p := Poll{Queries: 2500, Teachers: 5, Classes: 4}
	want := counts(t, matrix(t, p, allVotes(p)), p.Classes)
	rnd := rand.New(rand.NewPCG(5, 5))
	for range 3 {
		to := Sharded{filepath.Join(t.TempDir(), "counts"), 2}
		at, tries := rnd.Int64N(p.Queries), 0
		failed.Store(false)
		for ; ; tries++ {
			err := run(func(s beam.Scope) {
				WriteCounts(s, CountVotes(s, p, beam.ParDo(s, &failsFn{At: at}, SyntheticVotes(s, p))), to)
			})
			if err == nil {
				break
			}
			require.ErrorContains(t, err, "this worker was lost")
			require.NoFileExists(t, to.Files()[0])
		}
		require.Equal(t, min(1, tries), tries)
		require.True(t, failed.Load())
		require.Equal(t, want, written(t, to))
	}
}

const trained = 6

// trainOne trains a teacher as a worker does: it partitions what it reads by the keyed hash, and trains on
// the share of its own.
func trainOne(ctx context.Context, folder string, teacher int) ([]int, error) {
	dir, err := os.MkdirTemp("", "teacher-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cfg, private, share, queries, err := ensemble(folder)
	if err != nil {
		return nil, err
	}
	cfg.Checkpoint = dir
	m, err := teachers.TrainPart(ctx, cfg, teacher, trained, private, share, queries)
	if err != nil {
		return nil, err
	}
	classes := make([]int, queries.Rows)
	for q := range classes {
		classes[q] = m.At(q, teacher)
	}
	return classes, nil
}

// ensemble reads the key that the workers of a folder share, and makes the data.
func ensemble(folder string) (cfg teachers.Config, private teachers.Dataset, share []int, queries teachers.Matrix, err error) {
	seed, err := os.ReadFile(filepath.Join(folder, "key"))
	if err != nil {
		return
	}
	key := rng.SeedKey(uint64(len(seed)))
	rnd := rand.New(rand.NewPCG(6, 6))
	rows := func(n int) (m teachers.Matrix, y []int) {
		m = teachers.Matrix{Rows: n, Cols: 4, Stride: 4, Data: make([]float32, 4*n)}
		for i := range n {
			y = append(y, i%3)
			for j := range 4 {
				m.Data[4*i+j] = rnd.Float32()
			}
			m.Data[4*i+i%3]++
		}
		return m, y
	}
	private.Classes = 3
	private.X, private.Y = rows(120)
	queries, _ = rows(50)
	units := make([]string, 120)
	for i := range units {
		units[i] = fmt.Sprint("unit ", i)
	}
	share, err = teachers.Partition(units, trained, key)
	return teachers.Config{Learner: teachers.Softmax{}, Teachers: trained, Key: key}, private, share, queries, err
}

// Teachers that are trained in the engine, one an element, are those of teachers.Train.
func TestTeachersTrainedInTheEngine(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "key"), bytes.Repeat([]byte{7}, 32), 0o600))
	cfg, private, share, queries, err := ensemble(folder)
	require.NoError(t, err)
	want := counts(t, testkit.Must(teachers.Train(context.Background(), cfg, private, share, queries)), 3)

	p := Poll{Queries: 50, Teachers: trained, Classes: 3}
	to := Sharded{filepath.Join(folder, "counts"), 1}
	require.NoError(t, run(func(s beam.Scope) { WriteCounts(s, CountVotes(s, p, CastVotes(s, p, trainOne, folder)), to) }))
	require.Equal(t, want, written(t, to))

	p.Queries = 51
	require.ErrorContains(t, run(func(s beam.Scope) { CheckVotes(s, CountVotes(s, p, CastVotes(s, p, trainOne, folder))) }), "has votes on 50 queries, want 51")
}

func allVotes(p Poll) (all []Vote) {
	for q := range p.Queries {
		for t := range p.Teachers {
			all = append(all, Vote{q, int32(t), p.synthetic(q, t)})
		}
	}
	return all
}

func tallied(p Poll, all ...Vote) tally {
	t := newTally(p)
	for _, v := range all {
		t.s.add(v)
	}
	return t
}

// inParts divides votes at random among tallies, and puts them together encoded.
func inParts(t *testing.T, p Poll, all []Vote, rnd *rand.Rand) tally {
	t.Helper()
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	got := newTally(p)
	for rest := all; len(rest) > 0; {
		n := 1 + rnd.IntN(min(len(rest), 1+rnd.IntN(len(all)/2)))
		b := encodeTally(tallied(p, rest[:n]...))
		part := testkit.Must(decodeTally(b))
		require.Equal(t, b, encodeTally(part))
		got.s.merge(part.s)
		rest = rest[n:]
	}
	return got
}

var shapes = []Poll{{Queries: 50, Teachers: 7, Classes: 3}, {Queries: 16, Teachers: 300, Classes: 40}, {Queries: 20, Teachers: 64, Classes: 200}}

// However votes are divided among tallies, and in whatever order these come together, the tally is the
// same.
func TestTalliesOfPartsAreTheTallyOfAll(t *testing.T) {
	for _, p := range shapes {
		rnd := rand.New(rand.NewPCG(1, uint64(p.Teachers)))
		all := allVotes(p)
		want := tallied(p, all...)
		require.NoError(t, want.s.check())
		for range 20 {
			require.Equal(t, want, inParts(t, p, all, rnd))
		}
	}
}

// So are the problems: how many votes must not be, and which is named.
func TestProblemsDoNotDependOnTheOrder(t *testing.T) {
	for _, p := range shapes {
		rnd := rand.New(rand.NewPCG(2, uint64(p.Teachers)))
		all := allVotes(p)
		last := all[len(all)-1]
		all = append(all, all[3], all[3], last, Vote{2, int32(p.Teachers), 0}, Vote{1, -1, 0}, Vote{Query: p.Queries}, Vote{Query: -1}, Vote{5, 2, -2}, Vote{5, 1, int32(p.Classes)})
		want := [problems]problem{twice: {3, all[3].Query, all[3].Teacher}, noTeacher: {2, 1, -1}, noClass: {2, 5, 1}, noQuery: {2, -1, 0}}
		for range 20 {
			got := inParts(t, p, all, rnd)
			require.Equal(t, want, got.s.problems)
			require.ErrorContains(t, got.s.check(), "3 votes beyond the first of a teacher on a query: teacher 3 on query 0; 2 votes of none of the")
		}
	}
}

// A tally that was cut off or changed is refused or another tally, and never a panic.
func TestDamagedTallies(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	b := encodeTally(tallied(shapes[0], allVotes(shapes[0])...))
	for n := range b {
		_, err := decodeTally(b[:n])
		require.Error(t, err, n)
	}
	refused := 0
	for range 5000 {
		c := append([]byte(nil), b...)
		c[rnd.IntN(len(c))] ^= byte(1 << rnd.IntN(8))
		if _, err := decodeTally(c); err != nil {
			refused++
		}
	}
	require.Positive(t, refused)
}

// Every query is in one block, and every block in one shard, in order. There are as many shards as were
// asked for, of which those without a block are empty: who puts them together names their number.
func TestBlocksAndShards(t *testing.T) {
	for _, p := range []Poll{{1, 1, 2}, {100, 7, 3}, {100_000, 100, 10}, {4097, 3, 2}, {999, 1 << 20, 1000}} {
		var rows, want int64
		for b := range p.blocks() {
			require.Positive(t, p.rows(b))
			require.Equal(t, b, p.block(rows, p.blockQueries()))
			rows += int64(p.rows(b))
			require.Equal(t, b, p.block(rows-1, p.blockQueries()))
		}
		require.Equal(t, p.Queries, rows)
		require.EqualValues(t, outsideBlocks, p.block(p.Queries, p.blockQueries()))
		require.EqualValues(t, outsideBlocks, p.block(-1, p.blockQueries()))
		for shards := int64(1); shards <= min(p.blocks()+3, 12); shards++ {
			require.Len(t, Sharded{"counts", int(shards)}.Files(), int(shards))
			want = 0
			for shard := range shards {
				from, to := p.shardBlocks(shard, shards)
				require.Equal(t, want, from)
				require.True(t, from < to || shards > p.blocks() && from == to)
				for b := from; b < to; b++ {
					require.Equal(t, shard, p.shardOf(b, shards))
				}
				want = to
			}
			require.Equal(t, p.blocks(), want)
		}
	}
}

func TestALineWithoutAVoteIsAnError(t *testing.T) {
	for line, want := range map[string]string{
		`{"query": 1, "teacher": 2, "vote": null}`: "",
		`{"query": 1, "teacher": 2, "vote": 3}`:    "",
		`{"query": 1, "teacher": 2, "votes": 3}`:   "no vote",
		`{"query": 1, "teacher": 2, "vote": [3]}`:  "neither a number nor a name",
	} {
		_, _, _, err := object(line)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}
