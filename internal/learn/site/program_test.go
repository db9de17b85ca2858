//go:build course

package site

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/learn/page"
	"github.com/pate-go/pate/internal/testkit"
)

func situations() (requests []page.Request) {
	for _, c := range page.Chapters() {
		if c.Name == "comparing" { // seconds each: one of them
			requests = append(requests, page.Request{Ask: "draw", Chapter: c.Name, Situation: page.Situation{"runs": "20"}})
			continue
		}
		for _, s := range c.Scenes {
			requests = append(requests, page.Request{Ask: "draw", Chapter: c.Name, Situation: s.Situation})
		}
		for _, k := range c.Knobs {
			for _, choice := range k.Choices {
				requests = append(requests, page.Request{Ask: "draw", Chapter: c.Name, Situation: page.Situation{k.ID: choice.Value}})
			}
		}
	}
	return requests
}

func TestProgramAgrees(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("skipped: no node on this machine to run WebAssembly with")
	}
	requests := situations()
	var in bytes.Buffer
	for _, q := range requests {
		require.NoError(t, json.NewEncoder(&in).Encode(q))
	}
	cmd := exec.Command(node, "testdata/run.js")
	cmd.Stdin = &in
	replies := strings.Split(strings.TrimSpace(string(testkit.Must(cmd.Output()))), "\n")
	require.Len(t, replies, len(requests))
	for i, q := range requests {
		var compiled, native page.Reply
		require.NoError(t, json.Unmarshal([]byte(replies[i]), &compiled))
		require.NoError(t, json.Unmarshal(page.Call(testkit.Must(json.Marshal(q))), &native))
		require.Empty(t, native.Error, "%v", q)
		same(t, native.View.Numbers, compiled.View, q)
	}
}

// same compares numbers: equal to the last digits, which differ where processors have
// instructions of their own. Training multiplies in single precision, in another order in each,
// so what is learned agrees roughly; what is charged agrees all the same.
func same(t *testing.T, native []page.Number, compiled *page.View, q page.Request) {
	require.NotNil(t, compiled, "%v: the program does not know this: run go generate ./internal/learn/site", q)
	require.Len(t, compiled.Numbers, len(native), "%v: run go generate ./internal/learn/site", q)
	for i, n := range native {
		require.Equal(t, n.Name, compiled.Numbers[i].Name, "%v: run go generate ./internal/learn/site", q)
		within := 1e-9 * max(1, n.Value, -n.Value)
		if trained := q.Chapter == "dpsgd" || q.Chapter == "comparing"; trained && !strings.HasPrefix(n.Name, "charge") && !strings.HasPrefix(n.Name, "ε of") {
			within = 10 // rows, or percent
		}
		require.InDelta(t, n.Value, compiled.Numbers[i].Value, within, "%s of %v: run go generate ./internal/learn/site", n.Name, q)
	}
}
