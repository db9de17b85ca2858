package dataset_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/pate-go/pate/dataset"
)

// A table of visits, several to a patient, is split so that every patient is on one side.
func ExampleOpen() {
	var text strings.Builder
	text.WriteString("patient,age,ward,outcome\n")
	for i := range 300 {
		fmt.Fprintf(&text, "p%d,%d,%s,%s\n", i/2, 30+i%40, []string{"a", "b"}[i%2], []string{"home", "stays"}[i%2])
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "visits.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		log.Fatal(err)
	}
	data, err := dataset.Open(path, dataset.Options{CSV: dataset.CSVOptions{Label: "outcome", Unit: "patient"}})
	if err != nil {
		log.Fatal(err)
	}
	task, err := data.Task(dataset.Development)
	if err != nil {
		log.Fatal(err)
	}
	private := task.Private
	fmt.Println(private.Classes, "two visits to a patient:", private.Len() == 2*private.UnitCount())
	// Output: [home stays] two visits to a patient: true
}
