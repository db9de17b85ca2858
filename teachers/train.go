package teachers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/teachers/votes"
)

// Config describes an ensemble.
type Config struct {
	Learner  Learner // trains every teacher; no default
	Teachers int     // number of teachers; no default
	// Key is the run key. It has no default. Teacher t draws from Key.Derive("teacher", t), so its model
	// depends on its share and on t only.
	Key rng.Key
	// Workers is the number of teachers trained at once. 0 means GOMAXPROCS. The votes do not depend on it.
	Workers int

	// Checkpoint is a folder (mode 0700, created if missing) for the votes of each finished teacher, from
	// which an interrupted run resumes; "" keeps no votes. A folder may be used by one process at a time, or
	// by several calls of [TrainPart] for different parts. The files are as secret as the data. See [Train].
	Checkpoint string
	// Fingerprint identifies the run in the checkpoint. It is a hash of everything that shapes a teacher and
	// is not visible to Train, above all the learner and its parameters.
	Fingerprint [32]byte

	// Progress, if set, is called after every finished or resumed teacher, from one goroutine at a time; done
	// rises to total.
	Progress func(done, total int)
}

// queryRows is the number of queries per call of a model. Train checks ctx between calls.
const queryRows = 512

// savesAtOnce is the maximum number of checkpoints being written at a time, with their shares in memory.
const savesAtOnce = 8

// TrainPart trains the teachers t with t mod parts = part, for a machine that shares the checkpoint folder
// with other machines, and saves their votes there. [Train] with the same arguments loads the votes of
// finished parts and trains the remaining teachers. TrainPart also returns its votes, in a matrix where all
// other teachers abstain.
func TrainPart(ctx context.Context, cfg Config, part, parts int, private Dataset, share []int, queries Matrix) (*votes.Matrix, error) {
	switch {
	case parts < 1 || part < 0 || part >= parts || parts > cfg.Teachers:
		return nil, fmt.Errorf("teachers: part %d of %d, of %d teachers", part, parts, cfg.Teachers)
	case cfg.Checkpoint == "":
		return nil, errors.New("teachers: a part of an ensemble needs Config.Checkpoint")
	}
	e, err := newEnsemble(cfg, part, parts, private, share, queries)
	if err != nil {
		return nil, err
	}
	return e.run(ctx)
}

// Train fits one teacher on each share and returns the votes of all teachers on the queries. share[i] is the
// teacher of record i, from [Partition]. A teacher without records is trained on an empty share. Models are
// dropped once they have voted.
//
// The first teacher to fail, or to panic in the goroutine that trains it, ends the run with an error that
// names the teacher. When ctx ends, Train returns an error that wraps ctx.Err() as soon as the learners
// stop. With an error it returns no votes.
//
// With Config.Checkpoint each teacher's votes are saved when it is done, in a file that is written
// atomically. A later run loads a file if its checksum is right and it was made from the same fingerprint,
// key, teacher, share and queries, and replaces a damaged or outdated file. A file of another fingerprint or
// shape means that the folder belongs to another run: Train then returns [run.ErrOtherRun] and leaves the
// file unchanged.
func Train(ctx context.Context, cfg Config, private Dataset, share []int, queries Matrix) (*votes.Matrix, error) {
	e, err := newEnsemble(cfg, 0, 1, private, share, queries)
	if err != nil {
		return nil, err
	}
	return e.run(ctx)
}

type ensemble struct {
	cfg     Config
	mine    []int // teachers to train, ascending
	private Dataset
	members [][]int // records of each teacher, ascending
	queries Matrix
	folder  *checkpoint // nil without Config.Checkpoint
	votes   *votes.Matrix

	saves  sync.WaitGroup
	saving chan struct{} // holds a value for each file that is being written

	mu   sync.Mutex // guards done and Progress
	done int
}

