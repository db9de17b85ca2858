package main

import (
	"flag"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

var cases = flag.Int("cases", 1, "odd units that every command of TestNothingReleasedDependsOnOneUnit sees; 50 for all of them, which commands that are named see anyway")

// A neighbour has one unit more, one fewer or another one. Every command that releases is run
// on a private input, on the same once more, and on neighbours of it, each with one odd unit
// alone, since effects of two may cancel. What leaves is the same, byte for byte, but for masks;
// see [masks]. A mask that hides nothing is an error too, and so is a hash that is the same in
// two runs on one input and another one on its neighbour: nobody needs a key to compute it.
func TestNothingReleasedDependsOnOneUnit(t *testing.T) {
	all, number := commands(), *cases
	if strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		number = math.MaxInt // of commands that are named
	}
	needed, ran, slow := map[string]bool{}, 0, 0
	compare := func(t *testing.T, c leaving, n neighbour, want, again left) {
		got := c.leave(t, n)
		if n.refused && c.code != shell.ExitUsage {
			c.refused(t, want, got, n.name)
			return
		}
		hidden := c.between(want, got)
		require.Empty(t, differences(want, got, hidden), n.name)
		require.Empty(t, c.plainHashes(want, again, got), n.name)
		for i, m := range hidden {
			if !needed[m.name] && len(differences(want, got, without(hidden, i))) > 0 {
				needed[m.name] = true
			}
		}
	}
	for i, c := range all {
		if c.slow && number == 1 {
			slow++
		}
		t.Run(c.name, func(t *testing.T) {
			if number == 1 && (c.slow || !*long && i%5 != 1) {
				t.Skip("-long runs all commands")
			}
			ran++
			want := c.leave(t, c.inputs[0])
			c.expected(t, want)
			again := want
			if i%4 == 0 || number > 1 {
				again = c.leave(t, c.inputs[0])
				require.Empty(t, differences(want, again, c.between(want, again)), "on the same input")
			}
			odd := c.odd()
			for k := range min(number, len(odd)) {
				compare(t, c, odd[(i*11+k)%len(odd)], want, again) // every kind is some command's first
			}
		})
	}
	if ran < len(all)-slow {
		return // not all commands ran
	}
	for _, m := range masks() {
		if m.seldom {
			continue
		}
		for _, c := range all { // what is charged is equal on two inputs now and then
			if of := regexp.MustCompile(m.of); needed[m.name] || c.slow || !of.MatchString(c.name) {
				continue
			}
			t.Log("more of", c.name, "for the mask", m.name)
			want := c.leave(t, c.inputs[0])
			for _, n := range c.odd()[:8] {
				if !needed[m.name] {
					compare(t, c, n, want, want)
				}
			}
		}
		require.True(t, needed[m.name], "the mask %q hides nothing that moves: remove it", m.name)
	}
}
