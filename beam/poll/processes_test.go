package poll

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/extworker"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

// roleVariable makes the binary of the tests a part of a pipeline: "engine PREFIX [POOL]" runs one, and
// "pool" serves workers of its own process.
const roleVariable = "POLL_TEST_ROLE"

// shardsOfProcesses is as many as there are blocks, so that writing takes a while.
const shardsOfProcesses = 15

var processes = Poll{Queries: 20_000, Teachers: 12, Classes: 10}

func TestMain(m *testing.M) {
	role := strings.Fields(os.Getenv(roleVariable))
	flag.Parse()
	beam.Init()
	var err error
	switch {
	case len(role) == 0:
		os.Exit(m.Run())
	case role[0] == "pool":
		var pool *extworker.Loopback
		if pool, err = extworker.StartLoopback(context.Background(), 0); err == nil {
			fmt.Println(pool.EnvironmentConfig(context.Background()))
			_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // until the test ends
		}
	default:
		if len(role) > 2 {
			*jobopts.EnvironmentType, *jobopts.EnvironmentConfig, *jobopts.WorkerBinary = "external", role[2], os.Args[0]
		}
		to := Sharded{role[1], shardsOfProcesses}
		fmt.Println("started")
		err = run(func(s beam.Scope) { WriteCounts(s, CountVotes(s, processes, SyntheticVotes(s, processes)), to) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// start starts a part of a pipeline, and returns it with the first line it prints.
func start(t *testing.T, role string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(testkit.Must(os.Executable()))
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	in, out := testkit.Must(cmd.StdinPipe()), testkit.Must(cmd.StdoutPipe())
	t.Cleanup(func() { in.Close() })
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	return cmd, strings.TrimSpace(testkit.Must(bufio.NewReader(out).ReadString('\n')))
}

func wantOfProcesses(t *testing.T) string {
	return counts(t, matrix(t, processes, allVotes(processes)), processes.Classes)
}

// requireWhole demands that each shard that is there is whole, and returns how many are.
func requireWhole(t *testing.T, want string, to Sharded) (there int) {
	from := 0
	for shard, name := range to.Files() {
		first, last := processes.shardBlocks(int64(shard), shardsOfProcesses)
		size := linesFrom(want[from:], int(min(processes.Queries, last*processes.blockQueries())-first*processes.blockQueries()))
		if text, err := os.ReadFile(name); err == nil {
			require.Equal(t, want[from:from+size], string(text))
			there++
		}
		from += size
	}
	return there
}

// A run that is killed while it writes shards leaves whole ones, and the next run writes all of them.
// POLL_KILLS is how often, by default twice; a kill that came too late is no kill.
func TestKilledWhileItWrites(t *testing.T) {
	want := wantOfProcesses(t)
	to := Sharded{filepath.Join(t.TempDir(), "counts"), shardsOfProcesses}
	kills := 2
	if n, err := strconv.Atoi(os.Getenv("POLL_KILLS")); err == nil {
		kills = n
	}
	for tried := 0; kills > 0; tried++ {
		require.Less(t, tried, 100)
		for _, name := range to.Files() {
			require.NoError(t, os.RemoveAll(name))
		}
		cmd, _ := start(t, "engine "+to.Prefix)
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		over := false
		for !over {
			if found, _ := filepath.Glob(to.Prefix + "-*"); len(found) > tried%3 {
				break
			}
			select {
			case err := <-ended:
				require.NoError(t, err)
				over = true
			case <-time.After(100 * time.Microsecond):
			}
		}
		if !over {
			_ = cmd.Process.Kill() // fails if it has just ended
			<-ended
		}
		if there := requireWhole(t, want, to); there > 0 && there < shardsOfProcesses {
			kills--
		}
	}
	cmd, _ := start(t, "engine "+to.Prefix)
	require.NoError(t, cmd.Wait())
	require.Equal(t, want, written(t, to))
}

// linesFrom returns the length of the first n lines of a text.
func linesFrom(text string, n int) (size int) {
	for range n {
		size += strings.IndexByte(text[size:], '\n') + 1
	}
	return size
}

// Workers may be another process than the engine; both are the same program.
func TestWorkersOfAnotherProcess(t *testing.T) {
	_, pool := start(t, "pool")
	to := Sharded{filepath.Join(t.TempDir(), "counts"), shardsOfProcesses}
	cmd, _ := start(t, "engine "+to.Prefix+" "+pool)
	require.NoError(t, cmd.Wait())
	require.Equal(t, wantOfProcesses(t), written(t, to))
}
