package ledger_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
)

func processes() map[string]func(path string) error {
	return map[string]func(path string) error{"resumable": resumable, "greedy": greedy, "cramped": cramped}
}

const (
	processName = "PATE_LEDGER_TEST_PROCESS"
	processPath = "PATE_LEDGER_TEST_PATH"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(processName); name != "" {
		if err := processes()[name](os.Getenv(processPath)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(testkit.Main(m))
}

func process(t *testing.T, name, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(testkit.Must(os.Executable()))
	cmd.Env = append(os.Environ(), processName+"="+name, processPath+"="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

var (
	one    = accountant.GNMax{Sigma: 100}
	shared = ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5, Mode: ledger.Filter, Orders: []float64{12}}
)

const resumableQueries = 40

func label(query int) string {
	h := fnv.New32a()
	fmt.Fprint(h, "key ", query)
	return fmt.Sprintf("%d,%d\n", query, h.Sum32()%10)
}

func resumable(path string) error {
	cfg := shared
	cfg.Run = "key and votes"
	l, err := ledger.Open(context.Background(), path, cfg, ledger.VerifyOptions{})
	if err != nil {
		return err
	}
	defer l.Close()
	for q := range resumableQueries {
		r, err := l.Reserve(one)
		if err != nil {
			return err
		}
		if err := r.Begin(one, ledger.Use{Secret: true}); err != nil {
			return err
		}
		if err := l.Commit(r, []byte(label(q))); err != nil {
			return err
		}
		if _, err := os.Stdout.WriteString(label(q)); err != nil {
			return err
		}
	}
	return nil
}

func greedy(path string) error {
	for {
		l, err := ledger.Open(context.Background(), path, shared, ledger.VerifyOptions{})
		if err != nil {
			return err
		}
		r, err := l.Reserve(one)
		if err == nil {
			err = r.Begin(one, ledger.Use{Secret: true})
		}
		if err == nil {
			err = l.Commit(r, []byte("answer"))
		}
		if err == nil {
			_, err = fmt.Println(r.Entry())
		}
		if closing := l.Close(); err == nil {
			err = closing
		}
		if errors.Is(err, ledger.ErrBudgetExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func TestKilledProcesses(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many processes")
	}
	kills := 20
	if *ledger.Long {
		kills = 80
	}
	rnd := rand.New(rand.NewPCG(1, 5))
	var midway, runs int
	for killed := 0; killed < kills; runs++ {
		path := filepath.Join(t.TempDir(), "ledger.jsonl")
		released := map[string]bool{}
		for finished := false; !finished; {
			cmd := process(t, "resumable", path)
			out := testkit.Must(cmd.StdoutPipe())
			require.NoError(t, cmd.Start())
			lines := bufio.NewReader(out)
			for n := rnd.IntN(resumableQueries + 5); n > 0; n-- {
				text, err := lines.ReadString('\n')
				if err != nil {
					break
				}
				released[text] = true
			}
			if killed < kills {
				time.Sleep(time.Duration(rnd.IntN(2000)) * time.Microsecond)
				require.NoError(t, cmd.Process.Kill()) // no error either if it has just ended by itself
			}
			for _, text := range strings.SplitAfter(string(testkit.Must(io.ReadAll(lines))), "\n") {
				if strings.HasSuffix(text, "\n") {
					released[text] = true
				}
			}
			if finished = cmd.Wait() == nil; !finished {
				killed++
			}

			f, err := os.Open(path)
			if errors.Is(err, os.ErrNotExist) {
				require.Empty(t, released)
				continue
			}
			require.NoError(t, err)
			if testkit.Must(f.Seek(0, io.SeekEnd)) == 0 {
				require.Empty(t, released)
				require.NoError(t, f.Close())
				continue
			}
			testkit.Must(f.Seek(0, io.SeekStart))
			s := testkit.Must(ledger.Verify(f, ledger.VerifyOptions{}))
			require.NoError(t, f.Close())
			require.GreaterOrEqual(t, s.Commits, int64(len(released)))
			require.LessOrEqual(t, s.Entries, s.Commits+1)
			for text := range released {
				query := 0
				testkit.Must(fmt.Sscanf(text, "%d,", &query))
				require.Equal(t, label(query), text, "what an uninterrupted run releases")
				require.True(t, s.Committed(int64(query)+1), "query %d was released", query)
			}
			if !finished && s.Commits > 0 && s.Commits < resumableQueries {
				midway++
			}
			if finished {
				require.Len(t, released, resumableQueries)
				require.EqualValues(t, resumableQueries, s.Commits)
				require.EqualValues(t, resumableQueries, s.Entries, "nothing was paid twice")
			}
		}
	}
	t.Logf("%d kills in %d runs, %d of them between the first commit and the last", kills, runs, midway)
	// A share of the lives that ended by a kill: how many there are depends on the machine.
	require.Greater(t, 100*midway, 10*kills, "the test has become too tame")
	require.Greater(t, runs, 3)
}

func TestSixteenProcessesShareABudget(t *testing.T) {
	t.Parallel()
	l := testkit.Must(ledger.New(shared))
	spare := testkit.Must(l.Fits(context.Background(), one))
	require.Greater(t, spare, int64(100))
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	l = testkit.Must(ledger.Open(context.Background(), path, shared, ledger.VerifyOptions{}))
	first := make([]accountant.Event, spare-110)
	for i := range first {
		first[i] = one
	}
	testkit.Must(l.ReserveBatch(first))
	for range 10 { // until a hundred fit
		testkit.Must(l.Reserve(one))
		if fits, err := l.Fits(context.Background(), one); fits == 100 {
			require.NoError(t, err)
			break
		}
	}
	require.NoError(t, l.Close())

	var wg sync.WaitGroup
	outputs := make([]bytes.Buffer, 16)
	errs := make([]error, 16)
	for i := range outputs {
		wg.Go(func() {
			cmd := process(t, "greedy", path)
			cmd.Stdout = &outputs[i]
			errs[i] = cmd.Run()
		})
	}
	wg.Wait()
	entries := map[string]bool{}
	busy := 0
	for i := range outputs {
		require.NoError(t, errs[i])
		answers := strings.Fields(outputs[i].String())
		for _, entry := range answers {
			require.False(t, entries[entry], "entry %s was given to two", entry)
			entries[entry] = true
		}
		if len(answers) > 0 {
			busy++
		}
	}
	require.Len(t, entries, 100)
	t.Logf("%d of 16 processes got something", busy)
	f := testkit.Must(os.Open(path))
	defer f.Close()
	s := testkit.Must(ledger.Verify(f, ledger.VerifyOptions{}))
	require.EqualValues(t, 100, s.Commits)
	require.LessOrEqual(t, s.Epsilon, 2.0)
}
