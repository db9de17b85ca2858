package manifest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers/votes"
)

func newSalt(t require.TestingT) Salt {
	return testkit.Must(NewSalt())
}

func hashed(t require.TestingT, salt Salt, name string, ids ...string) Silo {
	return testkit.Must(HashIDs(strings.NewReader(strings.Join(ids, "\n")), name, salt))
}

func save(t require.TestingT, dir, name string, head Head, silos ...Silo) string {
	var b bytes.Buffer
	require.NoError(t, Write(&b, head, silos...))
	return testkit.Write(t, filepath.Join(dir, name), b.Bytes())
}

// TestHashIsTheOneDocumented computes the hash by hand.
func TestHashIsTheOneDocumented(t *testing.T) {
	salt := newSalt(t)
	mac := hmac.New(sha256.New, salt.sealed.bytes[:])
	mac.Write([]byte("\x01patient 7"))
	want := mac.Sum(nil)
	got := hashed(t, salt, "a", " patient 7\r", "", "patient 7")
	require.Equal(t, []Hash{Hash(want[:16])}, got.Hashes)
	require.NotEqual(t, got.Hashes, hashed(t, newSalt(t), "a", "patient 7").Hashes, "another salt, another hash")
	require.NotEqual(t, salt.ID(), newSalt(t).ID())
}

func TestSaltKeepsItsSecret(t *testing.T) {
	salt := newSalt(t)
	text := testkit.Must(salt.MarshalText())
	var back Salt
	require.NoError(t, back.UnmarshalText(append(text, " \n"...)))
	require.Equal(t, salt.ID(), back.ID())
	secret := hex.EncodeToString(salt.sealed.bytes[:])
	shown := fmt.Sprintf("%v %+v %#v %x %s %v", salt, salt, salt, salt, salt, struct{ s Salt }{salt})
	require.NotContains(t, shown, secret[:8])
	require.Error(t, testkit.Err(json.Marshal(salt)))
	for _, bad := range []string{"", "pate-salt-1:", "pate-salt-1:abc", "pate-key-1:" + string(text[12:]), string(text) + "A"} {
		require.NotContains(t, back.UnmarshalText([]byte(bad)).Error(), string(text[12:30]))
	}
}

// TestCheckFindsWhatIsShared compares with a count by hand. It leaves so little room that Check takes
// several passes.
func TestCheckFindsWhatIsShared(t *testing.T) {
	dir := t.TempDir()
	salt := newSalt(t)
	head := Head{Unit: "patient", SaltID: salt.ID()}
	rapid.Check(t, func(t *rapid.T) {
		silos := rapid.IntRange(1, 5).Draw(t, "silos")
		owners := map[string][]string{}
		var paths []string
		var all []Silo
		for i := range silos {
			name := fmt.Sprint("silo", i)
			ids := rapid.SliceOfNDistinct(rapid.IntRange(0, 200), 1, 60, rapid.ID[int]).Draw(t, name)
			var words []string
			for _, id := range ids {
				words = append(words, fmt.Sprint(id))
				owners[words[len(words)-1]] = append(owners[words[len(words)-1]], name)
			}
			all = append(all, hashed(t, salt, name, words...))
		}
		split := rapid.IntRange(0, silos-1).Draw(t, "split")
		if split > 0 {
			paths = append(paths, save(t, dir, "a.json", head, all[:split]...))
		}
		paths = append(paths, save(t, dir, "b.json", head, all[split:]...))
		var shared, units int64
		pairs := map[[2]string]int64{}
		for _, names := range owners {
			units += int64(len(names))
			if len(names) > 1 {
				shared++
			}
			for i, a := range names {
				for _, b := range names[i+1:] {
					pairs[[2]string{a, b}]++
				}
			}
		}
		for _, room := range []int{100, passUnits} {
			r := testkit.Must(check(context.Background(), paths, room, openFile))
			require.Equal(t, shared, r.Shared)
			require.Equal(t, units, r.Units)
			require.Len(t, r.Silos, silos)
			require.Len(t, r.Overlaps, len(pairs))
			for _, o := range r.Overlaps {
				require.Equal(t, pairs[[2]string{o.A, o.B}], o.Units)
			}
			require.Equal(t, shared > 0, votes.Failed(r.Findings(nil, Salt{})))
		}
	})
}

