package train

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// shardVariables are the environment variables with the number of this job in an array, from 0: of an Indexed
// Job of Kubernetes, and of Slurm.
func shardVariables() []string { return []string{"JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID"} }

// parseShard reads I/N, with I from 1, or auto/N. It returns the part from 0, and 0 parts for
// an empty text.
func parseShard(text string, getenv func(string) string) (part, parts int, err error) {
	if text == "" {
		return 0, 0, nil
	}
	bad := func(why string) error { return shell.UsageError("train", fmt.Errorf("--shard %q: %s", text, why)) }
	index, of, ok := strings.Cut(text, "/")
	parts, err = strconv.Atoi(of)
	if !ok || err != nil || parts < 1 {
		return 0, 0, bad("must be I/N with I from 1 to N, or auto/N")
	}
	if index != "auto" {
		part, err = strconv.Atoi(index)
		if err != nil || part < 1 || part > parts {
			return 0, 0, bad("must be I/N with I from 1 to N, or auto/N")
		}
		return part - 1, parts, nil
	}
	var name string
	for _, v := range shardVariables() {
		if getenv(v) == "" {
			continue
		}
		if name != "" {
			return 0, 0, bad(fmt.Sprintf("both %s and %s are set: say which part with I/N", name, v))
		}
		name = v
	}
	if name == "" {
		return 0, 0, bad(fmt.Sprintf("none of %s is set: say which part with I/N", strings.Join(shardVariables(), ", ")))
	}
	part, err = strconv.Atoi(getenv(name))
	if err != nil || part < 0 || part >= parts {
		return 0, 0, shell.UsageError("train", fmt.Errorf("--shard %q: %s is %q, and must be from 0 to %d", text, name, getenv(name), parts-1))
	}
	return part, parts, nil
}
