package shell

import (
	"fmt"
	"strings"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
)

// LabelFlags writes a setting as the flags of pate label, for queries that begin at from.
func LabelFlags(s aggregate.Setting, from int) string {
	d, err := mechanisms.Find(s.Mechanism)
	if err != nil { // as for no mechanism that was planned
		return ""
	}
	parts := []string{"--mechanism " + s.Mechanism, FlagsOf(d, s, func(aggregate.Parameter) bool { return true }), fmt.Sprintf("--queries %d:%d", from, from+s.Queries)}
	return strings.Join(parts, " ")
}