func TestManifestsThatCannotBeComparedAreRefused(t *testing.T) {
	dir := t.TempDir()
	salt := newSalt(t)
	head := Head{Unit: "patient", SaltID: salt.ID(), Teachers: 2}
	a := save(t, dir, "a.json", head, hashed(t, salt, "a", "1"))
	for name, other := range map[string]string{
		"another salt":   save(t, dir, "salt.json", Head{Unit: "patient", SaltID: newSalt(t).ID()}, hashed(t, salt, "b", "2")),
		`has units "r`:   save(t, dir, "unit.json", Head{Unit: "record", SaltID: salt.ID()}, hashed(t, salt, "b", "2")),
		"has teachers 3": save(t, dir, "teachers.json", Head{Unit: "patient", SaltID: salt.ID(), Teachers: 3}, hashed(t, salt, "b", "2")),
		`the silo "a`:    save(t, dir, "name.json", head, hashed(t, salt, "a", "2")),
		"no such file":   filepath.Join(dir, "missing.json"),
	} {
		_, err := Check(context.Background(), []string{a, other})
		require.ErrorContains(t, err, name)
		testkit.ErrorAs[*fault.Error](t, err)
	}
	require.Error(t, testkit.Err(Check(context.Background(), nil)))
	require.ErrorIs(t, testkit.Err(Check(testkit.Ended(), []string{a})), context.Canceled)
}

func TestJoinBindsToVotes(t *testing.T) {
	dir := t.TempDir()
	salt := newSalt(t)
	head := Head{Unit: "patient", SaltID: salt.ID()}
	paths := []string{save(t, dir, "a.json", head, hashed(t, salt, "a", "1", "2")), save(t, dir, "b.json", head, hashed(t, salt, "b", "3"), hashed(t, salt, "c", "4"))}
	r := testkit.Must(Check(context.Background(), paths))
	checked := &votes.Report{Teachers: 3, Classes: 10, Hash: [32]byte{1}}
	require.False(t, votes.Failed(r.Findings(checked, salt)))
	join := func(salt Salt) *Report {
		var b bytes.Buffer
		require.NoError(t, Join(context.Background(), &b, paths, r, checked, salt))
		require.NotContains(t, b.String(), hex.EncodeToString(checked.Hash[:]), "the bare hash tells small votes")
		joined := testkit.Write(t, filepath.Join(t.TempDir(), "all.json"), b.Bytes())
		all := testkit.Must(Check(context.Background(), []string{joined}))
		require.Equal(t, r.Silos, all.Silos)
		return all
	}
	all := join(salt)
	mac := hmac.New(sha256.New, salt.sealed.bytes[:])
	mac.Write(append([]byte{2}, checked.Hash[:]...))
	require.Equal(t, Head{Unit: "patient", SaltID: salt.ID(), Teachers: 3, Classes: 10, Votes: hex.EncodeToString(mac.Sum(nil))}, all.Head)
	require.False(t, votes.Failed(all.Findings(checked, salt)))
	require.False(t, votes.Failed(all.Findings(checked, Salt{})), "not to be told is no failure")
	for _, f := range all.Findings(checked, salt) {
		require.NotContains(t, f.Detail, all.Head.Votes)
	}
	bare := join(Salt{})
	require.Empty(t, bare.Head.Votes)
	require.Equal(t, 3, bare.Head.Teachers)
	for name, other := range map[string]*votes.Report{
		"other votes":    {Teachers: 3, Classes: 10, Hash: [32]byte{2}},
		"other teachers": {Teachers: 4, Classes: 10, Hash: [32]byte{1}},
		"other classes":  {Teachers: 3, Classes: 9, Hash: [32]byte{1}},
	} {
		require.True(t, votes.Failed(all.Findings(other, salt)), name)
	}
	require.True(t, votes.Failed(all.Findings(checked, newSalt(t))), "another salt")
	require.ErrorIs(t, Join(context.Background(), &bytes.Buffer{}, paths, r, checked, newSalt(t)), errOtherSalt)
}