func newEnsemble(cfg Config, part, parts int, private Dataset, share []int, queries Matrix) (*ensemble, error) {
	switch {
	case cfg.Learner == nil:
		return nil, errors.New("teachers: Config.Learner is nil")
	case cfg.Teachers < 1 || cfg.Teachers > votes.MaxTeachers:
		return nil, fmt.Errorf("teachers: Config.Teachers is %d, want 1 to %d", cfg.Teachers, votes.MaxTeachers)
	case cfg.Key.IsZero():
		return nil, errors.New("teachers: Config.Key is zero")
	case cfg.Workers < 0:
		return nil, fmt.Errorf("teachers: Config.Workers is %d", cfg.Workers)
	case len(share) != private.X.Rows:
		return nil, fmt.Errorf("teachers: shares of %d records for %d rows", len(share), private.X.Rows)
	}
	if err := private.Validate(); err != nil {
		return nil, fmt.Errorf("teachers: private data: %w", err)
	}
	if err := checkQueries(queries, private.X.Cols); err != nil {
		return nil, fmt.Errorf("teachers: queries: %w", err)
	}
	matrix, err := votes.New(queries.Rows, cfg.Teachers, private.Classes)
	if err != nil {
		return nil, err
	}
	members := make([][]int, cfg.Teachers)
	for i, t := range share {
		if t < 0 || t >= cfg.Teachers {
			return nil, fmt.Errorf("teachers: record %d belongs to teacher %d of %d", i, t, cfg.Teachers)
		}
		members[t] = append(members[t], i)
	}
	e := &ensemble{cfg: cfg, private: private, members: members, queries: queries, votes: matrix, saving: make(chan struct{}, savesAtOnce)}
	for t := part; t < cfg.Teachers; t += parts {
		e.mine = append(e.mine, t)
	}
	if cfg.Checkpoint != "" {
		e.folder, err = openCheckpoint(cfg, e.mine, queries, private.Classes)
		if err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (e *ensemble) run(ctx context.Context) (*votes.Matrix, error) {
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	fail := func(t int, err error) { cancel(fmt.Errorf("teachers: teacher %d: %w", t, err)) }
	teachers := make(chan int)
	var wg sync.WaitGroup
	for range min(cmp.Or(e.cfg.Workers, runtime.GOMAXPROCS(0)), len(e.mine)) {
		wg.Go(func() {
			for t := range teachers {
				if err := e.teacher(ctx, t, fail); err != nil {
					fail(t, err)
					return
				}
			}
		})
	}
hand:
	for _, t := range e.mine {
		select {
		case teachers <- t:
		case <-ctx.Done():
			break hand
		}
	}
	close(teachers)
	wg.Wait()
	e.saves.Wait()
	if err := outer.Err(); err != nil {
		return nil, fmt.Errorf("teachers: training stopped: %w", err)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return e.votes, nil
}

// teacher trains teacher t, or loads its votes from the checkpoint, and fills its column. Its file is
// written while another teacher is trained; if writing fails, it calls fail.
func (e *ensemble) teacher(ctx context.Context, t int, fail func(t int, err error)) error {
	data := e.share(t)
	column := make([]int, e.queries.Rows)
	resumed, err := false, error(nil)
	if e.folder != nil {
		resumed, err = e.folder.load(t, data, column)
	}
	if err == nil && !resumed {
		err = e.fit(ctx, t, data, column)
	}
	if err != nil {
		return err
	}
	// These are distinct elements of one array: no two teachers write the same byte.
	for q, vote := range column {
		if err := e.votes.Set(q, t, vote); err != nil {
			return err
		}
	}
	if resumed || e.folder == nil {
		e.finished()
		return nil
	}
	e.saving <- struct{}{}
	e.saves.Go(func() {
		defer func() { <-e.saving }()
		if err := e.folder.save(t, data, column); err != nil {
			fail(t, err)
			return
		}
		e.finished()
	})
	return nil
}

func (e *ensemble) finished() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done++
	if e.cfg.Progress != nil {
		e.cfg.Progress(e.done, len(e.mine))
	}
}

// share copies the records of teacher t, in their order in the private data.
func (e *ensemble) share(t int) Dataset {
	data := Dataset{
		X:       dense.New(len(e.members[t]), e.private.X.Cols),
		Y:       make([]int, len(e.members[t])),
		Classes: e.private.Classes,
	}
	for i, record := range e.members[t] {
		copy(dense.Row(data.X, i), dense.Row(e.private.X, record))
		data.Y[i] = e.private.Y[record]
	}
	return data
}

func (e *ensemble) fit(ctx context.Context, t int, data Dataset, column []int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	rnd := rand.New(e.cfg.Key.Derive("teacher", uint64(t)).Stream())
	model, err := e.cfg.Learner.Fit(ctx, data, rnd)
	if err != nil {
		return err
	}
	if model == nil {
		return errors.New("learner returned no model")
	}
	for from := 0; from < e.queries.Rows; from += queryRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := min(from+queryRows, e.queries.Rows)
		if err := model.Predict(column[from:to], dense.Rows(e.queries, from, to)); err != nil {
			return err
		}
	}
	for q, vote := range column {
		if vote < votes.Abstention || vote >= data.Classes {
			return fmt.Errorf("model answers %d on query %d, outside [-1, %d)", vote, q, data.Classes)
		}
	}
	return nil
}

// Partition returns the teacher, in [0, teachers), of every record from its unit id: the id of the record,
// or of the person it belongs to. The teacher is a pseudo-random function (HMAC-SHA-256) of key and id
// alone. So the records of one unit have the same teacher, and adding or removing a record moves no other
// record. Shares do not have equal sizes, and must not be made equal: a share of expected size n has about n
// ± √n records.
//
// Ids are compared byte by byte. An empty id is refused: it usually is a missing value, and would make
// different people one unit.
func Partition(units []string, teachers int, key rng.Key) ([]int, error) {
	if teachers < 1 || teachers > votes.MaxTeachers {
		return nil, fmt.Errorf("teachers: cannot partition among %d teachers, want 1 to %d", teachers, votes.MaxTeachers)
	}
	if key.IsZero() {
		return nil, errors.New("teachers: partition needs a key")
	}
	share := make([]int, len(units))
	for i, unit := range units {
		if unit == "" {
			return nil, fmt.Errorf("teachers: record %d has no unit id", i)
		}
		share[i] = int(key.DeriveBytes("unit", []byte(unit)).Stream().Uint64N(uint64(teachers)))
	}
	return share, nil
}
