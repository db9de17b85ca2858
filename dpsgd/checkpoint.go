package dpsgd

import (
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/pate-go/pate/dpsgd/optim"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/sealed"
)

// checkpointMagic begins a checkpoint file. Little-endian numbers follow:
//
//   - checkpointWords words of eight bytes: steps, four counts of Diagnostics, clip norm, optimizer steps,
//     ledger entry
//   - the parameters as float32
//   - the optimizer state and the average as float64
//   - the correlated noise of the last steps, if any, as int64
//
// A hash under the run's key (see seal) ends the file.
const (
	checkpointMagic = "pate dpsgd checkpoint 2\n"
	checkpointWords = 8
)

// ErrCheckpoint reports a checkpoint that is damaged or belongs to another run.
var ErrCheckpoint = errors.New("dpsgd: not a checkpoint of this run")

// seal returns a hash of body under a key that depends on all inputs of the run.
func (t *trainer) seal(body []byte) ([]byte, error) {
	text, err := t.release.key.DeriveBytes("checkpoint", body).MarshalText()
	if err != nil {
		return nil, fmt.Errorf("dpsgd: %w", err)
	}
	return text, nil
}

func (t *trainer) save() error {
	if t.cfg.Checkpoint == "" || t.done%t.cfg.every(t.cfg.CheckpointEvery) != 0 && t.done != t.cfg.TotalSteps() {
		return nil
	}
	b, state := []byte(checkpointMagic), t.optimizer.State()
	for _, v := range [checkpointWords]uint64{
		uint64(t.done),
		uint64(t.counts.Sampled), uint64(t.counts.Clipped), uint64(t.counts.NonFinite), math.Float64bits(t.counts.Loss),
		math.Float64bits(t.clip.Norm()), uint64(state.Steps), uint64(t.entry),
	} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b = sealed.Append(b, t.model.Parameters())
	for _, doubles := range [][]float64{state.First, state.Second, t.average} {
		b = sealed.Append(b, doubles)
	}
	for _, v := range t.release.banded.state() {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	seal, err := t.seal(b)
	if err != nil {
		return err
	}
	if err := durable.WriteBytes(t.cfg.Checkpoint, 0o600, append(b, seal...)); err != nil {
		return fmt.Errorf("dpsgd: checkpoint: %w", err)
	}
	return nil
}

func (t *trainer) resume() error {
	if t.cfg.Checkpoint == "" {
		return nil
	}
	f, err := os.Open(t.cfg.Checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("dpsgd: checkpoint: %w", err)
	}
	defer f.Close()
	if err := t.read(f); err != nil {
		return fmt.Errorf("%w (%s)", err, t.cfg.Checkpoint)
	}
	return nil
}

func (t *trainer) read(r io.Reader) error {
	state, correlated := t.optimizer.State(), t.release.banded.state()
	doubles := len(state.First) + len(state.Second) + len(t.average) + len(correlated)
	size := len(checkpointMagic) + 8*checkpointWords + 4*len(t.model.Parameters()) + 8*doubles
	empty, err := t.seal(nil)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(r, int64(size+len(empty)+1)))
	if err != nil {
		return fmt.Errorf("dpsgd: checkpoint: %w", err)
	}
	if len(data) != size+len(empty) {
		return ErrCheckpoint
	}
	seal, err := t.seal(data[:size])
	if err != nil {
		return err
	}
	if subtle.ConstantTimeCompare(seal, data[size:]) != 1 {
		return ErrCheckpoint
	}
	f, err := sealed.Fields(data[:size], checkpointMagic)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	done := int(f.Uint(8))
	counts := Diagnostics{
		Sampled: int64(f.Uint(8)), Clipped: int64(f.Uint(8)), NonFinite: int64(f.Uint(8)),
		Loss: math.Float64frombits(f.Uint(8)),
	}
	clip, steps, entry := math.Float64frombits(f.Uint(8)), int64(f.Uint(8)), int64(f.Uint(8))
	if entry != t.entry {
		return fmt.Errorf("%w: it belongs to entry %d of the ledger, the reservation is entry %d", ErrCheckpoint, entry, t.entry)
	}
	parameters := sealed.Numbers[float32](f, len(t.model.Parameters()))
	state = optim.State{
		Steps: steps, First: sealed.Numbers[float64](f, len(state.First)), Second: sealed.Numbers[float64](f, len(state.Second)),
	}
	average := sealed.Numbers[float64](f, len(t.average))
	for i := range correlated {
		correlated[i] = int64(f.Uint(8))
	}
	err = f.End()
	if err == nil {
		err = t.optimizer.Restore(state)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	copy(t.model.Parameters(), parameters)
	copy(t.average, average)
	t.release.banded.restore(correlated)
	t.done, t.counts = done, counts
	if t.cfg.Clipping.Adaptive.on() {
		t.clip = FlatClip(clip)
	}
	return nil
}
