package training

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/buildinfo"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/teachers/manifest"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/votes"
)

// Schema is the version of the JSON form of a [Result].
const Schema = "pate.train/1"

// Result describes the trained teachers. Only the name PartFile depends on private rows: it contains a keyed
// hash.
type Result struct {
	Schema   string               `json:"schema"`
	Teachers int                  `json:"teachers"`
	Reason   string               `json:"teachers_reason"`
	Queries  int                  `json:"queries"`
	Classes  []string             `json:"classes"`
	Unit     string               `json:"unit"`
	Relation string               `json:"relation"`
	Learner  string               `json:"learner"`
	Features string               `json:"features"`
	Columns  []dataset.ColumnNote `json:"columns,omitempty"` // columns of a table
	Votes    string               `json:"votes"`
	Manifest string               `json:"manifest"`
	Seeded   bool                 `json:"seeded,omitempty"`
	// Part is set if only some teachers were trained, and the votes file waits for [Merge].
	Part     string `json:"part,omitempty"`
	PartFile string `json:"part_file,omitempty"`
}

const relation = "add_remove"

type task struct {
	Job
	result  *Result
	learner teachers.Learner
	extract features.Extractor
	private dataset.Set
	queries teachers.Matrix
	hashes  manifest.Training
	hash    [32]byte // hash of the private rows
	data    string   // keyed hash of the private rows
	secrets *secrets
}

// Run trains the teachers and saves their votes and a manifest. It resumes a stopped job, and leaves a
// complete job unchanged. An error about input is a [*fault.Error]. If an error wraps ctx.Err(), finished
// work is saved.
func Run(ctx context.Context, j Job) (*Result, error) {
	j, err := j.withDefaults()
	if err != nil {
		return nil, err
	}
	t := &task{Job: j}
	if err := t.readPublic(ctx); err != nil {
		return nil, err
	}
	if err := t.readPrivate(ctx); err != nil {
		return nil, err // no file reveals the private rows
	}
	if err := t.vacant(); err != nil {
		return nil, err
	}
	if t.secrets, err = openSecrets(ctx, j); err != nil {
		return nil, err
	}
	defer t.secrets.unlock()
	t.data = t.secrets.salt.Data(t.hash)
	if j.Parts == 1 { // only this job uses the secrets folder, so a killed run left these files
		durable.Sweep(j.Out, "")
		durable.Sweep(manifest.Beside(j.Out), "")
	}
	done, err := t.complete()
	if err != nil || done {
		return t.result, err
	}
	if j.Parts > 1 {
		if done, err = t.partThere(); err != nil || done {
			return t.result, err
		}
	}
	return t.result, t.train(ctx)
}

func (t *task) readPublic(ctx context.Context) error {
	given := t.Rows != nil
	if !given {
		t.Progress("public rows", 0, 1)
		schema, pool, err := dataset.ReadPublic(t.Public, t.Reading)
		if err != nil {
			return err
		}
		t.Progress("public rows", 1, 1)
		t.Rows = &Rows{Schema: schema, Pool: pool}
	}
	schema, pool := t.Rows.Schema, t.Rows.Pool
	n, reason := t.teachers()
	r := &Result{Schema: Schema, Teachers: n, Reason: reason, Queries: pool.Len(), Classes: schema.Classes,
		Unit: t.Unit, Relation: relation,
		Votes: t.Out, Manifest: manifest.Beside(t.Out), Seeded: !t.Key.IsZero()}
	if schema.Encoder != nil {
		r.Columns = schema.Encoder.Notes()
	}
	name, why := t.Learner, "as given"
	if name == "" {
		name, why = DefaultLearner(schema.Encoder != nil, schema.Image)
	}
	feature := cmp.Or(t.Features, DefaultFeatures(schema.Kind, schema.Image, name))
	var err error
	if t.extract, err = features.Named(feature, schema.Image); err != nil {
		return fmt.Errorf("training: %w", err)
	}
	if t.queries, err = t.features(ctx, "features of public rows", dataset.Set{Name: pool.Name, X: pool.X, Image: pool.Image}); err != nil {
		return err
	}
	if t.learner, err = NewLearner(ctx, name, t.queries.Cols, schema.Image); err != nil {
		return err
	}
	r.Learner, r.Features = name, feature
	t.result = r
	t.Decided(r)
	if !given {
		t.Say(fmt.Sprintf("public rows: %d, of %d features", pool.Len(), t.queries.Cols))
	}
	t.Say(fmt.Sprintf("teachers: %d, %s", n, reason))
	t.Say(fmt.Sprintf("learner: %s, %s", name, why))
	hash := pool.Hash()
	t.hashes = manifest.Training{Program: buildinfo.Read().String(),
		Learner: fmt.Sprintf("%s %T %+v", name, t.learner, t.learner), Features: t.extract.Name(),
		Command: short(t.Command), Public: hex.EncodeToString(hash[:])}
	return nil
}

func short(text string) string {
	const most = 1000
	if text = strings.ToValidUTF8(text, "?"); len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " ..."
}

func (t *task) features(ctx context.Context, stage string, set dataset.Set) (teachers.Matrix, error) {
	if _, raw := t.extract.(features.Raw); raw {
		return set.X, nil
	}
	t.Progress(stage, 0, 1)
	x, err := features.Apply(ctx, set, t.extract, cmp.Or(t.Workers, runtime.GOMAXPROCS(0)))
	t.Progress(stage, 1, 1)
	return x, err
}

