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
	Learner  Learner // trains every teacher; required
	Teachers int     // number of teachers; required
	// Key is the run key and is required. Teacher t draws from Key.Derive("teacher", t), so its model depends
	// only on t and on its own data.
	Key rng.Key
	// Workers is the number of teachers trained at once, by default GOMAXPROCS. It does not affect votes.
	Workers int

	// Checkpoint is a folder for the votes of finished teachers. An interrupted run resumes from these votes.
	// The folder is created with mode 0700. With "" no votes are saved. Only one process may use the folder
	// at a time, except for [TrainPart] of different parts. The files are as secret as the data.
	Checkpoint string
	// Fingerprint identifies the run in the checkpoint. Fingerprint must be a hash of the learner, its
	// parameters and everything else that affects votes. The key, the training data and the queries are not
	// needed, because Train compares them.
	Fingerprint [32]byte

	// Progress, if not nil, is called after every finished or resumed teacher. Calls are not concurrent, and
	// done increases up to total.
	Progress func(done, total int)
}

const queryRows = 2000

const savesAtOnce = 8

// TrainPart trains the teachers t with t mod parts = part, and saves their votes in the checkpoint folder.
// Machines that share the folder can train different parts. [Train] with the same arguments then loads these
// votes and trains missing teachers. In the returned matrix, teachers of other parts abstain.
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

// Train fits one teacher on each partition and returns the votes of all teachers on the queries. Record i
// belongs to teacher share[i], from [Partition]. A teacher without records is trained on empty data. Models
// are dropped after voting.
//
// If a teacher fails, or panics in its goroutine, Train returns an error with the number of the teacher. When
// ctx ends, Train waits for the learners and returns an error that wraps ctx.Err(). With an error, Train
// returns no votes.
//
// With Config.Checkpoint, Train writes the votes of each finished teacher atomically to a file. A later run
// with the same fingerprint, key, training data and queries loads the file. Train overwrites a damaged file,
// or one with another key, training data or queries. If the fingerprint or a size (teachers, queries or
// classes) differs, Train leaves the file unchanged and returns [run.ErrOtherRun].
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
	members [][]int // indices of each teacher's records, ascending
	queries Matrix
	folder  *checkpoint // nil without Config.Checkpoint
	votes   *votes.Matrix

	saves  sync.WaitGroup
	saving chan struct{} // holds one value for each file being written

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
	// Each teacher writes its own column, so no two goroutines write the same byte.
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
	predict := model.Predict
	if m, ok := model.(*kernelModel); ok {
		predict = m.predict // newEnsemble checked the queries
	}
	for from := 0; from < e.queries.Rows; from += queryRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := min(from+queryRows, e.queries.Rows)
		if err := predict(column[from:to], dense.Rows(e.queries, from, to)); err != nil {
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

// Partition returns the teacher of every record, in [0, teachers). A unit id identifies a record or its
// person. The teacher is a pseudo-random function (HMAC-SHA-256) of the key and the unit id. So all records
// of a unit have the same teacher, and an added or removed record moves no other record. A partition of
// expected size n has about n ± √n records. Do not equalise the sizes: then one record could move others.
//
// Ids are compared byte by byte. An empty id is refused, because missing values would make different people
// one unit.
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