const sound = `{"schema":"pate.manifest/1","unit":"patient","salt_id":"0123456789abcdef","teachers":2,"classes":10,"votes":"0000000000000000000000000000000000000000000000000000000000000000","silos":[{"name":"a","units":["00000000000000000000000000000001","00000000000000000000000000000002"]},{"name":"b","units":[]}]}`

func readAll(text string) (Head, []SiloInfo, error) {
	return Read(strings.NewReader(text), func(SiloInfo, Hash) error { return nil })
}

func TestReadIsStrict(t *testing.T) {
	head, silos := testkit.Must2(readAll(sound))
	require.Equal(t, []SiloInfo{{"a", 2}, {"b", 0}}, silos)
	require.Equal(t, 10, head.Classes)
	spaced := strings.NewReplacer(",", " ,\n", ":", "\t: ", "patient", `p\u0061tient\u00e9"`, "[", "[ ").Replace(sound)
	require.NoError(t, testkit.Err2(readAll(strings.Replace(spaced, `\u00e9""`, `\u00e9"`, 1)+"\n")))
	for what, c := range map[string][2]string{
		"schema":            {"manifest/1", "manifest/2"},
		"unknown key":       {`"unit"`, `"units"`},
		"unknown silo key":  {`"name":"b"`, `"nome":"b"`},
		"key twice":         {`"teachers":2`, `"classes":2`},
		"silo twice":        {`"name":"b"`, `"name":"a"`},
		"no name":           {`"name":"b",`, ``},
		"name after units":  {`{"name":"b","units":[]}`, `{"units":["00000000000000000000000000000001"],"name":"b"}`},
		"no units":          {`,"units":[]`, ``},
		"no unit":           {`"unit":"patient",`, ``},
		"empty unit":        {`"patient"`, `""`},
		"control character": {`"patient"`, `"\u0007"`},
		"salt":              {`"0123456789abcdef"`, `"0123456789ABCDEF"`},
		"votes":             {`"votes":"00`, `"votes":"`},
		"order":             {`00000001"`, `00000003"`},
		"twice":             {`00000002"`, `00000001"`},
		"short":             {`00000001"`, `0000001"`},
		"long":              {`00000001"`, `0000000100"`},
		"trailing comma":    {`02"]`, `02",]`},
		"no comma":          {`01","`, `01""`},
		"no colon":          {`"unit":`, `"unit" `},
		"leading zero":      {`"teachers":2`, `"teachers":02`},
		"control in string": {`"patient"`, "\"pat\nient\""},
		"bad escape":        {`"patient"`, `"pat\xient"`},
		"bad bytes":         {`"patient"`, "\"pat\xffient\""},
		"capitals":          {`00000002"`, `0000000A"`},
		"no hexadecimal":    {`00000002"`, `0000000g"`},
		"a number":          {`"00000000000000000000000000000002"`, `2`},
		"teachers a string": {`"teachers":2`, `"teachers":"2"`},
		"teachers negative": {`"teachers":2`, `"teachers":-2`},
		"teachers fraction": {`"teachers":2`, `"teachers":2.5`},
		"teachers many":     {`"teachers":2`, `"teachers":99999999`},
		"null":              {`[]`, `null`},
		"nested":            {`[]`, `[[]]`},
		"an object":         {`"patient"`, `{"a":1}`},
		"after":             {`[]}]}`, `[]}]}{}`},
		"cut":               {`[]}]}`, `[]}`},
	} {
		text := strings.Replace(sound, c[0], c[1], 1)
		require.NotEqual(t, sound, text, what)
		require.Error(t, testkit.Err2(readAll(text)), what)
	}
	require.Error(t, testkit.Err2(readAll("")))
}

// endless is a text that never stops.
type endless struct{ head, body string }

func (e *endless) Read(p []byte) (int, error) {
	if e.head != "" {
		n := copy(p, e.head)
		e.head = e.head[n:]
		return n, nil
	}
	n := 0
	for n < len(p) {
		n += copy(p[n:], e.body)
	}
	return n, nil
}

