package manifest_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/pate-go/pate/internal/teachers/manifest"
)

// Two hospitals find out that they share a patient, without showing each other their ids.
func Example() {
	dir, err := os.MkdirTemp("", "")
	check(err)
	defer os.RemoveAll(dir)
	salt, err := manifest.NewSalt() // hand it round among the silos
	check(err)
	var paths []string
	for name, ids := range map[string]string{"north": "ann\nbob\n", "south": "bob\neve\n"} {
		silo, err := manifest.HashIDs(strings.NewReader(ids), name, salt)
		check(err)
		path := filepath.Join(dir, name+".json")
		f, err := os.Create(path)
		check(err)
		check(manifest.Write(f, manifest.Head{Unit: "patient", SaltID: salt.ID()}, silo))
		f.Close()
		paths = append(paths, path)
	}
	report, err := manifest.Check(context.Background(), paths)
	fmt.Println(report.Units, "ids,", report.Shared, "shared", err)
	// Output: 4 ids, 1 shared <nil>
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
