package train

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShards(t *testing.T) {
	for _, c := range []struct {
		text        string
		env         map[string]string
		part, parts int
		wrong       string
	}{
		{text: ""},
		{text: "3/40", part: 2, parts: 40},
		{text: "3/40", env: map[string]string{"JOB_COMPLETION_INDEX": "7"}, part: 2, parts: 40},
		{text: "auto/40", env: map[string]string{"JOB_COMPLETION_INDEX": "0"}, parts: 40},
		{text: "auto/40", env: map[string]string{"SLURM_ARRAY_TASK_ID": "39"}, part: 39, parts: 40},
		{text: "auto/40", env: map[string]string{"SLURM_ARRAY_TASK_ID": "40"}, wrong: "from 0 to 39"},
		{text: "auto/40", env: map[string]string{"JOB_COMPLETION_INDEX": "x"}, wrong: "from 0 to 39"},
		{text: "auto/40", env: map[string]string{"JOB_COMPLETION_INDEX": "1", "SLURM_ARRAY_TASK_ID": "2"}, wrong: "both"},
		{text: "auto/40", wrong: "is set"},
		{text: "0/3", wrong: "I/N"},
		{text: "4/3", wrong: "I/N"},
		{text: "1", wrong: "I/N"},
		{text: "1/0", wrong: "I/N"},
		{text: "auto/x", wrong: "I/N"},
	} {
		part, parts, err := parseShard(c.text, func(name string) string { return c.env[name] })
		if c.wrong != "" {
			require.ErrorContains(t, err, c.wrong, c.text)
			continue
		}
		require.NoError(t, err, c.text)
		require.Equal(t, [2]int{c.part, c.parts}, [2]int{part, parts}, c.text)
	}
}