func (t *task) readPrivate(ctx context.Context) (err error) {
	t.Progress("private rows", 0, 1)
	set := t.Rows.Private
	if set.Len() == 0 {
		if set, err = t.Rows.Schema.ReadPrivate(t.Private); err != nil {
			return err
		}
	}
	t.hash = set.Hash()
	t.Progress("private rows", 1, 1)
	if set.X, err = t.features(ctx, "features of private rows", set); err != nil {
		return err
	}
	t.private = set
	return ctx.Err()
}

func (t *task) vacant() error {
	if there, err := durable.Exists(t.Secrets); err != nil || there {
		return err
	}
	there, err := durable.Exists(t.Out)
	if err == nil && there && t.Silo == "" {
		err = t.errExists()
	}
	return err
}

func (t *task) complete() (bool, error) {
	there, err := durable.Exists(t.Out)
	if err != nil || !there || t.Silo != "" { // the joint votes of all silos belong to no single silo
		return false, err
	}
	head, _, err := manifest.Load(t.result.Manifest)
	if err != nil {
		if t.secrets.begun { // the run stopped between votes and manifest
			return false, nil
		}
		return false, t.errExists()
	}
	if head.Training == nil || head.SaltID != t.secrets.salt.ID() {
		return false, t.errExists()
	}
	is, want := *head.Training, t.hashes
	is.Program, is.Command, want.Program, want.Command = "", "", "", ""
	record, err := t.secrets.made(t.Out)
	if err != nil {
		return false, err
	}
	if is != want || record.Data != t.data || head.Teachers != t.result.Teachers ||
		head.Unit != t.Unit || !slices.Equal(head.ClassNames, t.result.Classes) {
		return false, t.errExists()
	}
	matrix, err := votes.Load(t.Out, len(t.result.Classes))
	if err != nil || votesHash(matrix) != record.Votes {
		return false, broken(t.Out, "is not what its manifest was written for", "it was changed, or cut off", "remove it and train again")
	}
	t.Say("these votes are complete; nothing was trained")
	return true, t.secrets.finish() // needed if a run stopped just before this call
}

func (t *task) fingerprint() [32]byte {
	return sha256.Sum256(fmt.Appendf(nil, "pate training 1: %q %q %q", t.hashes.Learner, t.hashes.Features, t.result.Classes))
}

func keepVotes(out string, classes int, matrix *votes.Matrix, exists error) error {
	there, err := durable.Exists(out)
	if err != nil {
		return err
	}
	if !there {
		return matrix.Save(out)
	}
	if written, err := votes.Load(out, classes); err != nil || written.Hash() != matrix.Hash() {
		return exists
	}
	return nil // the run stopped between votes and manifest
}

func (t *task) share() ([]int, error) {
	key := t.secrets.key.Derive("partition")
	if t.Silo == "" {
		return teachers.Partition(t.private.Units, t.result.Teachers, key)
	}
	share, err := teachers.Partition(t.private.Units, len(teachersOf(t.Part, t.Parts, t.result.Teachers)), key)
	for i := range share { // map the k-th teacher of this part to its index in the ensemble
		share[i] = t.Part + share[i]*t.Parts
	}
	return share, err
}

func (t *task) errExists() error {
	return refuse(t.Out, "is there already, and was not made by this job from these rows",
		"votes are not overwritten", "choose another --out, or remove it with its manifest and "+t.Secrets)
}

func (t *task) otherJob(err error) error {
	if errors.Is(err, run.ErrOtherRun) {
		return run.OtherRun(t.Secrets+": holds teachers of another job", nil, "teachers are not mixed",
			"choose another --out, repeat that command, or remove the folder")
	}
	return err
}

func (t *task) train(ctx context.Context) error {
	r := t.result
	key := t.secrets.key
	share, err := t.share()
	if err != nil {
		return err
	}
	data := teachers.Dataset{X: t.private.X, Y: t.private.Y, Classes: len(r.Classes)}
	cfg := teachers.Config{Learner: t.learner, Teachers: r.Teachers, Key: key, Workers: t.Workers,
		Checkpoint: t.secrets.single(), Fingerprint: t.fingerprint(),
		Progress: func(done, total int) { t.Progress("teachers", done, total) }}
	if t.Parts > 1 {
		matrix, err := teachers.TrainPart(ctx, cfg, t.Part, t.Parts, data, share, t.queries)
		if err != nil {
			return t.otherJob(err)
		}
		return t.keepPart(matrix)
	}
	matrix, err := teachers.Train(ctx, cfg, data, share, t.queries)
	if err != nil {
		return t.otherJob(err)
	}
	if err := keepVotes(t.Out, len(r.Classes), matrix, t.errExists()); err != nil {
		return err
	}
	if err := t.secrets.keepMade(t.Out, made{Data: t.data, Votes: votesHash(matrix)}); err != nil {
		return err
	}
	head := t.partHead().manifest()
	if err := durable.WriteFile(r.Manifest, 0o644, func(w io.Writer) error { return manifest.Write(w, head) }); err != nil {
		return err
	}
	return t.secrets.finish()
}
