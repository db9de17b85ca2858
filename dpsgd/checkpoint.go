package dpsgd

import (
	"bytes"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/pate-go/pate/internal/durable"
)

// checkpointMagic opens a checkpoint file: magic, steps done, the three counts
// of Diagnostics, parameters as float32 and velocity as float64, all
// little-endian, and a seal under the run's key.
const checkpointMagic = "pate dpsgd checkpoint 1\n"

// ErrCheckpoint is returned for a checkpoint that is damaged or of another run:
// other data, configuration, initial parameters or key.
var ErrCheckpoint = errors.New("dpsgd: not a checkpoint of this run")

// checkpointEvery is how many steps lie between two checkpoints.
func (c Config) checkpointEvery() int {
	if c.CheckpointEvery > 0 {
		return c.CheckpointEvery
	}
	return max(1, c.Steps/20)
}

// seal binds a checkpoint to the run: the key was derived from everything the
// run is a function of.
func (t *trainer) seal(body []byte) ([]byte, error) {
	text, err := t.release.key.DeriveBytes("checkpoint", body).MarshalText()
	if err != nil {
		return nil, fmt.Errorf("dpsgd: %w", err)
	}
	return text, nil
}

// save writes the state after so many steps, when it is time to. The file holds
// Diagnostics, which nothing protects: mode 0600.
func (t *trainer) save(done int, d Diagnostics) error {
	if t.cfg.Checkpoint == "" || done%t.cfg.checkpointEvery() != 0 && done != t.cfg.Steps {
		return nil
	}
	b := []byte(checkpointMagic)
	for _, v := range []int64{int64(done), d.Sampled, d.Clipped, d.NonFinite} {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	b = appendFloats(b, t.model.Parameters())
	for _, v := range t.optimizer.velocity {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
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

// resume restores the state of an interrupted run, if there is one, and returns
// how many steps are done. Nothing is changed on an error.
func (t *trainer) resume(d *Diagnostics) (done int, err error) {
	if t.cfg.Checkpoint == "" {
		return 0, nil
	}
	f, err := os.Open(t.cfg.Checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("dpsgd: checkpoint: %w", err)
	}
	defer f.Close()
	done, err = t.read(f, d)
	if err != nil {
		return 0, fmt.Errorf("%w (%s)", err, t.cfg.Checkpoint)
	}
	return done, nil
}

// read takes a checkpoint of exactly the size this run's have.
func (t *trainer) read(r io.Reader, d *Diagnostics) (done int, err error) {
	parameters := t.model.Parameters()
	size := len(checkpointMagic) + 4*8 + (4+8)*len(parameters)
	empty, err := t.seal(nil)
	if err != nil {
		return 0, err
	}
	data, err := io.ReadAll(io.LimitReader(r, int64(size+len(empty)+1)))
	if err != nil {
		return 0, fmt.Errorf("dpsgd: checkpoint: %w", err)
	}
	if len(data) != size+len(empty) || !bytes.HasPrefix(data, []byte(checkpointMagic)) {
		return 0, ErrCheckpoint
	}
	seal, err := t.seal(data[:size])
	if err != nil {
		return 0, err
	}
	if subtle.ConstantTimeCompare(seal, data[size:]) != 1 {
		return 0, ErrCheckpoint
	}
	rest := data[len(checkpointMagic):size]
	next := func() uint64 {
		v := binary.LittleEndian.Uint64(rest)
		rest = rest[8:]
		return v
	}
	done = int(next())
	d.Sampled, d.Clipped, d.NonFinite = int64(next()), int64(next()), int64(next())
	for i := range parameters {
		parameters[i] = math.Float32frombits(binary.LittleEndian.Uint32(rest[4*i:]))
	}
	rest = rest[4*len(parameters):]
	for i := range t.optimizer.velocity {
		t.optimizer.velocity[i] = math.Float64frombits(next())
	}
	return done, nil
}
