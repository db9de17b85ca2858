package outside_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/outside"
	"github.com/pate-go/pate/internal/testkit"
)

func TestCommandsRunAloneAndLeaveNothing(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh")
	}
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("SECRET", "token")
	in := outside.Input{Data: []byte("0,1\n"), Questions: []byte("a,b\n")}
	for line, want := range map[string]outside.Answer{
		`cat {in}`:        {Text: []byte("0,1\n")},
		`cat`:             {Text: []byte("0,1\n")},
		`cat {questions}`: {Text: []byte("a,b\n")},
		`cp {in} {out}`:   {Text: []byte("0,1\n")},
		`sh -c "echo $SECRET; echo {in} | wc -l"`: {Text: []byte("\n1\n")},
		`sh -c "exit 3"`:                 {Failure: "exit 3"},
		`sh -c "kill -9 $$"`:             {Failure: "exit -1"},
		`sh -c "echo wrong >&2; exit 1"`: {Failure: "exit 1", Stderr: "wrong\n"},
		`true {out}`:                     {Failure: "no file {out}"},
		`ln -s {in} {out}`:               {Failure: "no file {out}"},
		`sleep 60`:                       {Failure: "timeout"},
		`sh -c "sleep 60 & echo 1"`:      {Text: []byte("1\n")},
		`echo $HOME "a  b"`:              {Text: []byte("$HOME a  b\n")},
	} {
		timeout := time.Minute
		if strings.HasPrefix(line, "sleep") {
			timeout = 50 * time.Millisecond
		}
		label := testkit.Must(outside.Command(line, timeout))
		a, err := label(context.Background(), in)
		require.NoError(t, err, line)
		assert.Equal(t, want.Failure, a.Failure, line)
		assert.Equal(t, string(want.Text), string(a.Text), line)
		assert.Equal(t, want.Stderr, a.Stderr, line)
	}
	assert.Empty(t, testkit.Must(filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "pate-audit-*"))))
	for _, line := range []string{"", "  ", `"open`, "no-such-program {in}", "cat\ncat"} {
		_, err := outside.Command(line, time.Minute)
		if line != "cat\ncat" { // the first line counts
			assert.Error(t, err, line)
		}
	}
	if runtime.GOOS != "windows" { // children end with the program
		left := filepath.Join(t.TempDir(), "left")
		label := testkit.Must(outside.Command(`sh -c "(sleep 1; touch `+left+`) & wait"`, 50*time.Millisecond))
		require.Equal(t, "timeout", testkit.Must(label(context.Background(), in)).Failure)
		time.Sleep(1500 * time.Millisecond)
		assert.NoFileExists(t, left)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := testkit.Must(outside.Command("cat", time.Minute))(ctx, in)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestAddressesReceiveTheInput(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/echo":
			_, _ = w.Write([]byte(r.Method + " "))
			_ = r.Write(w)
		case "/slow":
			_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice that the client leaves
			<-r.Context().Done()
		case "/there":
			http.Redirect(w, r, "/echo", http.StatusTemporaryRedirect)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	for path, failure := range map[string]string{"/echo": "", "/slow": "timeout", "/there": "307 Temporary Redirect", "/no": "404 Not Found"} {
		a, err := testkit.Must(outside.URL(server.URL+path, 200*time.Millisecond))(context.Background(), outside.Input{Data: []byte("0,1\n")})
		require.NoError(t, err)
		require.Equal(t, failure, a.Failure, path)
		if failure == "" {
			require.True(t, strings.HasPrefix(string(a.Text), "POST ") && strings.HasSuffix(string(a.Text), "0,1\n"), string(a.Text))
		}
	}
	server.Close()
	a, err := testkit.Must(outside.URL(server.URL, time.Second))(context.Background(), outside.Input{})
	require.NoError(t, err)
	require.Equal(t, "no response", a.Failure)
	for _, address := range []string{"", "localhost:80", "ftp://localhost/", "http://example.org/", "http://192.168.1.1/", "http://localhost.example.org/"} {
		_, err := outside.URL(address, time.Second)
		require.Error(t, err, address)
	}
}

// features are those of an answer besides the hash of its text.
func features(text string, groups ...int) []string {
	return (outside.Answer{Text: []byte(text)}).Outcome(groups).Labels[1:]
}

func TestAnswersOfEveryForm(t *testing.T) {
	for text, want := range map[string][]string{
		"query,label\n0,cat\n1,\n":              {"query 4: label cat", "query 4: label ", "2 rows"},
		"query,label\n1,cat\n":                  {"query 4: label cat", "2 rows"},
		"cat\ndog\n":                            {"query 4:  cat", "query 4:  dog", "2 rows"},
		"class\ncat\ndog\n":                     {"query 4: class cat", "query 4: class dog", "2 rows"},
		"0.123,7\n":                             {"query 4:  1.2e-01", "query 4:  7", "1 rows"},
		"[0, 1]":                                {"query 4:  0", "query 4:  1", "2 rows"},
		`{"labels":[null,[2,0.123]]}`:           {"query 4: .labels <nil>", "query 4: .labels[0] 2", "query 4: .labels[1] 1.2e-01", "2 rows"},
		`[{"label":"a"},{"label":"b"},{"x":1}]`: {"query 4: .label a", "query 4: .label b", "query -1: .x 1", "3 rows"},
		`{"error":"x"}`:                         {"query -1: .error x", "0 rows"},
		"":                                      {"0 rows"},
		"\x00\"":                                {"query 4:  \x00\"", "1 rows"},
		"[1":                                    {"query 4:  [1", "1 rows"},
	} {
		require.Equal(t, want, features(text, 4, 4), text)
	}
	require.Equal(t, []string{"query 5: label cat", "query 4: label dog", "2 rows"}, features("label,query\ncat,1\ndog,0\n", 4, 5))
	require.Equal(t, []string{"exit 2"}, []string{(outside.Answer{Failure: "exit 2", Text: []byte("1")}).Outcome([]int{0}).Labels[1]})
}

func FuzzAnswer(f *testing.F) {
	for _, text := range []string{"query,label\n0,1\n", "[0,{\"a\":[1,2]}]", "a;b\n\"", "{", ",,\n\n,"} {
		f.Add(text, 2)
	}
	f.Fuzz(func(t *testing.T, text string, queries int) {
		groups := make([]int, min(max(queries, 0), 100))
		one, two := features(text, groups...), features(text, groups...)
		slices.Sort(one)
		slices.Sort(two)
		require.Equal(t, one, two)
		require.LessOrEqual(t, len(one), 20_002)
	})
}

// TestInputsAreNeighbours: one vote of each query differs, always of the same teacher, or one unit.
func TestInputsAreNeighbours(t *testing.T) {
	v := outside.Votes{Teachers: 9, Classes: 3, Queries: 4}
	given := []byte("t1,t2,t3\ncat,cat,dog\ndog,,cow\n-1,cow,cow\n")
	for name, pairs := range map[string][]outside.Pair{"full": v.Pairs(nil), "some": v.Pairs(rand.New(rand.NewPCG(1, 1))),
		"given": testkit.Must(outside.Given(given))} {
		require.Greater(t, len(pairs), 2, name)
		for _, p := range pairs {
			teacher := -1
			one, two := strings.Split(string(p.First.Data), "\n"), strings.Split(string(p.Second.Data), "\n")
			require.Len(t, two, len(one))
			for q := range one {
				a, b := strings.Split(one[q], ","), strings.Split(two[q], ",")
				for j := range a {
					if a[j] != b[j] {
						require.True(t, teacher < 0 || teacher == j, "%s: %s", name, p.Name)
						teacher = j
					}
				}
			}
			require.GreaterOrEqual(t, teacher, 0, "%s: %s", name, p.Name)
			require.Len(t, p.Groups, len(one)-1-map[string]int{"given": 1}[name])
		}
	}
	require.Equal(t, "t1,t2,t3\ndog,cat,dog\ncow,,cow\ncow,cow,cow\n", string(testkit.Must(outside.Given(given))[0].Second.Data))
	v.Counts = true
	require.Equal(t, "5,4,0\n", string(v.Pairs(nil)[0].First.Data[:6]))
	require.Equal(t, "4,5,0\n", string(v.Pairs(nil)[0].Second.Data[:6]))
	pairs := testkit.Must(outside.Tables([]byte("x,kind\n1,a\n2,b\n"), "kind", 2))
	require.Equal(t, "x,kind\n1,a\n2,b\n1,b\n1,b\n", string(pairs[1].First.Data))
	require.Equal(t, "x,kind\n1,a\n2,b\n1e6,b\n1e6,b\n", string(pairs[0].First.Data))
	require.Equal(t, "x\n1e6\n", string(pairs[0].First.Questions))
	require.Equal(t, "x,kind\n1,a\n2,b\n", string(pairs[0].Second.Data))
	for _, wrong := range []string{"", "x\n", "x,y\n1\n"} {
		_, err := outside.Tables([]byte(wrong), "", 1)
		require.Error(t, err, wrong)
		_, err = outside.Given([]byte(wrong))
		require.Error(t, err, wrong)
	}
	_, err := outside.Tables([]byte("x\n1\n"), "kind", 1)
	require.ErrorContains(t, err, "no column kind")
}