// TestLongTextIsNotKept reads text that would fill the memory of a decoder.
func TestLongTextIsNotKept(t *testing.T) {
	for _, e := range []*endless{
		{`{"schema":"`, "a"}, {`{"schema":"`, " "}, {`{"schema":"`, `\"`}, {`{"teachers":`, "1"}, {``, "["}, {`{"silos":[`, `{"name":"a",`}, {`{"unit":[`, `"",`},
	} {
		require.Less(t, testkit.Allocated(func() {
			require.Error(t, testkit.Err2(Read(e, func(SiloInfo, Hash) error { return nil })))
		}), uint64(1<<20))
	}
}

func TestIDsThatCannotBeHashed(t *testing.T) {
	salt := newSalt(t)
	for _, c := range [][2]string{{"", "a"}, {" \n\n", "a"}, {"1\n", ""}, {"1\n", "a\nb"}, {"1\n" + strings.Repeat("x", maxID+1), "a"}} {
		require.Error(t, testkit.Err(HashIDs(strings.NewReader(c[0]), c[1], salt)))
	}
	require.Error(t, Write(&bytes.Buffer{}, Head{}, Silo{}))
}

// FuzzManifest checks that what is read stays the same when it is written and read again.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(sound))
	f.Add([]byte(strings.Replace(sound, `"teachers":2,"classes":10,`, ``, 1)))
	f.Add([]byte(`{"schema":"pate.manifest/1","unit":"\u00e9","salt_id":"0123456789abcdef","silos":[]}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		var silos []Silo
		collect := func(s SiloInfo, unit Hash) error {
			if len(silos) == 0 || silos[len(silos)-1].Name != s.Name {
				silos = append(silos, Silo{Name: s.Name})
			}
			last := &silos[len(silos)-1]
			last.Hashes = append(last.Hashes, unit)
			return nil
		}
		head, infos, err := Read(bytes.NewReader(file), collect)
		if err != nil {
			return
		}
		require.True(t, json.Valid(file))
		first, at := silos, 0
		var whole []Silo
		for _, s := range infos {
			if s.Units == 0 {
				whole = append(whole, Silo{Name: s.Name})
				continue
			}
			require.Equal(t, s.Name, first[at].Name)
			require.Len(t, first[at].Hashes, s.Units)
			whole = append(whole, first[at])
			at++
		}
		require.Len(t, first, at)
		var b bytes.Buffer
		require.NoError(t, Write(&b, head, whole...))
		silos = nil
		again, infosAgain := testkit.Must2(Read(&b, collect))
		require.Equal(t, head, again)
		require.Equal(t, infos, infosAgain)
		require.Equal(t, first, silos)
	})
}

// A manifest of a training comes back as it was written, names, quotes and all.
func TestManifestOfATraining(t *testing.T) {
	salt := newSalt(t)
	head := Head{Unit: "patient", SaltID: salt.ID(), Teachers: 50, Classes: 2, Votes: salt.Votes([32]byte{1}), ClassNames: []string{`a "quoted" one`, "ü"},
		Queries: 7, Relation: "add_remove", Training: &Training{Program: "v1", Learner: "forest", Features: "raw", Command: "pate train 'x y'",
			Public: strings.Repeat("0a", 32)}}
	path := save(t, t.TempDir(), "m.json", head)
	got, silos := testkit.Must2(Load(path))
	require.Equal(t, head, got)
	require.Empty(t, silos)
	require.NotEqual(t, salt.Votes([32]byte{1}), salt.Data([32]byte{1}))
	require.Contains(t, testkit.Must(Check(t.Context(), []string{path})).Findings(nil, Salt{})[0].Detail, "keyed hash")

	text := testkit.Must(os.ReadFile(path))
	for _, broken := range []string{
		strings.Replace(string(text), `"learner":"forest",`, "", 1),
		strings.Replace(string(text), `"learner"`, `"teacher"`, 1),
		strings.Replace(string(text), `"add_remove"`, `"any"`, 1),
		strings.Replace(string(text), `"ü"`, `""`, 1),
		strings.Replace(string(text), `"classes":2`, `"classes":3`, 1),
		strings.Replace(string(text), "0a0a", "0A0A", 1),
	} {
		require.NotEqual(t, string(text), broken)
		require.Error(t, testkit.Err2(readAll(broken)), broken)
	}
}
