package tuned

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd/optim"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/testkit"
)

func TestSettingsAreReadAlike(t *testing.T) {
	fromJSON := testkit.Must(ParseSettings([]byte(` [{"learning_rate": 0.5, "model": "mlp:8,4"}, {}, {"momentum": 0}]`)))
	fromCSV := testkit.Must(ParseSettings([]byte("learning_rate,model,momentum\n0.5,\"mlp:8,4\",\n,,\n,,0\n")))
	require.Equal(t, fromJSON, fromCSV)
	require.Equal(t, "model mlp:8,4, learning_rate 0.5", fromJSON[0].String())
	require.Equal(t, "the base recipe", fromJSON[1].String())
	grid := testkit.Must(Grid(map[string][]string{"clip": {"0.5", "1"}, "optimizer": {"sgd", "adam"}}))
	require.Equal(t, "[optimizer sgd, clip 0.5 optimizer sgd, clip 1 optimizer adam, clip 0.5 optimizer adam, clip 1]", fmt.Sprint(grid))
}

func TestBadSettings(t *testing.T) {
	for _, text := range []string{
		"", "[]", "[{}] x", "[{}, {}]", `[{"steps": 3}]`, `[{"clip": "x"}]`, "clip\nx\n", "clip\nNaN\n", "clip\n1\n1.0\n", "clip,rate\n1,2\n", "clip\n1,2\n",
		"clip\n\"", "clip\n", "clip\n" + strings.Repeat("1\n", MaxSettings+1), strings.Repeat(" ", 1<<22) + "[]",
	} {
		require.ErrorIs(t, testkit.Err(ParseSettings([]byte(text))), ErrSettings, "%.40q", text)
	}
	many := make([]string, 101)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for _, values := range []map[string][]string{{"steps": {"1"}}, {"clip": {"a"}}, {"clip": {"1", "1.0"}}, {"clip": {}}, {"clip": many, "momentum": many}} {
		require.ErrorIs(t, testkit.Err(Grid(values)), ErrSettings)
	}
}

// A setting changes what it names, and nothing else.
func TestSettingsApply(t *testing.T) {
	base := recipe.Default(recipe.Shape{Kind: dataset.Columns, Records: 1000, Columns: 5, Classes: 2}, "", "", 2)
	require.Equal(t, base, Setting{}.apply(base))
	all, err := ParseSettings([]byte("learning_rate,clip,momentum,weight_decay,ema,model,features,optimizer\n2,3,0.4,0.01,0.9,mlp:8,raw,nesterov\n,,,,,,,adam\n,,,,,,,sgd\n"))
	require.NoError(t, err)
	r := all[0].apply(base)
	want := base
	want.Model, want.Features, want.Train.LearningRate, want.Train.ClipNorm, want.Train.AverageDecay = "mlp:8", "raw", 2, 3, 0.9
	want.Train.Optimizer = optim.Config{Method: "nesterov", Momentum: 0.4, WeightDecay: 0.01}
	require.Equal(t, want, r)
	require.Equal(t, optim.Config{Method: optim.Adam}, all[1].apply(base).Train.Optimizer)
	require.Equal(t, base.Train.Optimizer.Momentum, all[2].apply(base).Train.Optimizer.Momentum)
	require.Len(t, Around(base), 20)
	require.NoError(t, testkit.Err(checked(Around(base))))
}

func FuzzParseSettings(f *testing.F) {
	f.Add([]byte(`[{"clip": 1}]`))
	f.Add([]byte("clip,model\n1,linear\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := ParseSettings(data)
		if err != nil {
			require.ErrorIs(t, err, ErrSettings)
			return
		}
		require.NotEmpty(t, all)
	})
}
