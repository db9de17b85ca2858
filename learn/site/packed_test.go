package site

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/learn/page"
	"github.com/pate-go/pate/learn/site/internal/sources"
)

// situations are those that the tests of whole pages look at: all scenes, and every choice.
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

// TestPackedProgramAgrees compares the numbers of the packed WebAssembly with the native ones.
func TestPackedProgramAgrees(t *testing.T) {
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
	out, err := cmd.Output()
	require.NoError(t, err)
	replies := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, replies, len(requests))
	for i, q := range requests {
		var packed, native page.Reply
		require.NoError(t, json.Unmarshal([]byte(replies[i]), &packed))
		request, err := json.Marshal(q)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(page.Call(request), &native))
		require.Empty(t, native.Error, "%v", q)
		same(t, native.View.Numbers, packed.View, q)
	}
}

// same compares numbers: equal to the last digits, which differ where processors have
// instructions of their own. Training multiplies in single precision, in another order in each,
// so what is learned agrees roughly; what is charged agrees all the same.
func same(t *testing.T, native []page.Number, packed *page.View, q page.Request) {
	require.NotNil(t, packed, "%v: what is packed does not know this: run go generate ./learn/site", q)
	require.Len(t, packed.Numbers, len(native), "%v: run go generate ./learn/site", q)
	for i, n := range native {
		require.Equal(t, n.Name, packed.Numbers[i].Name, "%v: run go generate ./learn/site", q)
		within := 1e-9 * max(1, n.Value, -n.Value)
		if trained := q.Chapter == "dpsgd" || q.Chapter == "comparing"; trained && !strings.HasPrefix(n.Name, "charge") && !strings.HasPrefix(n.Name, "ε of") {
			within = 10 // rows, or percent
		}
		require.InDelta(t, n.Value, packed.Numbers[i].Value, within, "%s of %v: run go generate ./learn/site", n.Name, q)
	}
}

// TestPackedProgramIsOfTheseSources: a picture or a text changes without any number, so the
// packed program must be of the very files of package learn and its page.
func TestPackedProgramIsOfTheseSources(t *testing.T) {
	packed, err := os.ReadFile("sources.sum")
	require.NoError(t, err)
	today, err := sources.Sums(os.DirFS(".."))
	require.NoError(t, err)
	require.Equal(t, today, strings.ReplaceAll(string(packed), "\r\n", "\n"), "files have changed since the program was packed: run go generate ./learn/site")
}

// TestFileIsSmallAndAlone: one file, below the limit, that asks for nothing.
func TestFileIsSmallAndAlone(t *testing.T) {
	out, err := File()
	require.NoError(t, err)
	require.Less(t, len(out), 1_500_000)
	require.Contains(t, string(out), string(binaryText(packed)), "the program is inside")
	text := bytes.Replace(out, binaryText(packed), nil, 1)
	begin, end := bytes.Index(text, []byte(`id="rest">`)), bytes.LastIndex(text, []byte("</script>\n<script>"))
	text = append(text[:begin:begin], text[end:]...)
	for _, b := range text {
		require.True(t, b < 0x80 && (b >= ' ' || b == '\n' || b == '\t'), "byte %#x beside the program", b)
	}
	for _, outside := range []string{"http:", "https:", "//cdn", "@import", "src="} {
		require.NotContains(t, string(text), outside)
	}
}

// TestBinaryTextComesBack: what HTML and windows-1252 do to the text leaves the bytes.
func TestBinaryTextComesBack(t *testing.T) {
	all := make([]byte, 512)
	for i := range all {
		all[i] = byte(i)
	}
	var back []byte
	text := binaryText(all)
	for i := 0; i < len(text); i++ {
		require.NotContains(t, []byte{0, '\r', '<'}, text[i])
		if text[i] == '=' {
			i++
			back = append(back, text[i]-64)
			continue
		}
		back = append(back, text[i])
	}
	require.Equal(t, all, back)
}
